#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tuned attention beside PyTorch's scaled_dot_product_attention, with cuDNN and with its own FlashAttention, in pairs.

    bench/attention.py CACHE|RECORDING... [--rounds N]

The kernels are what libhone finds in the cache, or in the recordings, for each problem that was tuned there. In each round all are
launched once, in an order that alternates, each with a cold L2 cache and queued behind a kernel that waits, so that what a call costs
the host is in no time. Told are medians, and of the rounds' ratios of the tuned time to the other's the median with its 95% interval.
Results are compared first; exit code 1 where they differ, 77 without a GPU or PyTorch."""

import argparse
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
for variable, names in (("HONE_COMMAND", ["build/tuner/hone", "bin/hone"]),  # the latter of a bundle
                        ("HONE_LIBRARY", ["build/runtime/libhone/libhone.so*", "bin/libhone.so*"])):
    found = [str(path) for name in names for path in sorted(ROOT.glob(name))]
    if variable not in os.environ and found:
        os.environ[variable] = found[0]
sys.path[:0] = [str(ROOT / "python" / "src"), str(ROOT / "bench")]
import evidence  # noqa: E402

TYPES = {"__nv_bfloat16": "bfloat16", "half": "float16"}


def run_hone(*arguments):
    result = subprocess.run([os.environ["HONE_COMMAND"], *map(str, arguments)], text=True, capture_output=True)
    if result.returncode != 0:
        sys.exit(f"bench/attention.py: {result.stderr.strip()}")
    return result.stdout


def open_cache(paths, folder):
    """A cache with all of them: the only one itself, or what recordings hold."""
    if len(paths) == 1 and paths[0].suffix == ".db":
        return paths[0]
    run_hone("cache", "import", *paths, "--cache", folder / "hone.db")
    return folder / "hone.db"


def median_of(values):
    """With the order statistics that bound it at 95%."""
    values, reach = sorted(values), 0.98 * math.sqrt(len(values))
    middle = (len(values) - 1) / 2
    return [values[int(max(0, min(len(values) - 1, at)))] for at in (middle - reach, middle, math.ceil(middle + reach))]


class Bench:
    def __init__(self, torch, rounds):
        self.torch, self.rounds = torch, rounds
        self.rows = []
        self.flushed = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")

    def time(self, call):
        """Microseconds."""
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.flushed.zero_()
        self.torch.cuda._sleep(1_000_000)  # cycles: longer than a call takes the host
        start.record()
        call()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1000

    def measure(self, calls):
        """Of each name the times, a round each."""
        times = {name: [] for name in calls}
        for turn in range(-3, self.rounds):
            for name in list(calls) if turn % 2 else reversed(list(calls)):
                taken = self.time(calls[name])
                if turn >= 0:
                    times[name].append(taken)
        return times

    def compare(self, kernel, problem):
        """Prints a line for each backend; whether all results agree."""
        torch, attention = self.torch, self.torch.nn.functional.scaled_dot_product_attention
        from torch.nn.attention import SDPBackend, sdpa_kernel
        shape, causal = (1, problem["HEADS"], problem["LENGTH"], problem["WIDTH"]), bool(problem["CAUSAL"])
        q, k, v = (torch.randn(shape, device="cuda", dtype=getattr(torch, TYPES[problem["TYPE"]])) for _ in range(3))
        out, results = torch.empty_like(q), {}

        def beside(name, backend):
            with sdpa_kernel(backend):
                results[name] = attention(q, k, v, is_causal=causal)

        calls = {"tuned": lambda: kernel(None, q, k, v, out),
                 "cuDNN": lambda: beside("cuDNN", SDPBackend.CUDNN_ATTENTION),
                 "FlashAttention": lambda: beside("FlashAttention", SDPBackend.FLASH_ATTENTION)}
        for call in calls.values():
            call()
        largest = results["FlashAttention"].float().abs().max().item()
        differs = max((out - other).float().abs().max().item() for other in results.values()) / largest
        times = self.measure(calls)
        flops = 2 * problem["HEADS"] * problem["WIDTH"] * (problem["LENGTH"] + 1 if causal else 2 * problem["LENGTH"]) * problem["LENGTH"]
        for name in list(calls)[1:]:
            ratio = median_of([a / b for a, b in zip(times["tuned"], times[name])])
            ours, theirs = median_of(times["tuned"])[1], median_of(times[name])[1]
            if name == "cuDNN":
                self.rows.append([" x ".join(map(str, shape[1:])) + (", causal" if causal else ""), f"{ours:.1f}", f"{theirs:.1f}", f"{1 / ratio[1]:.3f}"])
            print(f"attention {shape[1]}x{shape[2]}x{shape[3]}{' causal' if causal else ''}: tuned {ours:.1f} us, {flops / ours / 1e6:.0f} TFLOP/s | "
                  f"{name} {theirs:.1f} us | ratio {ratio[1]:.4f} [{ratio[0]:.4f}, {ratio[2]:.4f}], results differ by {differs:.1e} of the largest",
                  flush=True)
        return differs < 2e-2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=41)
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("bench/attention.py: SKIPPED: there is no PyTorch", file=sys.stderr)
        return 77
    import torch
    if not torch.cuda.is_available():
        print("bench/attention.py: SKIPPED: PyTorch finds no GPU", file=sys.stderr)
        return 77
    import hone
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    bench, agree = Bench(torch, arguments.rounds), True
    with tempfile.TemporaryDirectory() as folder:
        path = open_cache(arguments.results, pathlib.Path(folder))
        problems = [tuning["problem"] for tuning in json.loads(run_hone("cache", "list", "--json", "--cache", path))["tunings"]
                    if tuning["kernel"] == "attention"]
        with hone.Cache(str(path)) as cache:
            for problem in problems:
                agree = bench.compare(cache.kernel_for("attention", problem, trust=True), problem) and agree
            torch.cuda.synchronize()
    evidence.keep("attention", bench.rows)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
