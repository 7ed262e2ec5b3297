#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How good the best point is after the first evaluations of searches.

    build/bench/search/bench_simulate FILE... --traces TRACES.jsonl.gz
    bench/search/early.py --spaces DIR... -- TRACES.jsonl.gz...

Prints, for each file of traces and each space, its time over the optimum's after so many evaluations: the geometric mean over the runs,
where 10 stands for anything worse; and the geometric mean over the spaces."""

import argparse
import gzip
import json
import math
import statistics
import sys
from pathlib import Path

AFTER = (6, 10, 16, 30, 60)
WORST = 10


def load_times(folders, name):
    for folder in folders:
        path = Path(folder) / f"{name}.json.gz"
        if path.exists():
            times = [row.get("time") for row in json.loads(gzip.decompress(path.read_bytes()))["cache"].values()]
            return [time if isinstance(time, (int, float)) and time < 1e19 else math.inf for time in times]
    sys.exit(f"space {name} was not found in {', '.join(folders)}")


def ratios(times, evals):
    """Of the best so far to the optimum, as logarithms."""
    return [math.log(min(min(times[row] for row in evals[:count]) / min(times), WORST)) for count in AFTER]


def mean(rows):
    return [statistics.mean(column) for column in zip(*rows)]


def show(name, row):
    print(f"  {name:44}" + " ".join(f"{math.exp(value):.3f}" for value in row))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+")
    parser.add_argument("--spaces", required=True, nargs="+")
    arguments = parser.parse_args()
    times = {}
    for path in arguments.traces:
        runs = {}
        with (gzip.open if path.endswith(".gz") else open)(path, "rt") as lines:
            for trace in map(json.loads, lines):
                name = trace["space"]
                if name not in times:
                    times[name] = load_times(arguments.spaces, name)
                runs.setdefault(name, []).append(ratios(times[name], trace["evals"]))
        print(f"{path}: after {', '.join(map(str, AFTER))}")
        for name, rows in sorted(runs.items()):
            show(name, mean(rows))
        show("mean", mean([mean(rows) for rows in runs.values()]))


if __name__ == "__main__":
    main()
