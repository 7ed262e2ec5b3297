#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What counters are worth and what they cost, on this machine's GPU.

    bench/counters/run.py HONE [ncu] [cost]

ncu   bytes from and to DRAM by `hone run --counters` beside those by `ncu` (from the PATH) on the same points
cost  how long `hone tune --counters` takes for five finalists: a tuning from the cache, with and without
"""
import csv
import io
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import evidence  # noqa: E402

TRANSPOSE = ("transpose", "ROWS=8192,COLUMNS=8192")
LAYOUT = ("struct_layout", "WIDTH=8192,HEIGHT=4096,MEMBERS=7,USED=first")
POINTS = (
    ("copy", "SIZE=268435456,PATTERN=plain,SIDE=load,OFFSET=0,STRIDE=1", "VECTOR=4"),
    (*TRANSPOSE, "VARIANT=naive,PAD=0"),
    (*TRANSPOSE, "PAD=1"),
    (*LAYOUT, "LAYOUT=aos"),
    (*LAYOUT, "LAYOUT=soa"),
    ("histogram", "SIZE=1073741824,VALUE_BYTES=1,BINS=256,SKEW=0.0", ""),
)
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum")


def run(*command, **environment):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, env=os.environ | environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def words(option, values):
    return [word for value in values.split(",") if value for word in (option, value)]


def by_ncu(entry, command):
    """Of all kernels of the point; the reference's and Hone's own have other names."""
    printed = run("ncu", "--clock-control", "none", "--csv", "--print-units", "base", "--metrics", ",".join(METRICS),
                  "--kernel-name", f"regex:^{entry}(_clear|_merge|_partial)?$", *command)
    table = printed[printed.find('"ID"'):]
    found = dict.fromkeys(METRICS, 0.0)
    for row in csv.DictReader(io.StringIO(table)):
        if row.get("Metric Name") in found:
            found[row["Metric Name"]] += float(row["Metric Value"].replace(",", ""))
    if not all(found.values()):
        print(printed)
    return [found[metric] for metric in METRICS]


def beside_ncu(hone):
    rows = []
    for config, problem, point in POINTS:
        command = [hone, "run", ROOT / "configs" / f"{config}.yaml", *words("-p", problem), *words("-s", point), "--verify-only"]
        record = json.loads(run(*command, "--counters", "--json"))["problems"][0]["record"]
        ours = [record["counters"][f"dram_{way}_bytes"] for way in ("read", "written")]
        theirs = by_ncu(config, command)
        rows.append([" ".join((config, point)).strip(), f"{sum(ours) / max(sum(theirs), 1) - 1:+.2%}"])
        print(f"{config:14} {point:20} read {ours[0] / 1e6:9.2f} {theirs[0] / 1e6:9.2f} MB, written {ours[1] / 1e6:9.2f} "
              f"{theirs[1] / 1e6:9.2f} MB, sum {sum(ours) / max(sum(theirs), 1) - 1:+.2%}", flush=True)
    evidence.keep("counters", rows)


def cost(hone):
    """Each tuning with counters is on a cache that has none yet."""
    with tempfile.TemporaryDirectory() as folder:
        cache = pathlib.Path(folder) / "cache.db"
        command = [hone, "tune", ROOT / "configs" / "copy.yaml", "--quiet", "--strategy", "random", "--budget", "24", "--stop-chance", "0"]
        run(*command, HONE_CACHE=str(cache))
        tuned, seconds = cache.read_bytes(), {}
        for option in ([], ["--counters"]) * 3:
            cache.write_bytes(tuned)
            start = time.monotonic()
            printed = run(*command, *option, HONE_CACHE=str(cache))
            seconds.setdefault(" ".join(option), []).append(time.monotonic() - start)
        without, with_them = (statistics.median(taken) for taken in seconds.values())
        print(f"from the cache {without:.2f} s, with --counters {with_them:.2f} s: {with_them - without:.2f} s for five finalists")
        print(printed)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    hone = os.path.abspath(sys.argv[1])
    for name in sys.argv[2:] or ("cost", "ncu"):
        {"ncu": beside_ncu, "cost": cost}[name](hone)


if __name__ == "__main__":
    main()
