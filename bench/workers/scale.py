#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What several GPUs cost the coordinator: a tune on the driver double with 1 to 64 GPUs, each of which takes the time of a real one to
measure while it uses hardly any processor. Prints a row of docs/scaling.md for each.

    HONE=build/tuner/hone HONE_DOUBLE=build/tests/double bench/workers/scale.py [--points 1024] [--wait-us 4000] [1 2 4 …]
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HONE = os.path.abspath(os.environ.get("HONE", ROOT / "build" / "tuner" / "hone"))
DOUBLE = os.path.abspath(os.environ.get("HONE_DOUBLE", ROOT / "build" / "tests" / "double"))
TICK_MS = 1e3 / os.sysconf("SC_CLK_TCK")

KERNEL = """\
extern "C" __device__ const int hone_double[] = {BLOCK, ITEMS, 0};
extern "C" __global__ void scale(const float *x, float *y, float a, int n)
{
    y[threadIdx.x] = a * x[threadIdx.x] + BLOCK * 64 + ITEMS;
}
"""


def write_config(folder, points):
    text = (ROOT / "tests" / "data" / "double" / "scale.yaml").read_text()
    for old, new in (("{powers_of_two: [32, 1024]}", f"{{range: [1, {points // 16}], step: 1}}"), ("[1, 2, 4, 8]", "{range: [1, 16], step: 1}"),
                     ("{n: 65536}", "{n: 64}"), ("{BLOCK: 128, ITEMS: 1, FAULT: 0}", "{BLOCK: 1, ITEMS: 1, FAULT: 0}")):
        text = text.replace(old, new, 1)
    for path in (ROOT / "tests" / "data" / "double").glob("*.cu"):
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "scale.cu").write_text(KERNEL)
    (folder / "scale.yaml").write_text(text)


def own_cpu_ms(pid):
    """Of the process itself, its threads among it; not of what it started."""
    try:
        words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0
    return (int(words[11]) + int(words[12])) * TICK_MS


def memory_mib(pid):
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0
    return max([int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")], default=0)


def tune(folder, gpus, options):
    environment = {**os.environ, "LD_LIBRARY_PATH": DOUBLE, "TMPDIR": str(folder), "HONE_LOCKS": str(folder), "HONE_CACHE": str(folder / "cache.db"),
                   "HONE_NVRTC": str(next(pathlib.Path(DOUBLE).glob("nvrtc/lib*nvrtc*"))), "HONE_DOUBLE_KEPT": str(folder / "kept"),
                   "HONE_DOUBLE_COUNT": str(gpus), "HONE_DOUBLE_WAIT_US": str(options.wait_us)}
    for path in folder.glob("cache.db*"):
        path.unlink()
    begin = time.monotonic()
    process = subprocess.Popen([HONE, "tune", "scale.yaml", "--full", "--quiet", "--workers", f"local: gpus={gpus} compile=2"], cwd=folder,
                               env=environment, stdout=subprocess.PIPE, text=True)
    most = {"cpu": 0, "memory": 0}

    def watch():
        while process.poll() is None:
            most["cpu"] = max(most["cpu"], own_cpu_ms(process.pid))
            most["memory"] = max(most["memory"], memory_mib(process.pid))
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    output, _ = process.communicate()
    watcher.join()
    if process.returncode != 0 or f"{options.points} ok" not in output:
        sys.exit(f"the tune with {gpus} GPUs failed: {output}")
    return time.monotonic() - begin, most


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpus", nargs="*", type=int, default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--points", type=int, default=1024)
    parser.add_argument("--wait-us", type=int, default=4000)
    options = parser.parse_args()
    print("| GPUs | points a second | seconds | processor time of `hone` a point | its memory |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "kept").mkdir()
        write_config(folder, options.points)
        tune(folder, max(options.gpus), options)  # every program is compiled once
        for gpus in options.gpus:
            seconds, most = tune(folder, gpus, options)
            print(f"| {gpus} | {options.points / seconds:.0f} | {seconds:.1f} | {most['cpu'] / options.points:.2f} ms | "
                  f"{most['memory']:.0f} MiB |", flush=True)


if __name__ == "__main__":
    main()
