#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bf16 products at shapes that nobody chose for bgemm, each tuned from nothing, beside the best that cublasLt proposes:

    bench/products.py drawn     # 40 shapes, evenly by their logarithms
    bench/products.py models    # 24 layers of three public models: 1 to 8,192 tokens
        --seconds S       that a shape is tuned (20)
        --at I,J-K        of the shapes these only
        --within SECONDS  begin no shape that would end later
        --file FILE       where results stand, shape by shape, and are added to: what is there is not measured again

Prints a table. FILE has of each shape the search's points with their times, too, and which kernels cublasLt launches."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).parent / "family"), str(pathlib.Path(__file__).parent)]
import beside  # noqa: E402
import evidence  # noqa: E402
from early_stop import ROOT, find_hone  # noqa: E402

SEED = 20261122
# N and K of layers, as in the models' configurations: queries, keys and values together; an MLP's gate and up together; its down.
MODELS = {"Qwen3-32B": [(10240, 5120), (5120, 25600)], "gpt-oss-20b": [(5120, 2880), (2880, 4096)],
          "Gemma 3 27B": [(43008, 5376), (5376, 21504)]}
TOKENS = 1, 48, 500, 8192
FAR_BELOW = 0.95


def drawn():
    options = argparse.Namespace(kernel="bgemm", seed=SEED, sizes=40, draw=[])
    return [("", problem) for problem in beside.draw(options)]


def models():
    fixed = beside.KERNELS["bgemm"][1]
    return [(model, {"M": tokens, "N": n, "K": k, **fixed}) for model, layers in MODELS.items() for n, k in layers for tokens in TOKENS]


SETS = {"drawn": drawn, "models": models}


def tune(problem, seconds, cache):
    """The search in short. None: it failed, and has said so."""
    given = [word for name, value in problem.items() for word in ("-p", f"{name}={value}")]
    command = [find_hone(), "tune", ROOT / "configs" / "bgemm.yaml", *given, "--budget", f"{seconds:g}s", "--json", "--quiet", "--cache", cache]
    result = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE)
    if result.returncode != 0:
        return None
    found = json.loads(result.stdout)[0]
    records = [{"point": record["point"], "outcome": record["outcome"], "us": (record.get("timing") or {}).get("median_us"),
                "at": record.get("time"), "compile_ms": (record.get("costs") or {}).get("compile_ms")} for record in found["records"]]
    return {"seconds": seconds, "points": found["points"], "finished": found["finished"], "time": found["time"], "records": records}


def measure(problem, seconds):
    with tempfile.TemporaryDirectory() as folder:
        search = tune(problem, seconds, f"{folder}/hone.db")
        if search is None:
            return {"problem": problem, "failure": "hone tune failed"}
        line, = beside.measure(argparse.Namespace(kernel="bgemm", rounds=41, seconds=1), [problem], [("chosen", f"{folder}/hone.db")], 60)
        return {**line, "search": search}


def row(name, line):
    """A row of what bench_family says of a shape."""
    tuned = line["sides"]["chosen"]
    vendor, = (side for side_name, side in line["sides"].items() if side_name != "chosen")
    shape = " x ".join(str(line["problem"][size]) for size in "MNK")
    return [f"{shape}, {name}" if name else shape, f"{tuned['cold_us'][1]:.1f}", *(f"{vendor[regime + '_ratio'][1]:.3f}" for regime in ("cold", "warm"))]


def table(lines):
    """Of the shapes that were measured. What fails has no row and is in no mean."""
    rows = [row(line["name"], line) for line in lines if "sides" in line]
    if rows:
        columns = [[float(one[column]) for one in rows] for column in (2, 3)]
        rows.append([f"geometric mean of {len(rows)}", "", *(f"{evidence.mean(column):.3f}" for column in columns)])
        rows.append([f"worst; below {FAR_BELOW}", "", *(f"{min(column):.3f}; {sum(ratio < FAR_BELOW for ratio in column)}" for column in columns)])
    return rows


def chosen(text, count):
    """The numbers of "1,4-6"."""
    ends = [part.split("-") for part in text.split(",")] if text else [["0", str(count - 1)]]
    return [number for part in ends for number in range(int(part[0]), int(part[-1]) + 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--at", default="")
    parser.add_argument("--within", type=float, default=float("inf"))
    parser.add_argument("--file", type=pathlib.Path)
    options = parser.parse_args()
    shapes, end = SETS[options.set](), time.monotonic() + options.within
    known = json.loads(options.file.read_text()) if options.file and options.file.exists() else []
    for number in chosen(options.at, len(shapes)):
        name, problem = shapes[number]
        if any(line["problem"] == problem and "failure" not in line for line in known):
            continue
        if time.monotonic() + options.seconds + 5 > end:
            break
        known = [line for line in known if line["problem"] != problem] + [{"name": name, **measure(problem, options.seconds)}]
        if options.file:
            options.file.with_suffix(".new").write_text(json.dumps(known))
            os.replace(options.file.with_suffix(".new"), options.file)
    rows = table(known)
    for one in rows:
        print(*one, sep=" | ")
    if options.set == "models":
        evidence.keep("bgemm-models", rows)
    else:
        evidence.keep("bgemm-drawn", rows)
    return 1 if not rows or any("failure" in line for line in known) else 0


if __name__ == "__main__":
    sys.exit(main())
