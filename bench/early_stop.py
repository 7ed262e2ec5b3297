#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sets early stops against --full: one full run of a space, then the same space in another random order for each seed, each
over an empty cache. Prints how often the winner is tied with the full run's, the share of the GPU time, and where that goes:
verifying (one launch of every variant), measuring, and the rest, which does not grow with the space (set-up, warm-up, finals).

    bench/early_stop.py configs/transpose.yaml -p ROWS=8192 -p COLUMNS=8192 --seeds 20
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import evidence

ROOT = pathlib.Path(__file__).resolve().parents[1]


def find_hone():
    for place in (os.environ.get("HONE"), ROOT / "build" / "tuner" / "hone", ROOT / "bin" / "hone"):
        if place and os.access(place, os.X_OK):
            return str(place)
    raise SystemExit("hone was not found: build it, or set HONE")


def tune(hone, arguments, *more):
    with tempfile.TemporaryDirectory() as folder:
        command = [hone, "tune", arguments.config, "--strategy", "exhaustive", "--json", "--quiet", "--cache", f"{folder}/hone.db", *more]
        for problem in arguments.problem:
            command += ["-p", problem]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)[0]


def describe(time):
    rest = time["gpu_busy_s"] - time["verify_s"] - time["measure_s"]
    spans = ", ".join(f"{phase['what']} {phase['busy_s']:.2f}" for phase in time["phases"]
                      if phase["what"] not in ("compile", "open", "context") and phase["count"] < 20)
    return (f"GPU busy {time['gpu_busy_s']:.2f} s: verify {time['verify_s']:.2f}, measure {time['measure_s']:.2f}, "
            f"rest {rest:.2f} ({spans})")


def point_of(record):
    return ",".join(f"{name}={value}" for name, value in sorted(record["point"].items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config")
    parser.add_argument("-p", "--problem", action="append", default=[])
    parser.add_argument("--seeds", type=int, default=20)
    arguments = parser.parse_args()
    hone = find_hone()

    full = tune(hone, arguments, "--full")
    busy_s = full["time"]["gpu_busy_s"]
    tied = {point_of(record) for record in full["records"][:full["tied"]]}
    times = {point_of(record): record["timing"]["median_us"] for record in full["records"]
             if record["outcome"] in ("ok", "duplicate")}
    best_us = full["best"]["timing"]["median_us"]
    print(f"full: {describe(full['time'])}\n  best {best_us:.2f} us at {point_of(full['best'])}, {len(tied)} tied", flush=True)
    stopped = tune(hone, arguments)
    print(f"early stop, in the order of the space: {describe(stopped['time'])}\n  {stopped['time']['gpu_busy_s'] / busy_s:.3f} of it, "
          f"{'tied' if point_of(stopped['best']) in tied else 'another winner'}: {stopped['outcomes']}", flush=True)

    same, shares = 0, []
    for seed in range(1, arguments.seeds + 1):
        result = tune(hone, arguments, "--strategy", "random", "--seed", str(seed))
        winner = point_of(result["best"])
        same += winner in tied
        shares.append(result["time"]["gpu_busy_s"] / busy_s)
        if winner not in tied:
            behind = f"{(times[winner] / best_us - 1) * 100:+.2f}% by the full run's times" if winner in times else "not measured there"
            print(f"  seed {seed}: {winner}, {behind}", flush=True)
    if shares:
        print(f"{same} of {arguments.seeds} winners tied with the full run's; GPU time {statistics.median(shares):.3f} of it "
              f"(median), {max(shares):.3f} at most")
        space = " ".join([pathlib.Path(arguments.config).stem, *arguments.problem])
        evidence.keep("early-stops", [[f"{space}, {full['points']} points", f"{statistics.median(shares):.2f}", f"{same} of {arguments.seeds} seeds"]], by_row=True)


if __name__ == "__main__":
    main()
