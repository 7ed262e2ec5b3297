#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What several GPUs cost the coordinator: tunes on the driver double with 1 to 256 GPUs, 16 a host, each of which takes the time of a real one
to measure while it uses hardly any processor, behind connections that take their time. Prints rows of docs/figures.md.

    HONE=build/tuner/hone HONE_DOUBLE=build/tests/double bench/workers/scale.py [--latency-ms 0 0.1 1 10 50] [--wait-us 40000] [1 4 16 …]
    … bench/workers/scale.py --problems 21 [--wait-us 4000] [1 4]      # the problems of a config, searched side by side
"""

import argparse
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HONE = os.path.abspath(os.environ.get("HONE", ROOT / "build" / "tuner" / "hone"))
DOUBLE = os.path.abspath(os.environ.get("HONE_DOUBLE", ROOT / "build" / "tests" / "double"))
sys.path.insert(0, str(ROOT / "bench"))
import evidence  # noqa: E402

DATA = pathlib.Path(os.environ.get("HONE_TEST_DATA", ROOT / "build" / "tests" / "data")) / "double"
TICK_MS = 1e3 / os.sysconf("SC_CLK_TCK")
GPUS_A_HOST = 16

KERNEL = """\
extern "C" __device__ const int hone_double[] = {BLOCK, ITEMS, 0};
extern "C" __global__ void scale(const float *x, float *y, float a, int n)
{
    y[threadIdx.x] = a * x[threadIdx.x] + BLOCK * 64 + ITEMS;
}
"""


def relay(latency_ms, command):
    """A launcher whose connection is slow: what goes in at one end comes out that much later at the other."""
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def carry(source, target):
        waiting = queue.Queue()

        def deliver():
            while True:
                due, data = waiting.get()
                time.sleep(max(due - time.monotonic(), 0))
                if not data:
                    os.close(target)
                    return
                while data:
                    data = data[os.write(target, data):]

        thread = threading.Thread(target=deliver, daemon=True)
        thread.start()
        while True:
            data = os.read(source, 1 << 16)
            waiting.put((time.monotonic() + latency_ms / 1e3, data))
            if not data:
                break
        thread.join()

    threading.Thread(target=carry, args=(0, child.stdin.fileno()), daemon=True).start()
    carry(child.stdout.fileno(), 1)


def write_config(folder, points, problems):
    text = (DATA / "scale.yaml").read_text()
    sizes = ", ".join(f"{{n: {64 + i}}}" for i in range(problems))
    for old, new in (("{powers_of_two: [32, 1024]}", f"{{range: [1, {max(points // 16, 1)}], step: 1}}"), ("[1, 2, 4, 8]", "{range: [1, 16], step: 1}"),
                     ("{n: 65536}", f"[{sizes}]"), ("{BLOCK: 128, ITEMS: 1, FAULT: 0}", "{BLOCK: 1, ITEMS: 1, FAULT: 0}")):
        text = text.replace(old, new, 1)
    for path in DATA.glob("*.cu"):
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "scale.cu").write_text(KERNEL)
    (folder / "scale.yaml").write_text(text)


def write_hosts(folder, gpus, latency_ms, workers):
    """Hosts of 16, of which the first alone compiles."""
    lines = ["workers:"]
    for i in range(0, gpus, GPUS_A_HOST):
        slow = f"{sys.executable} {__file__} --relay {latency_ms} " if latency_ms > 0 else ""
        lines.append(f"  - {{run: \"{slow}env HONE_DOUBLE_SERIAL={i // GPUS_A_HOST + 1}\", gpus: {min(gpus - i, GPUS_A_HOST)}, compile: {0 if i else workers}}}")
    (folder / "workers.yaml").write_text("\n".join(lines) + "\n")


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


def tune(folder, gpus, latency_ms, points, options):
    """Seconds, what hone itself took at most, and when each record was made."""
    environment = {**os.environ, "LD_LIBRARY_PATH": DOUBLE, "TMPDIR": str(folder), "HONE_LOCKS": str(folder), "HONE_CACHE": str(folder / "cache.db"),
                   "HONE_NVRTC": str(next(pathlib.Path(DOUBLE).glob("nvrtc/lib*nvrtc.so"))), "HONE_DOUBLE_KEPT": os.environ.get("HONE_DOUBLE_KEPT", str(folder / "kept")),
                   "HONE_DOUBLE_COUNT": str(GPUS_A_HOST), "HONE_DOUBLE_WAIT_US": str(options.wait_us)}
    for path in (*folder.glob("cache.db*"), *folder.glob("events.jsonl")):
        path.unlink()
    write_config(folder, points, options.problems)
    write_hosts(folder, gpus, latency_ms, options.compile)
    begin = time.monotonic()
    process = subprocess.Popen([HONE, "tune", "scale.yaml", "--full", "--quiet", "--events", "events.jsonl", "--workers", "workers.yaml"], cwd=folder,
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
    if process.returncode != 0 or output.count(f"{points} ok") != options.problems:
        sys.exit(f"the tune with {gpus} GPUs failed: {output}")
    events = map(json.loads, (folder / "events.jsonl").read_text().splitlines())
    times = [event["record"]["time"] for event in events if event["event"] == "record" and not event["record"]["final"]]
    return time.monotonic() - begin, most, sorted(times)


def rate_of(times):
    """Points a second from a third of them on, when all GPUs are at work, until a tenth is left."""
    first, last = len(times) // 3, len(times) * 9 // 10
    return (last - first) / (times[last] - times[first])


def scale(folder, options):
    alone_s, rows = None, []
    print("| GPUs | latency, each way | points a second | idle | processor time of `hone` a point | its memory |\n|---|---|---|---|---|---|")
    for gpus in options.gpus or [1, 4, 16, 64, 256]:
        for latency_ms in options.latency_ms:
            points = -(-(32 + options.points_a_gpu * gpus) // 16) * 16
            _, most, times = tune(folder, gpus, latency_ms, points, options)
            rate = rate_of(times)
            alone_s = alone_s or gpus / rate
            idle = max(1 - rate * alone_s / gpus, 0)
            rows.append([gpus, f"{latency_ms:g} ms", f"{rate:.3g}", f"{idle:.0%}"])
            print(f"| {gpus} | {latency_ms:g} ms | {rate:.1f} | {idle:.0%} | {most['cpu'] / points:.2f} ms | {most['memory']:.0f} MiB |", flush=True)
    evidence.keep("coordinator", rows, **evidence.no_gpu())


def side_by_side(folder, options):
    first_s = None
    print("| GPUs | problems | seconds | of the first row |\n|---|---|---|---|")
    for gpus in options.gpus or [1, 4]:
        seconds, _, _ = tune(folder, gpus, 0, options.points, options)
        first_s = first_s or seconds
        print(f"| {gpus} | {options.problems} | {seconds:.1f} | {seconds / first_s:.3f} |", flush=True)


def main():
    if sys.argv[1:2] == ["--relay"]:
        relay(float(sys.argv[2]), sys.argv[3:])
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("gpus", nargs="*", type=int)
    parser.add_argument("--latency-ms", nargs="+", type=float, default=[0, 0.1, 1, 10, 50])
    parser.add_argument("--points-a-gpu", type=int, default=12)
    parser.add_argument("--compile", type=int, default=2, help="compile workers")
    parser.add_argument("--problems", type=int, default=1)
    parser.add_argument("--points", type=int, default=48, help="of each of several problems")
    parser.add_argument("--wait-us", type=int, default=40000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "kept").mkdir()
        waits, options.wait_us = options.wait_us, 0
        biggest = options.points if options.problems > 1 else -(-(32 + options.points_a_gpu * max(options.gpus or [256])) // 16) * 16
        tune(folder, 2, 0, biggest, options)  # every program is compiled once
        options.wait_us = waits
        (side_by_side if options.problems > 1 else scale)(folder, options)


if __name__ == "__main__":
    main()
