#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether `hone replay` can be trusted: tunes small kernels, replays each several times, and then once with 8% added to its source.

    bench/replay/run.py [--kernels N] [--replays N] [--slower PERCENT] [--jobs J] [--within SECONDS] [--json FILE]

Exit code 1 when a kernel that nobody touched is called slower or wrong, when less than 95% of those made slower are found, or when
not all was within the time. Every launch is one wave of blocks that begin with a spin of SPIN cycles, 0 at first, so that a kernel
is made slower by as much as is asked for, which is measured by `hone run`, since some of a spin hides behind other waits."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = (500_000, 4_000_000)
sys.path.insert(0, str(ROOT / "bench"))
import evidence  # noqa: E402
# What a thread writes to y[i].
KINDS = {
    "copy": "x[i]",
    "scaled": "a * x[i]",
    "stencil": "a * (x[max(i - 1, 0)] + x[i] + x[min(i + 1, n - 1)])",
    "gather": "a * (x[i] + x[(i + 4099) % n] + x[(i + 65537) % n])",
    "reverse": "x[n - 1 - i]",
    "permuted": "x[(int)((long long)i * 7919 % n)]",
    "polynomial": "polynomial(x[i], a)",
    "roots": "sqrtf(fabsf(x[i])) + rsqrtf(fabsf(x[i]) + a)",
    "waves": "sinf(x[i]) * cosf(a * x[i])",
    "exchanged": "a * x[i ^ (i & 1)]",
}
TEMPLATE = """\
#define SPIN 0
extern "C" __device__ const int hone_double[] = {BLOCK, 4, 0};

__device__ float polynomial(float x, float a)
{
    float sum = a;
#pragma unroll
    for (int k = 0; k < 96; k++)
        sum = sum * x + 0.5f;
    return sum;
}

extern "C" __global__ void __launch_bounds__(BLOCK) scale(const float *__restrict__ x, float *__restrict__ y, float a, int n)
{
    const long long end = clock64() + SPIN;
    while (SPIN > 0 && clock64() < end)
        ;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        y[i] = VALUE;
}
"""
CONFIG = """\
hone: 1
kernel: {name}
template: {name}.cu
entry: scale
problem: {{n: {n}}}
parameters: {{BLOCK: [128, 256, 512], BLOCKS: [1, 2]}}
defaults: {{BLOCK: 128, BLOCKS: 1}}
arguments:
  - {{name: x, type: float32, count: n, fill: "uniform(-1, 1)"}}
  - {{name: y, type: float32, count: n, role: output}}
  - {{name: a, type: float32, value: 2.5}}
  - {{name: n, type: int32, value: n}}
launch: {{block: BLOCK, grid: "BLOCKS * sm_count"}}
compare: {{mode: max_norm, relative: 1.0e-5}}
"""


def find_hone():
    for path in (os.environ.get("HONE", ""), ROOT / "build/tuner/hone", ROOT / "bin/hone"):  # the latter of a bundle
        if path and pathlib.Path(path).exists():
            return str(path)
    sys.exit(f"bench/replay/run.py: there is no {ROOT}/build/tuner/hone: build Hone first, or name it in HONE")


class Kernel:
    def __init__(self, folder, kind, n):
        self.name = f"{kind}_{n}"
        self.folder = folder
        self.timing, self.replays, self.slowed, self.added = {}, [], None, 0
        self.template = folder / f"{self.name}.cu"
        self.source = TEMPLATE.replace("VALUE", KINDS[kind])
        self.template.write_text(self.source)
        (folder / f"{self.name}.yaml").write_text(CONFIG.format(name=self.name, n=n))

    def hone(self, *arguments, **settings):
        command = [find_hone(), *arguments, f"{self.name}.yaml", "--cache", f"{self.name}.db", "--json", "--jobs", "4"]
        result = subprocess.run(command, cwd=self.folder, text=True, capture_output=True, stdin=subprocess.DEVNULL,
                                env=os.environ | settings)
        if result.returncode not in (0, 4) or not result.stdout:
            raise RuntimeError(f"{' '.join(command)}: exit code {result.returncode}: {result.stderr}")
        return json.loads(result.stdout)[0]

    def tune(self):
        best = self.hone("tune", "--quiet")["best"]
        self.timing, self.point = best["timing"], ",".join(f"{name}={value}" for name, value in best["point"].items())

    def replay(self, **settings):
        return {key: value for key, value in self.hone("replay", **settings).items() if key in ("verdict", "recorded", "now")}

    def replay_once(self):
        self.replays.append(self.replay())

    def measure(self, spin):
        """The median of five processes."""
        self.template.write_text(self.source.replace("SPIN 0", f"SPIN {spin}", 1))
        command = [find_hone(), "run", f"{self.name}.yaml", "-s", self.point, "--json"]
        runs = [subprocess.run(command, cwd=self.folder, text=True, capture_output=True, stdin=subprocess.DEVNULL) for _ in range(5)]
        if any(run.returncode != 0 for run in runs):
            raise RuntimeError(f"{' '.join(command)}: {runs[0].stderr}")
        return statistics.median(json.loads(run.stdout)["problems"][0]["record"]["timing"]["median_us"] for run in runs)

    def find_spin(self, spin, share):
        """The spin that adds the share, within half a hundredth."""
        us, low, high = self.measure(0), 0, None
        for _ in range(8):
            self.added = self.measure(spin) / us - 1
            if abs(self.added - share) <= 0.005:
                return spin
            low, high = (spin, high) if self.added < share else (low, spin)
            spin = 2 * spin if high is None else (low + high) // 2
        raise RuntimeError(f"{self.name}: no spin makes it {share:.0%} slower: {spin} cycles add {self.added:.1%}")

    def slow_down(self, share):
        settings, spin = {}, round(share * self.timing["median_us"] * (self.timing["clock_mhz"] or 1))
        if "HONE_DOUBLE" not in os.environ:
            spin = self.find_spin(spin, share)
        self.template.write_text(self.source.replace("SPIN 0", f"SPIN {spin}", 1))
        if "HONE_DOUBLE" in os.environ:  # to rehearse on the driver double, for which the template says no time
            paces = self.folder / f"{self.name}.paces"
            paces.write_text(f"{1 + share}\n" * 9)
            settings = {"HONE_DOUBLE_PACES": str(paces)}
        self.slowed = self.replay(**settings)

    def line(self):
        was = self.timing
        us = max(was["median_us"], was.get("middle_us", 0))
        ratios = sorted(replay["now"]["timing"]["median_us"] / us for replay in self.replays) or [0]
        again = sum("processes" in replay["now"]["timing"] for replay in self.replays)
        verdicts = sorted({replay["verdict"] for replay in self.replays})
        slowed = self.slowed and self.slowed["now"]["timing"]
        text = (f"{self.name:19} race {was['median_us']:8.3f} us, processes {was.get('fastest_us', 0):8.3f} to {was.get('slowest_us', 0):8.3f}; replayed "
                f"{ratios[0]:.3f} to {ratios[-1]:.3f}, {again} of {len(ratios)} again: {', '.join(verdicts)}")
        return text + (f"; {self.added:.1%} added, replayed {slowed.get('middle_us', slowed['median_us']) / us:.3f}: {self.slowed['verdict']}"
                       if slowed else "")


def run_all(jobs, tasks, end):
    """How many were left out for lack of time, or failed."""
    def run(task):
        try:
            if time.monotonic() > end:
                return 1
            task()
        except (RuntimeError, ValueError) as error:
            print(error, flush=True)
            return 1
        return 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return sum(pool.map(run, tasks))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=20, help="how many (default and at most 20)")
    parser.add_argument("--replays", type=int, default=10, help="of each (default 10)")
    parser.add_argument("--slower", type=float, default=8, help="percent (default 8)")
    parser.add_argument("--jobs", type=int, default=4, help="processes at a time, which take turns on the GPU (default 4)")
    parser.add_argument("--within", type=float, default=float("inf"), help="seconds after which nothing more is begun")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="elements, two numbers")
    parser.add_argument("--json", type=pathlib.Path, help="writes all records to this file")
    arguments = parser.parse_args()
    started = time.monotonic()
    end = started + arguments.within
    with tempfile.TemporaryDirectory() as folder:
        kernels = [Kernel(pathlib.Path(folder), kind, int(n)) for kind in KINDS for n in arguments.sizes.split(",")][:arguments.kernels]
        left = run_all(arguments.jobs, [kernel.tune for kernel in kernels], end)
        print(f"tuned: {time.monotonic() - started:.0f} s", flush=True)
        tuned = [kernel for kernel in kernels if kernel.timing]
        left += run_all(arguments.jobs, [kernel.replay_once for _ in range(arguments.replays) for kernel in tuned], end)
        print(f"replayed: {time.monotonic() - started:.0f} s", flush=True)
        left += run_all(arguments.jobs, [lambda kernel=kernel: kernel.slow_down(arguments.slower / 100) for kernel in tuned], end)
    for kernel in kernels:
        print(kernel.line() if kernel.timing else f"{kernel.name}: not tuned")
    replays = [replay for kernel in kernels for replay in kernel.replays]
    accused = sum(replay["verdict"] in ("SLOWER", "WRONG") for replay in replays)
    excused = sum(replay["verdict"] == "the machine is slower" for replay in replays)
    slowed = [kernel.slowed["verdict"] for kernel in kernels if kernel.slowed]
    if arguments.json:
        arguments.json.write_text(json.dumps({kernel.name: {"recorded": kernel.timing, "replays": kernel.replays, "added": kernel.added, "slowed": kernel.slowed}
                                              for kernel in kernels}))
    print(f"{len(replays)} replays: {accused} SLOWER or WRONG, {excused} of a slower machine; of {len(slowed)} kernels made "
          f"{arguments.slower:g}% slower {slowed.count('SLOWER')} found; {left} left out or failed, {time.monotonic() - started:.0f} s")
    evidence.keep("replays", [[evidence.card().get("device", "no GPU"), len(replays), accused, f"{slowed.count('SLOWER')} of {len(slowed)}"]],
                  by_row=True, device=None)
    return 1 if accused or left or not replays or slowed.count("SLOWER") < 0.95 * len(slowed) else 0


if __name__ == "__main__":
    sys.exit(main())
