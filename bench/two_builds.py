#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a change costs: `hone tune` of two builds side by side, in turn, each time with an empty cache. Both measure the same
random points, as many as --points says.

    bench/two_builds.py OLD NEW [--rounds N] [--points N] [--limit SECONDS] [NAME...]

OLD and NEW are `hone` programs; NAMEs choose among the tunings below. Prints for each tuning the medians of the whole
tune and of the time that the GPU was busy, with their ratio, and that of the best point's time, which should be the same.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import evidence

TUNINGS = {
    "copy": ["copy"],
    "transpose": ["transpose", "-p", "ROWS=8192", "-p", "COLUMNS=8192"],
    "matmul K=32": ["matmul", "-p", "K=32"],
    "matmul K=4096": ["matmul", "-p", "K=4096"],
    "reduce": ["reduce", "-p", "SIZE=268435456"],
    "sgemm 4096^3": ["sgemm", "-p", "M=4096", "-p", "N=4096", "-p", "K=4096"],
    "sgemm 16x4096x4096": ["sgemm", "-p", "M=16", "-p", "N=4096", "-p", "K=4096"],
}


def tune(program, words, seed, points, limit):
    with tempfile.TemporaryDirectory() as folder:
        config, *rest = words
        command = [program, "tune", f"configs/{config}.yaml", *rest, "--json", "--quiet", "--seed", str(seed),
                   "--strategy", "random", "--budget", str(points), "--stop-chance", "0"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=limit,
                                env=os.environ | {"HONE_CACHE": os.path.join(folder, "cache.db")})
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}: {result.stderr}")
    tuning = json.loads(result.stdout)
    tuning = tuning[0] if isinstance(tuning, list) else tuning
    time = tuning["time"]
    return time["elapsed_s"], time["gpu_busy_s"], tuning["best"]["timing"]["median_us"], sum(
        count for outcome, count in tuning["outcomes"].items() if outcome in ("ok", "slower"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--limit", type=float, default=120)
    arguments = parser.parse_intermixed_args()
    print(f"{'':22}{'tune, s':>20}{'ratio':>8}{'GPU busy, s':>20}{'ratio':>8}{'best, us':>22}{'ratio':>8}{'points':>12}")
    for name, words in TUNINGS.items():
        if arguments.names and name.split()[0] not in arguments.names and name not in arguments.names:
            continue
        figures = {"old": [], "new": []}
        for seed in range(1, arguments.rounds + 1):
            order = ["old", "new"] if seed % 2 else ["new", "old"]
            for which in order:
                figures[which].append(tune(getattr(arguments, which), words, seed, arguments.points, arguments.limit))
        median = {which: [statistics.median(column) for column in zip(*rows)] for which, rows in figures.items()}
        line = f"{name:22}"
        for i, width in ((0, 20), (1, 20), (2, 22)):
            old, new = median["old"][i], median["new"][i]
            digits = 1 if i == 2 else 2
            line += f"{f'{old:.{digits}f} {new:.{digits}f}':>{width}}{new / old:8.3f}"
        line += f"{int(median['old'][3])} {int(median['new'][3])}".rjust(12)
        print(line, flush=True)
        evidence.keep("checks", [[name, f"{median['new'][0] / median['old'][0]:.2f}"]], by_row=True)


if __name__ == "__main__":
    main()
