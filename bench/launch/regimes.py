#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `hone run` says of launches as programs make them, beside a program that makes them: processes in turns, so that
what a host does to one process it does to both.

    bench/launch/regimes.py HONE [--rounds N] [--size FLOATS] [--names NAME,NAME...]

Tunes one point of configs/copy.yaml, builds regimes.cu with its exported header (needs nvcc and a GPU), and runs each NAME
of the program and the regime that it belongs to N times. Under `taskset` all of them run on the same cores. Prints all
medians, each side's fastest and median, and the ratios of these.
"""
import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
POINT = ("VECTOR=4", "ITEMS=1", "BLOCK=256", "LOAD=plain", "L1=ca", "STORE=plain")
# What the program does, and the regime that is to say the same.
REGIMES = {"stream20000": "stream", "stream2000": "stream", "stream200": "stream", "graph": "graph", "graph10": "graph10",
           "graph20": "graph10"}


def run(*command, **environment):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, env=os.environ | environment)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(hone, size, folder):
    given = [word for value in POINT for word in ("-s", value)]
    problem = ("-p", f"SIZE={size}")
    config = ROOT / "configs" / "copy.yaml"
    cache = {"HONE_CACHE": str(folder / "cache.db")}
    run(hone, "tune", config, *problem, *given, "--quiet", **cache)
    run(hone, "export", "copy", "-o", folder / "copy_tuned.h", "--quiet", **cache)
    nvcc = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
    run(nvcc, "-arch=native", "-O3", "-std=c++17", f"-I{folder}", f"-I{ROOT}/templates", "-o", folder / "regimes",
        ROOT / "bench" / "launch" / "regimes.cu")
    return [hone, "run", config, *problem, *given]


def time_us(text):
    found = re.search(r"\btime +([\d.]+) (us|ms)", text)
    return float(found.group(1)) * (1 if found.group(2) == "us" else 1000)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("hone")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--size", type=int, default=131072)
    arguments.add_argument("--names", default=",".join(REGIMES))
    given = arguments.parse_args()
    names = given.names.split(",")
    print(f"cores {sorted(os.sched_getaffinity(0))}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        point = build(os.path.abspath(given.hone), given.size, folder)
        found = {}
        for _ in range(given.rounds):
            for regime in dict.fromkeys(REGIMES[name] for name in names):
                found.setdefault(f"hone {regime}", []).append(time_us(run(*point, "--regime", regime)))
            for program in names:
                found.setdefault(program, []).append(float(run(folder / "regimes", program)))
        for what, times in found.items():
            print(f"{what:12}  fastest {min(times):.3f}  median {statistics.median(times):.3f} us of "
                  + " ".join(f"{time:.3f}" for time in times))
        for program in names:
            ours, theirs = found[f"hone {REGIMES[program]}"], found[program]
            print(f"hone {REGIMES[program]} / {program}: fastest {min(ours) / min(theirs):.3f}, median "
                  f"{statistics.median(ours) / statistics.median(theirs):.3f}")


if __name__ == "__main__":
    main()
