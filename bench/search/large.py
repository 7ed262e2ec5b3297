#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a whole space of a config out of a recorded search of it, to simulate long searches on.

    bench/search/large.py make CONFIG RECORDING OUT.json.gz [-p NAME=VALUE]... [-s NAME=V,...]... [--deviation SHARE]
    build/bench/search/bench_simulate OUT.json.gz --strategy auto --cores 16 --look-ahead 128 --evaluations 16000 --runs 5 --traces TRACES.jsonl.gz
    bench/search/large.py tell OUT.json.gz TRACES.jsonl.gz --seconds 30 1200

Every valid point gets the run time and the compile time that extremely randomised trees, fitted to the logarithms of what was
measured, predict for it (features: parameters, words as numbers of their own, and the logarithms of products of each two). What
the trees do not explain is put back: each point's time is multiplied by exp(d), d drawn once for it from a normal distribution
whose width is --deviation times that of the errors in cross-validation, cut at twice the width.

Spaces of more points than a file may have are searched without one, on a model that is an expression:

    bench/search/large.py express CONFIG RECORDING EXPRESSION.txt
    build/bench/search/bench_large_search CONFIG EXPRESSION.txt DEVIATION LOOK_AHEAD RUNS COUNT...

Takes numpy and scikit-learn."""

import argparse
import gzip
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
FOLDS = 5


def find_hone():
    for place in (os.environ.get("HONE"), HERE.parent.parent / "build" / "tuner" / "hone", shutil.which("hone")):
        if place and os.access(place, os.X_OK):
            return str(place)
    sys.exit("hone was not found: set HONE to it, or build it")


def list_points(arguments):
    """Names of the parameters, the words of each, and an array of indices into them, a row for each valid point."""
    command = [find_hone(), "space", arguments.config, "--list=all", "--quiet"]
    for option, values in (("-p", arguments.problem), ("-s", arguments.set)):
        command += itertools.chain.from_iterable((option, value) for value in values)
    names, words, rows = None, None, []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as listing:
        for line in listing.stdout:
            pairs = line.rstrip("\n").split(",")
            if names is None:
                names = [pair.partition("=")[0] for pair in pairs]
                words = [{} for _ in names]
            rows.append(bytes(seen.setdefault(pair, len(seen)) for seen, pair in zip(words, pairs)))
    points = numpy.frombuffer(b"".join(rows), numpy.uint8).reshape(len(rows), -1)
    return names, [[pair.partition("=")[2] for pair in seen] for seen in words], points


def as_number(word):
    try:
        return float(word)
    except ValueError:
        return None


class Features:
    """Columns for the trees: each parameter, and of numbers the sums and differences of logarithms of each two."""

    def __init__(self, names, words):
        self.tables = {}
        for name, values in zip(names, words):
            if len(values) > 1:
                numbers = [as_number(value) for value in values]
                known = None not in numbers
                self.tables[name] = (values, numpy.array([numpy.log2(number + 1) for number in numbers] if known
                                                         else range(len(values)), numpy.float32), known)
        self.pairs = [pair for pair in itertools.combinations([n for n, table in self.tables.items() if table[2]], 2)
                      if min(len(self.tables[n][0]) for n in pair) > 3]

    def apply(self, columns):
        """columns: for each name, indices into its words."""
        values = {name: table[1][columns[name]] for name, table in self.tables.items()}
        return numpy.column_stack([*values.values(), *(values[a] + values[b] for a, b in self.pairs)])


def read_recording(path, features):
    with gzip.open(path, "rt") as file:
        records = json.load(file)["cache"].values()
    kept = [record for record in records if isinstance(record.get("time"), (int, float)) and record["compile_time"] > 0
            and all(str(record[name]) in table[0] for name, table in features.tables.items())]
    columns = {name: numpy.array([table[0].index(str(record[name])) for record in kept]) for name, table in features.tables.items()}
    evaluate = numpy.median([record["benchmark_time"] + record["verification_time"] for record in kept])
    return features.apply(columns), numpy.log([[record["time"], record["compile_time"]] for record in kept]), float(evaluate)


def fit(inputs, targets):
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.model_selection import cross_val_predict
    trees = ExtraTreesRegressor(120, min_samples_leaf=2, max_features=0.4, random_state=1)
    error = cross_val_predict(trees, inputs, targets, cv=FOLDS) - targets
    good = targets[:, 0] <= numpy.quantile(targets[:, 0], 0.25)
    print(f"{len(targets)} recorded points; deviation in cross-validation, of the better quarter and of all: run time "
          f"{error[good, 0].std():.3f}, {error[:, 0].std():.3f}; compile time {error[good, 1].std():.3f}, {error[:, 1].std():.3f}")
    return trees.fit(inputs, targets), error[good, 0].std()


def as_terms(features, columns):
    """Of numbers log2(value + 1), of words whether it is that one; and the products of each two numbers. (texts, array)"""
    texts, parts = [], []
    for name, (values, logarithms, known) in features.tables.items():
        if known:
            texts.append(f"log2({name} + 1)")
            parts.append(logarithms[columns[name]])
        else:
            for place, value in list(enumerate(values))[1:]:
                texts.append(f"(1 if {name} == {value} else 0)")
                parts.append((columns[name] == place).astype(numpy.float32))
    numbers = [place for place, text in enumerate(texts) if text.startswith("log2")]
    for a, b in itertools.combinations_with_replacement(numbers, 2):
        texts.append(f"{texts[a]} * {texts[b]}")
        parts.append(parts[a] * parts[b])
    return texts, numpy.column_stack(parts)


def express(arguments):
    """A polynomial of the second degree for the logarithm of the time, by ridge regression; its penalty by cross-validation."""
    from sklearn.linear_model import Ridge, RidgeCV
    from sklearn.model_selection import GroupKFold, cross_val_predict
    space = json.loads(subprocess.run([find_hone(), "space", arguments.config, "--json"], capture_output=True, text=True, check=True).stdout)
    words = {parameter["name"]: [str(value) for value in parameter["values"]] for parameter in space["parameters"]}
    features = Features(list(words), list(words.values()))
    with gzip.open(arguments.recording, "rt") as file:
        records = json.load(file)["cache"].values()
    kept = [record for record in records if isinstance(record.get("time"), (int, float)) and record["time"] < 1e19
            and all(str(record[name]) in table[0] for name, table in features.tables.items() if name in record)]
    known = {name: table for name, table in features.tables.items() if name in kept[0]}
    features.tables = known
    columns = {name: numpy.array([table[0].index(str(record[name])) for record in kept]) for name, table in known.items()}
    texts, inputs = as_terms(features, columns)
    targets = numpy.log([record["time"] for record in kept])
    targets = numpy.minimum(targets, 2 * numpy.quantile(targets, 0.5) - targets.min())
    middle, scale = inputs.mean(axis=0), inputs.std(axis=0) + 1e-9
    model = RidgeCV(alphas=numpy.logspace(-1, 4, 21))
    error = cross_val_predict(model, (inputs - middle) / scale, targets, cv=FOLDS) - targets
    good = targets <= numpy.quantile(targets, 0.25)
    model.fit((inputs - middle) / scale, targets)
    weights = model.coef_ / scale
    constant = model.intercept_ - float(weights @ middle)
    print(f"{len(targets)} recorded points, {len(texts)} terms, penalty {model.alpha_:.3g}; deviation in cross-validation, of the better "
          f"quarter and of all: {error[good].std():.3f}, {error.std():.3f}")
    unseen = {name: cross_val_predict(Ridge(model.alpha_), (inputs - middle) / scale, targets, cv=GroupKFold(min(FOLDS, len(set(column)))),
                                      groups=column).min() - targets.min() for name, column in columns.items() if len(set(column)) > 1}
    print("least time predicted for values of a parameter that were left out, over the best measured: "
          + ", ".join(f"{name} {numpy.exp(least):.2f}" for name, least in sorted(unseen.items(), key=lambda one: one[1])[:5]))
    terms = " + ".join(f"{weight:.6g} * {text}" for weight, text in zip(weights, texts) if abs(weight) > 1e-9)
    pathlib.Path(arguments.out).write_text(f"2.718281828459045 ** ({constant:.6g} + {terms})\n")


def make(arguments):
    names, words, points = list_points(arguments)
    features = Features(names, words)
    inputs, targets, evaluate_ms = read_recording(arguments.recording, features)
    trees, deviation = fit(inputs, targets)
    number = {name: place for place, name in enumerate(names)}
    predicted = numpy.concatenate([trees.predict(features.apply({name: part[:, number[name]] for name in features.tables}))
                                   for part in numpy.array_split(points, max(1, len(points) // 50000))])
    drawn = numpy.random.default_rng(1).standard_normal(len(points)).clip(-2, 2) * deviation * arguments.deviation
    times, compiles = numpy.exp(predicted[:, 0] + drawn), numpy.exp(predicted[:, 1])
    print(f"{len(points)} points; best {times.min():.4f} ms, median {numpy.median(times):.4f}; best recorded "
          f"{numpy.exp(targets[:, 0].min()):.4f}")
    varied = list(features.tables)
    texts = [[json.dumps(value if as_number(value) is None else int(value)) for value in features.tables[name][0]] for name in varied]
    columns = [number[name] for name in varied]
    with gzip.open(arguments.out, "wt", compresslevel=1) as out:
        out.write(json.dumps({"device_name": "model", "kernel_name": "model", "tune_params_keys": varied,
                              "tune_params": {name: [json.loads(text) for text in some] for name, some in zip(varied, texts)}})[:-1])
        out.write(',\n"cache": {\n')
        for row in range(len(points)):
            pairs = ",".join(f'"{name}":{text[points[row, column]]}' for name, text, column in zip(varied, texts, columns))
            out.write(f'{"," if row else ""}"{row}":{{{pairs},"time":{times[row]:.6g},"compile_time":{compiles[row]:.4g},'
                      f'"benchmark_time":{evaluate_ms:.4g}}}\n')
        out.write("}}\n")


def tell(arguments):
    import re
    with gzip.open(arguments.space, "rt") as file:
        times = numpy.array([float(found[1]) for found in (re.search(r'"time":([^,]+)', line) for line in file) if found])
    print(f"best point of all {len(times)}: {times.min():.4f} ms")
    with gzip.open(arguments.traces, "rt") as file:
        for run in map(json.loads, file):
            found, ends = times[run["evals"]], numpy.array(run["ends_ms"]) / 1000
            best = [(int((ends <= end).sum()), found[ends <= end].min()) for end in arguments.seconds]
            print(f"{run['strategy']}, run {run['run']}, ends after {ends.max():.0f} s: " + "; ".join(
                f"{end:g} s: {count} points, {time:.4f} ms" for end, (count, time) in zip(arguments.seconds, best))
                + f"; first over last {best[0][1] / best[-1][1]:.4f}; {run['overhead_ms']:.2f} ms a proposal")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    maker = commands.add_parser("make")
    for name in ("config", "recording", "out"):
        maker.add_argument(name)
    maker.add_argument("-p", "--problem", action="append", default=[])
    maker.add_argument("-s", "--set", action="append", default=[])
    maker.add_argument("--deviation", type=float, default=1)
    maker.set_defaults(run=make)
    writer = commands.add_parser("express")
    for name in ("config", "recording", "out"):
        writer.add_argument(name)
    writer.set_defaults(run=express)
    teller = commands.add_parser("tell")
    teller.add_argument("space")
    teller.add_argument("traces")
    teller.add_argument("--seconds", type=float, nargs="+", default=[30, 1200])
    teller.set_defaults(run=tell)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
