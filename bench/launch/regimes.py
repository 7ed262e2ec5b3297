#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `hone run` says of launches as programs make them, beside a program that makes them: processes in turns, so that
what a host does to one process it does to both.

    bench/launch/regimes.py HONE [--rounds N] [--names NAME,NAME...] [FLOATS...]

Tunes one point of configs/copy.yaml, builds regimes.cu with its exported header (needs nvcc and a GPU), and for each size runs
each NAME of the program and the regime that it belongs to N times. Prints all medians, each side's fastest and median, and the
ratios of these.
"""
import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import evidence  # noqa: E402

POINT = ("VECTOR=4", "ITEMS=1", "BLOCK=256", "LOAD=plain", "L1=ca", "STORE=plain")
# One that the host's launches hold up, and one that it does not.
SIZES = [131072, 8388608]
# What the program does, and the regime that is to say the same.
REGIMES = {"stream20000": "stream", "stream2000": "stream", "stream200": "stream", "graph": "graph", "graph10": "graph10",
           "graph20": "graph10"}


def run(*command, **environment):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, env=os.environ | environment)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def find_nvcc():
    return shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")


def build(hone, folder):
    """The command that runs the point by Hone; the program is `regimes` in the folder then."""
    given = [word for value in POINT for word in ("-s", value)]
    config = ROOT / "configs" / "copy.yaml"
    cache = {"HONE_CACHE": str(folder / "cache.db")}
    run(hone, "tune", config, "-p", f"SIZE={SIZES[0]}", *given, "--quiet", **cache)
    run(hone, "export", "copy", "-o", folder / "copy_tuned.h", "--quiet", **cache)
    run(find_nvcc(), "-arch=native", "-O3", "-std=c++17", f"-I{folder}", f"-I{ROOT}/templates", "-o", folder / "regimes",
        ROOT / "bench" / "launch" / "regimes.cu")
    return [hone, "run", config, *given]


def time_us(text):
    found = re.search(r"\btime +([\d.]+) (us|ms)", text)
    return float(found.group(1)) * (1 if found.group(2) == "us" else 1000)


def compare(ours, program, size, names, rounds):
    found = {}

    def note(what, time):
        found.setdefault(what, []).append(time)
        print(f"  {what} {time:.3f}", end="", flush=True)

    print(f"{size} floats, {rounds} rounds, us a launch")
    for _ in range(rounds):
        for regime in dict.fromkeys(REGIMES[name] for name in names):
            note(f"hone {regime}", time_us(run(*ours, "-p", f"SIZE={size}", "--regime", regime)))
        for name in names:
            note(name, float(run(program, name, size)))
        print()
    for what, times in found.items():
        print(f"  {what:12}  fastest {min(times):.3f}, median {statistics.median(times):.3f}")
    for name in names:
        regime = found[f"hone {REGIMES[name]}"]
        print(f"  hone {REGIMES[name]} / {name}: fastest {min(regime) / min(found[name]):.3f}, median "
              f"{statistics.median(regime) / statistics.median(found[name]):.3f}", flush=True)
    if size == SIZES[0]:
        evidence.keep("regimes", figures(found))


def figures(found):
    """Rows for docs/figures.json: of the median process."""
    ways = {"graph of one": "graph", "graph of ten": "graph10", "stream": "stream2000"}
    return [[what, *(f"{statistics.median(found[side]):.3f}" for side in (name, f"hone {REGIMES[name]}"))] for what, name in ways.items() if name in found]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("hone")
    arguments.add_argument("sizes", type=int, nargs="*")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--names", default=",".join(REGIMES))
    given = arguments.parse_args()
    if find_nvcc() is None:
        print("bench/launch/regimes.py: SKIPPED: there is no nvcc", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ours = build(os.path.abspath(given.hone), folder)
        for size in given.sizes or SIZES:
            compare(ours, folder / "regimes", size, given.names.split(","), given.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
