#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a launch says of a point before anything is compiled, and what a search gains by it in its first 60 evaluations.

    bench/search/cold.py learn FILE...                    # rank correlations, and what other kernels teach
    bench/search/cold.py simulate [--runs N] FILE...      # with estimates of each kind as the prior; needs bench_simulate

A point's launch is that of its step of most threads: threads a block, lanes of the first dimension in a warp, blocks, dynamic
shared memory, and from these the share of a multiprocessor's threads that can be resident and the waves of the grid. Recordings
of Hone have the expressions; for the benchmark hub's kernels they stand below, from their sources. `taught` is a table of factors
by these figures, learnt from the recordings of all other kernels given (logarithms of the time over the space's median, additive,
every kernel with the same weight), so that no kernel is known to itself."""

import argparse
import functools
import gzip
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORST = 10
AFTER = (6, 10, 16, 30, 60)

# Threads and shared memory of a multiprocessor, most blocks of it, multiprocessors.
DEVICES = {"H200": (2048, 228, 32, 132), "A100": (2048, 164, 32, 108), "A6000": (1536, 100, 16, 84), "2080": (1024, 64, 16, 68),
           "TITAN RTX": (1024, 64, 16, 72), "default": (2048, 64, 32, 110)}
FOREIGN = {
    "conv6": {"block": ["block_size_x", "block_size_y"], "grid": ["ceil_div(4096, block_size_x * tile_size_x)", "ceil_div(4096, block_size_y * tile_size_y)"],
              "shared_bytes": "4 * (block_size_x * tile_size_x + 14) * (block_size_y * tile_size_y + 14)"},
    "gemm": {"block": ["MDIMC", "NDIMC"], "grid": ["4096 // MWG", "4096 // NWG"], "shared_bytes": "4 * KWG * (SA * MWG + SB * NWG)"},
    "dedisp": {"block": ["block_size_x", "block_size_y"], "grid": ["ceil_div(24576, block_size_x * tile_size_x)", "ceil_div(2048, block_size_y * tile_size_y)"],
               "shared_bytes": "0"},
}
FOREIGN["convbat"] = FOREIGN["conv6"]
FOREIGN["conv-"] = {**FOREIGN["conv6"], "shared_bytes": FOREIGN["conv6"]["shared_bytes"] + " if use_shmem == 1 else 0"}

# How a figure is cut into bins: upper ends.
BINS = {"threads": (48, 96, 192, 384, 768), "occupancy": (0.15, 0.3, 0.45, 0.6, 0.8, 0.95), "waves": (0.5, 1.0, 2.0, 8.0), "lanes": (8, 16, 31)}


def find_program():
    program = Path(os.environ.get("HONE_BUILD", HERE.parent.parent / "build")) / "bench" / "search" / "bench_simulate"
    return program if os.access(program, os.X_OK) else sys.exit(f"{program} was not found: build Hone with its tests")


class Names(dict):
    """Values by name; a word that is no name stands for itself."""

    def __missing__(self, name):
        return name


KNOWN = {"ceil_div": lambda a, b: -(-a // b), "min": min, "max": max}


KEYWORDS = {*KNOWN, "if", "else", "and", "or", "not", "in"}


@functools.lru_cache(None)
def parse(text):
    return compile(re.sub(r"\b(global|none)\b", r"'\1'", text), text, "eval")


def evaluate(text, names):
    return eval(parse(text), {"__builtins__": {}}, Names({**KNOWN, **names}))


class Space:
    def __init__(self, path):
        document = json.loads(gzip.decompress(Path(path).read_bytes()))
        self.path, self.name = Path(path), Path(path).name.removesuffix(".json.gz")
        self.rows = list(document["cache"].values())
        times = [row.get("time") for row in self.rows]
        self.times = [time if isinstance(time, (int, float)) and 0 < time < 1e19 else math.inf for time in times]
        device = document.get("device_name", "")
        self.device = next((limits for key, limits in DEVICES.items() if key in device.upper() or key.replace(" ", "").lower() in self.name), DEVICES["default"])
        if "hone" in document:
            self.problem, self.steps = document["hone"]["problem"], document["hone"]["source"]["plan"]["steps"]
        else:
            self.problem, self.steps = {}, [next(step for key, step in FOREIGN.items() if self.name.startswith(key))]
        self.parameters = document["tune_params_keys"]
        self.family = re.match(r"[a-z0-9_]+?(?=-|$)", self.name.replace("conv6", "conv").replace("convbat", "conv"))[0]
        self.figures = [self.launch(row) for row in self.rows]

    def launch(self, row):
        names = {**self.problem, **{name: row[name] for name in self.parameters}}
        best = None
        for step in self.steps:
            if "if" in step and not evaluate(step["if"], names):
                continue
            block, grid = ([max(1, int(evaluate(size, names))) for size in step[key]] for key in ("block", "grid"))
            shared = int(evaluate(step.get("shared_bytes", "0"), names))
            if best is None or math.prod(block) * math.prod(grid) > best[0]:
                best = math.prod(block) * math.prod(grid), block, math.prod(grid), shared
        return self.figure(*best[1:])

    def figure(self, block, blocks, shared):
        most, kib, most_blocks, count = self.device
        threads = math.prod(block)
        resident = min(most_blocks, most // (-(-threads // 32) * 32), kib * 1024 // (shared + 1024))
        return {"threads": threads, "lanes": min(block[0], 32), "occupancy": resident * threads / most,
                "waves": blocks / (max(resident, 1) * count)}

    def expressions(self):
        """threads, occupancy, waves and lanes as expressions over the parameters alone, of the step of most threads at the first point."""
        names = {**self.problem, **{name: self.rows[0][name] for name in self.parameters}}
        steps = [step for step in self.steps if "if" not in step or any(evaluate(step["if"], {**self.problem, **{n: row[n] for n in self.parameters}})
                                                                        for row in self.rows[:: max(1, len(self.rows) // 50)])]
        step = max(steps, key=lambda step: math.prod(max(1, int(evaluate(size, names))) for size in step["block"] + step["grid"]))
        put = lambda text: "(" + re.sub(r"\b[A-Za-z_]\w*\b", lambda found: self.word(found[0]), text) + ")"  # noqa: E731
        most, kib, most_blocks, count = self.device
        threads, blocks = (" * ".join(map(put, step[key])) for key in ("block", "grid"))
        resident = (f"min({most_blocks}, {most} // (ceil_div({threads}, 32) * 32), {kib * 1024} // ({put(step.get('shared_bytes', '0'))} + 1024))")
        return {"threads": f"({threads})", "lanes": f"min(32, {put(step['block'][0])})", "occupancy": f"({resident} * ({threads}) / {most})",
                "waves": f"(1.0 * ({blocks}) / (max({resident}, 1) * {count}))"}

    def word(self, name):
        """A value of the problem as a number, what is neither name nor keyword as a word in quotes."""
        if name in self.problem:
            return json.dumps(self.problem[name]).replace('"', "'")
        return name if name in self.parameters or name in KEYWORDS else f"'{name}'"


def place(figure, value):
    return sum(value > end for end in BINS[figure])


def rank(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] == values[order[at]]:
            end += 1
        for i in order[at:end]:
            ranks[i] = (at + end - 1) / 2
        at = end
    return ranks


def correlation(a, b):
    x, y = rank(a), rank(b)
    mx, my = statistics.mean(x), statistics.mean(y)
    sx, sy = (math.sqrt(sum((v - m) ** 2 for v in z)) for z, m in ((x, mx), (y, my)))
    return sum((p - mx) * (q - my) for p, q in zip(x, y)) / (sx * sy) if sx * sy > 0 else 0.0


def slowness(space):
    """Logarithms of the times over the median, cut at the cap."""
    middle = statistics.median(time for time in space.times if math.isfinite(time))
    return [max(-1.5, min(1.5, math.log(min(time, 1e9) / middle))) for time in space.times]


def teach(spaces):
    """Additive effects of the bins, by backfitting; every family has the same weight."""
    effects = {figure: [0.0] * (len(ends) + 1) for figure, ends in BINS.items()}
    families = [space.family for space in spaces]
    weight = [1 / families.count(space.family) / len(space.rows) for space in spaces]
    points = [(weight[s], [place(f, figures[f]) for f in BINS], slow) for s, space in enumerate(spaces)
              for figures, slow in zip(space.figures, slowness(space))]
    for _ in range(20):
        for at, figure in enumerate(BINS):
            sums, weights = [0.0] * len(effects[figure]), [0.05] * len(effects[figure])
            for weigh, bins, slow in points:
                rest = slow - sum(effects[f][b] for f, b in zip(BINS, bins) if f != figure)
                sums[bins[at]] += weigh * rest
                weights[bins[at]] += weigh
            effects[figure] = [total / some for total, some in zip(sums, weights)]
    return effects


def predict(effects, figures):
    return sum(effects[figure][place(figure, figures[figure])] for figure in BINS)


def table_expression(space, effects):
    """The taught factors as one expression."""
    terms = []
    for figure, text in space.expressions().items():
        factors = [f"{math.exp(value):.3f}" for value in effects[figure]]
        nested = factors[-1]
        for end, factor in reversed(list(zip(BINS[figure], factors))):
            nested = f"({factor} if {text} <= {end} else {nested})"
        terms.append(nested)
    return " * ".join(terms)


def formula(space):
    """What one would write down: half of the threads hide latency, and a last wave that is not full is lost."""
    text = space.expressions()
    return f"max(1, 0.5 / max(0.01, {text['occupancy']})) * max(1, 1 / {text['waves']}) * max(1, 32 / {text['lanes']}) ** 0.5"


def learn(arguments, spaces):
    print(f"{'rank correlation with the time':44}" + "".join(f"{figure:>12}" for figure in BINS) + f"{'taught':>12}{'lowest six':>12}{'six drawn':>12}")
    sums = {}
    for space in spaces:
        others = [other for other in spaces if other.family != space.family]
        effects = teach(others)
        told = [predict(effects, figures) for figures in space.figures]
        times = [min(time, 1e9) for time in space.times]
        best = min(times)
        six = sorted(range(len(told)), key=lambda i: (told[i], hash((i * 2654435761) % 4093)))[:6]
        drawn = statistics.mean(math.log(min(min(times[(k * 7919 + i * 104729) % len(times)] for i in range(6)) / best, WORST)) for k in range(200))
        row = [correlation([f[figure] for f in space.figures], times) for figure in BINS] + [
            correlation(told, times), math.log(min(min(times[i] for i in six) / best, WORST)), drawn]
        sums.setdefault(space.family, []).append(row)
        print(f"{space.name[:43]:44}" + "".join(f"{value:12.2f}" for value in row[:5]) + "".join(f"{math.exp(value):12.3f}" for value in row[5:]), flush=True)
    means = [statistics.mean(column) for column in zip(*([statistics.mean(c) for c in zip(*rows)] for rows in sums.values()))]
    print(f"{'mean over ' + str(len(sums)) + ' kernels':44}" + "".join(f"{value:12.2f}" for value in means[:5]) + "".join(f"{math.exp(value):12.3f}" for value in means[5:]))
    for figure, values in teach(spaces).items():
        print(f"  {figure}: " + ", ".join(f"{'up to ' + str(end) if end else 'more'} {math.exp(value):.2f}" for end, value in zip((*BINS[figure], None), values)))


def play(program, space, estimate, runs, look_ahead):
    with tempfile.TemporaryDirectory() as folder:
        traces = Path(folder) / "traces.jsonl.gz"
        command = [program, space.path, "--strategy", "auto", "--look-ahead", look_ahead, "--runs", runs, "--quiet", "--traces", traces]
        result = subprocess.run([str(word) for word in command + (["--estimate", estimate] if estimate else [])], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{space.name}: {result.stderr}\n{estimate}")
        rows = [json.loads(line)["evals"] for line in gzip.decompress(traces.read_bytes()).splitlines()]
    best = min(space.times)
    return [statistics.mean(math.log(min(min(space.times[i] for i in row[:count]) / best, WORST)) for row in rows) for count in AFTER]


def simulate(arguments, spaces):
    program = find_program()
    kinds = {"without": lambda space: None, "formula": formula,
             "taught": lambda space: table_expression(space, teach([other for other in spaces if other.family != space.family]))}
    sums = {kind: {} for kind in kinds}
    print(f"after {', '.join(map(str, AFTER))} evaluations, over the optimum")
    for space in spaces:
        for kind, make in kinds.items():
            row = play(program, space, make(space), arguments.runs, arguments.look_ahead)
            sums[kind].setdefault(space.family, []).append(row)
            print(f"  {space.name[:43]:44}{kind:10}" + " ".join(f"{math.exp(value):.3f}" for value in row), flush=True)
    for kind, families in sums.items():
        means = [statistics.mean(column) for column in zip(*([statistics.mean(c) for c in zip(*rows)] for rows in families.values()))]
        print(f"  {'mean over ' + str(len(families)) + ' kernels':44}{kind:10}" + " ".join(f"{math.exp(value):.3f}" for value in means))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, work in (("learn", learn), ("simulate", simulate)):
        command = commands.add_parser(name)
        command.add_argument("files", nargs="+")
        command.add_argument("--runs", type=int, default=40)
        command.add_argument("--look-ahead", type=int, default=32)
        command.set_defaults(work=work)
    arguments = parser.parse_args()
    arguments.work(arguments, [Space(path) for path in arguments.files])


if __name__ == "__main__":
    main()
