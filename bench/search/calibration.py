#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How often a point better by 2% existed where a strategy stated a chance of it.

    build/bench/search/bench_simulate FILE... --strategy auto --chances --traces TRACES.jsonl.gz
    bench/search/calibration.py --spaces DIR TRACES.jsonl.gz

The stated chances fall into tenths; of each: how many, their mean, and the share of them at which a point better by 2% than
the best of the evaluations so far was left (look-ahead 1). Exit code 1 when a tenth with at least
--least statements is off by more than 0.10. Needs numpy and scipy, as score.py."""

import argparse
import gzip
import json
import sys
from collections import Counter
from pathlib import Path

import numpy

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]
import evidence  # noqa: E402
import score  # noqa: E402

GAIN = 0.02


def find_space(folders, name):
    for folder in folders:
        for path in sorted(Path(folder).glob(f"{name}.*")):
            return score.Space(str(path))
    sys.exit(f"space {name} was not found in {', '.join(folders)}")


def read_traces(paths):
    for path in paths:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt") as lines:
            yield from map(json.loads, lines)


def statements(space, trace):
    """(stated chance, whether it was so) for each that the trace of a search with look-ahead 1 has."""
    best = numpy.fmin.accumulate(space.val[numpy.array(trace["evals"], int)])
    for count, chance in trace.get("chances", []):
        if not numpy.isnan(best[count - 1]):
            yield chance, bool(space.opt * (1 + GAIN) < best[count - 1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+")
    parser.add_argument("--spaces", required=True, nargs="+")
    parser.add_argument("--least", type=int, default=100)
    arguments = parser.parse_args()
    spaces, rows = {}, []
    for trace in read_traces(arguments.traces):
        name = trace["space"]
        if name not in spaces:
            spaces[name] = find_space(arguments.spaces, name)
        rows += [(name, *row) for row in statements(spaces[name], trace)]
    weight_of = {name: 1 / count for name, count in Counter(name for name, _, _ in rows).items()}
    names, chances, truths = (numpy.array(column) for column in zip(*rows))
    weights = numpy.array([weight_of[name] for name in names])
    worst, kept = 0, []
    print(f"{len(rows)} statements in {len(spaces)} spaces\n   chance   statements   stated   was so")
    for tenth in range(10):
        inside = (chances >= tenth / 10) & (chances < tenth / 10 + 0.1 + (tenth == 9))
        if not inside.any():
            continue
        stated, was = chances[inside].mean(), truths[inside].mean()
        print(f"{tenth / 10:4.1f}-{tenth / 10 + 0.1:3.1f} {inside.sum():12d} {stated:8.3f} {was:8.3f}")
        if inside.sum() >= arguments.least:
            kept.append([f"{stated:.3f}", f"{was:.3f}"])
            worst = max(worst, abs(stated - was))
    brier = numpy.average((chances - truths) ** 2, weights=weights)
    print(f"largest difference of a tenth: {worst:.3f}; Brier score, every space the same: {brier:.3f}")
    evidence.keep("stop", kept, device=f"no GPU: {len(spaces)} recorded spaces, {len(rows):,} statements", driver="")
    return int(worst > 0.10)


if __name__ == "__main__":
    sys.exit(main())
