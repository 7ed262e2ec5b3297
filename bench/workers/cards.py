#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What more GPUs and more cores give a tune.

    bench/workers/cards.py gpus              # two GPUs of a host beside one
    bench/workers/cards.py cores [FEW ALL]   # a tune that compiles on 4 cores, on 16, and on 4 with 12 as another host

77: this machine has fewer."""

import json
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import evidence  # noqa: E402
from told import hone  # noqa: E402

CONFIGS = ROOT / "configs"
ROUNDS, PROBLEMS = 4, 4
BUDGET, PROBLEM_BUDGET, CORES_BUDGET = "12s", "10s", "10s"


def tune(*arguments, cores=None):
    """The documents of a tune from nothing, on these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or before)
    try:
        with tempfile.TemporaryDirectory() as folder:
            return json.loads(hone("tune", *arguments, "--json", "--quiet", "--cache", f"{folder}/hone.db"))
    finally:
        os.sched_setaffinity(0, before)


def rate(*arguments, **where):
    """Points a second of a tune in which nothing waits for a search, and no point is stopped early."""
    found, = tune(*arguments, "--strategy", "random", "--full", "--stop-chance", "0", **where)
    return sum(found["outcomes"].values()) / found["time"]["elapsed_s"]


def gpus():
    devices = json.loads(hone("device", "--json"))["devices"]
    if len(devices) < 2 or devices[0]["name"] != devices[1]["name"]:
        return None
    rates, seconds = {1: [], 2: []}, {}
    for turn in range(ROUNDS):
        for count in (1, 2) if turn % 2 else (2, 1):
            rates[count].append(rate(CONFIGS / "matmul.yaml", "-p", "K=4096", "--budget", BUDGET, "--workers", f"local: gpus={count}"))
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "sgemm.yaml"
        config.write_text(first_problems((CONFIGS / "sgemm.yaml").read_text()))
        for count in rates:
            start = time.monotonic()
            tune(config, "--budget", PROBLEM_BUDGET, "--workers", f"local: gpus={count}")
            seconds[count] = time.monotonic() - start
    rows = [["points a second, four runs", *(", ".join(f"{one:.1f}" for one in rates[count]) for count in rates)],
            ["four problems of sgemm, 10 s each", *(f"{seconds[count]:.1f} s" for count in rates)]]
    evidence.keep("two-gpus", rows, device=f"two {devices[0]['name']}", driver=f"driver {devices[0]['driver']}")
    return rows


def first_problems(text):
    """A config with the first problems of its list, and without a ladder, whose entries may be of others."""
    kept, key, left = [], None, PROBLEMS
    for line in text.replace("../", f"{ROOT}/").splitlines(keepends=True):
        key = line.partition(":")[0] if line[0].isalpha() else key
        left -= key == "problem" and line.startswith("  - {")
        kept += [] if key == "ladder" or left < 0 and line.startswith("  - {") and key == "problem" else [line]
    return "".join(kept)


def cores(few="4", most="16"):
    few, most, known = int(few), int(most), sorted(os.sched_getaffinity(0))
    if len(known) < most:
        return None
    rest = known[few:most]
    words = [CONFIGS / "sgemm.yaml", "-p", "M=1024,N=1024,K=1024", "--budget", CORES_BUDGET]
    rows = [[count, f"{rate(*words, '--jobs', count, cores=known[:count]):.1f}"] for count in (few, most)]
    with tempfile.TemporaryDirectory() as folder:
        hosts = pathlib.Path(folder) / "workers.yaml"
        hosts.write_text("workers:\n" + "".join(f'  - {{run: "taskset -c {",".join(map(str, some))}", gpus: {gpus}, compile: {len(some)}}}\n'
                                                for some, gpus in ((known[:few], 1), (rest, 0))))
        rows.append([f"{few} with the GPU and {len(rest)} on another host", f"{rate(*words, '--workers', hosts):.1f}"])
    evidence.keep("compile-hosts", rows)
    return rows


if __name__ == "__main__":
    found = {"gpus": gpus, "cores": cores}[sys.argv[1]](*sys.argv[2:])
    if found is None:
        print("SKIPPED: this machine has fewer", file=sys.stderr)
        sys.exit(77)
    for row in found:
        print(*row, sep=" | ")
