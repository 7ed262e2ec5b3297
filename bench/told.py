#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures that a few commands tell:

    bench/told.py nvrtc LIBNVRTC...     # compile times by these versions, with nothing beside; needs no GPU
    bench/told.py energy [SECONDS]      # of the best copy in five sessions; of a window
    bench/told.py large [SECONDS]       # searches of sgemm with seeds 1 to 5, over the best of them and of recordings
    bench/told.py programs [SECONDS [BUILD_S RUN_S]]   # how many `run` measures that sleep as CUB's benchmarks; on the double, too
    bench/told.py operator              # examples/pytorch/linear.py behind a tune of its layers; skipped (77) without PyTorch"""

import gzip
import importlib.util
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import evidence
from early_stop import ROOT, find_hone

SHAPES = (4096, 4096, 4096), (16, 4096, 4096), (32, 32, 1048576)
CUB = """\
kernel: empty
template: empty.cu
entry: empty
parameters: {BLOCK: [32]}
arguments: [{name: y, type: int32, count: 32, role: output}]
launch: {block: BLOCK, grid: 1}
"""

# Seconds to build and to run; times of 1% noise, the least at the end.
PROGRAMS = """\
kernel: asleep
template: asleep.sh
parameters: {{AT: {{range: [1, 240]}}, TWICE: [1, 2]}}
defaults: {{AT: 120, TWICE: 1}}
run:
  build: [sleep, "{0}"]
  command: [sh, "${{SOURCE}}", "${{AT}}", "{1}"]
  time: {{json: time}}
"""
ASLEEP = """\
sleep $2
echo '{"time": '$(((240 - $1 + 70) * (9900 + $(od -An -N2 -tu2 /dev/urandom) % 200)))'}'
"""


def hone(*arguments, **environment):
    return subprocess.run([find_hone(), *map(str, arguments)], env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE).stdout


def tune(config, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        return json.loads(hone("tune", config, "--json", "--quiet", "--cache", f"{folder}/hone.db", *arguments))[0]


def used_ms():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (usage.ru_utime + usage.ru_stime)


def compile_ms(library, config, arguments, folder):
    """Of the processor, of a problem's default point, beside a command that reads the config alike and compiles nothing."""
    command, start = ["compile", config, "--arch", "sm_90", "--quiet", *arguments], used_ms()
    compiled = json.loads(hone(*command, "--json", HONE_NVRTC=library))
    end = used_ms()
    hone(*command, "--sources", folder, HONE_NVRTC=library)
    return (end - start - (used_ms() - end)) / len(compiled)


def nvrtc(*libraries):
    product = ["-p", "M=4096,N=4096,K=4096"]
    points = {"copy": [], "reduce": [], "sgemm": product, "bgemm": product, "`<cub/cub.cuh>`": []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "empty.cu").write_text('#include <cub/cub.cuh>\nextern "C" __global__ void empty(int *y) { y[threadIdx.x] = BLOCK; }\n')
        (folder / "empty.yaml").write_text(CUB)

        def ms(library, kernel, problem):
            config = ROOT / "configs" / f"{kernel}.yaml" if kernel.isalpha() else folder / "empty.yaml"
            try:
                return f"{statistics.median(compile_ms(library, config, problem, folder) for _ in range(5)):.0f}"
            except subprocess.CalledProcessError:
                return "-"  # CCCL is of another version, where the library was given without its own
        rows = [[kernel, "/".join(ms(library, kernel, problem) for library in libraries)] for kernel, problem in points.items()]
    evidence.keep("nvrtc", rows, **evidence.no_gpu())
    return rows


def energy(seconds="2"):
    rows = [[", ".join(f"{tune(ROOT / 'configs' / 'copy.yaml', f'--energy={seconds}')['best']['energy']['joules']:.4f}" for _ in range(5))]]
    evidence.keep("energy", rows)
    return rows


def recorded_us(device, shape):
    """The best time of each recording of this product."""
    for path in (ROOT / "cache" / "recorded").glob("*/sgemm-*.json.gz"):
        found = json.loads(gzip.decompress(path.read_bytes()))
        if found["device_name"] == device and all(found["hone"]["problem"].get(name) == size for name, size in zip("MNK", shape)):
            yield 1e3 * min(row["time"] for row in found["cache"].values() if row["hone"]["outcome"] == "ok")


def large(seconds="29"):
    rows = []
    for shape in SHAPES:
        problem = ",".join(f"{name}={value}" for name, value in zip("MNK", shape))
        found = [tune(ROOT / "configs" / "sgemm.yaml", "-p", problem, "--budget", f"{seconds}s", "--stop-chance", "0", "--seed", seed) for seed in range(1, 6)]
        times, searched = ([one["best"]["timing"]["median_us"] for one in found], [one["finished"] for one in found])
        best = min(*times, *recorded_us(found[0]["device"], shape))
        rows.append([" x ".join(map(str, shape)), f"{found[0]['points']:,}", f"{min(searched):,} to {max(searched):,}", f"{statistics.median(times) / best:.3f}"])
    evidence.keep("large", rows)
    return rows


def programs(seconds="420", build_s="7.8", run_s="1.1"):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "asleep.sh").write_text(ASLEEP)
        (folder / "asleep.yaml").write_text(PROGRAMS.format(build_s, run_s))
        began = time.monotonic()
        found = tune(folder / "asleep.yaml", "--allow-run", "--jobs", "16", "--stop-chance", "0", "--budget", f"{seconds}s")
        each_s = (time.monotonic() - began) / found["finished"]
    rows = [[f"{seconds} s", found["finished"], f"{3600 / each_s:.0f}", f"{(float(build_s) + float(run_s)) / each_s:.1f}"]]
    evidence.keep("programs", rows, **evidence.no_gpu())
    return rows


def operator():
    if importlib.util.find_spec("torch") is None:
        sys.exit(77)
    import paired  # noqa: F401; it tells the package of Python where command and library are
    with tempfile.TemporaryDirectory() as folder:
        hone("tune", ROOT / "configs" / "sgemm.yaml", "-p", "M=16,N=4096,K=4096", "--budget", "30s", "--quiet", "--cache", f"{folder}/hone.db")
        printed = subprocess.run([sys.executable, ROOT / "examples" / "pytorch" / "linear.py", f"{folder}/hone.db"], check=True, stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "python" / "src"), os.environ.get("PYTHONPATH")]))}).stdout
    theirs, ours = re.search(r"PyTorch ([\d.]+) us, tuned ([\d.]+) us", printed).groups()
    rows = [["`linear.py`", f"{float(ours):.0f} us"], ["PyTorch", f"{float(theirs):.0f} us"]]
    evidence.keep("operator", rows)
    return rows


if __name__ == "__main__":
    for row in {"nvrtc": nvrtc, "energy": energy, "large": large, "programs": programs, "operator": operator}[sys.argv[1]](*sys.argv[2:]):
        print(*row, sep=" | ")
