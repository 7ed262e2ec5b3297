#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is lost at a size that nobody tuned, by a kernel without a family: recorded tunings tell it without a GPU. Each recorded
problem in turn is taken for one that was not tuned; it gets the best point of the nearest other one, as libhone and headers
choose (cache/store/lookup.h), and that point's time there is held against the best there.

    bench/family/nearest.py [FOLDER] [KERNEL...]    (default: cache/recorded/nvidia-h200)

Problems that differ in a word from all others, and points that were not measured at a problem, are counted and left out."""

import gzip
import json
import math
import os
import pathlib
import sys

ROOT = pathlib.Path(os.path.abspath(__file__)).parents[2]


def read(path):
    """(kernel, problem, time of each point that was measured to be valid)"""
    with gzip.open(path, "rt") as file:
        recording = json.load(file)
    rows = {key: row for key, row in recording["cache"].items() if row["hone"]["outcome"] in ("ok", "duplicate")
            and isinstance(row["time"], (int, float))}
    return recording["kernel_name"], recording["hone"]["problem"], {key: row["time"] for key, row in rows.items()}


def ratio(a, b):
    x, y = 1 + abs(a), 1 + abs(b)
    return x * y if (a < 0) != (b < 0) else max(x, y) / min(x, y)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def distance(a, b):
    """Infinite where words differ."""
    if a.keys() != b.keys() or any(a[name] != b[name] for name in a if not (is_number(a[name]) and is_number(b[name]))):
        return math.inf
    return math.prod(ratio(a[name], b[name]) for name in a if is_number(a[name]))


def losses_of(problems):
    """(loss, problem, the nearest other one) of each, and how many were left out."""
    found, left_out = [], 0
    for i, (problem, times) in enumerate(problems):
        others = sorted((distance(problem, other), j) for j, (other, _) in enumerate(problems) if j != i)
        others = [j for far, j in others if far < math.inf]
        # The best of the nearest, or of the next one where that cannot be launched here.
        chosen = next(((min(problems[j][1], key=problems[j][1].get), j) for j in others
                       if min(problems[j][1], key=problems[j][1].get) in times), None)
        if chosen is None:
            left_out += 1
            continue
        point, j = chosen
        found.append((times[point] / min(times.values()) - 1, problem, problems[j][0]))
    return found, left_out


def text_of(problem):
    return ",".join(f"{name}={value}" for name, value in problem.items())


def main():
    arguments = sys.argv[1:]
    folder = pathlib.Path(arguments.pop(0)) if arguments and os.path.isdir(arguments[0]) else ROOT / "cache/recorded/nvidia-h200"
    kernels = {}
    for path in sorted(folder.glob("*.json.gz")):
        kernel, problem, times = read(path)
        if times and (not arguments or kernel in arguments):
            kernels.setdefault(kernel, []).append((problem, times))
    print("| kernel | problems | slower: mean, worst | worst at, by the tuning of | left out |\n|---|---|---|---|---|")
    for kernel, problems in kernels.items():
        found, left_out = losses_of(problems)
        if not found:
            print(f"| `{kernel}` | {len(problems)} | | | {left_out} |")
            continue
        worst = max(found, key=lambda one: one[0])
        mean = math.exp(sum(math.log1p(loss) for loss, _, _ in found) / len(found)) - 1
        print(f"| `{kernel}` | {len(found)} | {mean:.1%}, {worst[0]:.1%} | {text_of(worst[1])}, {text_of(worst[2])} | {left_out} |")


if __name__ == "__main__":
    main()
