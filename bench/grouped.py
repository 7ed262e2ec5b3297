#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tuned products of groups beside a loop of cublasLt and beside PyTorch's grouped product, in pairs, as attention.py measures.

    bench/grouped.py CACHE|RECORDING... [--rounds N]

The loop is a graph, so that launches cost the host nothing, and takes for each group the fastest algorithm of those that cublasLt's
heuristics propose; it is in the library of bench/family. The groups' sizes are others than those that were tuned with. Results are
compared first; exit code 1 where they differ, 77 without a GPU or PyTorch."""

import argparse
import ctypes
import importlib.util
import json
import pathlib
import random
import sys
import tempfile

sys.dont_write_bytecode = True
from attention import ROOT, Bench, evidence, median_of, open_cache, run_hone  # noqa: E402


class Loop:
    """Products one after another, by cublasLt."""

    def __init__(self):
        for name in ("cublas", "cublasLt"):  # PyTorch has loaded them, but not for others
            ctypes.CDLL(f"lib{name}.so.13", mode=ctypes.RTLD_GLOBAL)
        found = [path for path in (ROOT / "build/bench/family/libbench_peers.so", ROOT / "lib/libbench_peers.so") if path.exists()]
        self.library = ctypes.CDLL(str(found[0]))

    def version(self):
        return self.library.peers_lt_version()

    def set(self, A, B, C, offsets):
        addresses = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (A, B, C, offsets)]
        self.library.peers_lt_groups_set(*addresses, *map(ctypes.c_int64, B.shape))

    def __call__(self):
        self.library.peers_lt_groups_run()


def draw_offsets(groups, rows):
    """Ragged: from none to twice the mean."""
    places = [g + random.random() - 0.5 for g in range(1, groups)]
    return [0] + [int(place * rows / groups) for place in places] + [rows]


def compare(bench, kernel, problem, loop):
    """Prints a line; whether all results agree."""
    torch = bench.torch
    g, m, n, k = (problem[name] for name in "GMNK")
    A, B = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in ((m, k), (g, n, k)))
    C, of_loop = (torch.zeros((m, n), device="cuda", dtype=torch.bfloat16) for _ in range(2))
    offsets = torch.tensor(draw_offsets(g, m), dtype=torch.int32, device="cuda")
    ends, columns, results = offsets[1:].contiguous(), B.transpose(1, 2), {}
    product = getattr(torch.nn.functional, "grouped_mm", None) or torch._grouped_mm  # PyTorch 2.10, 2.8
    torch.cuda.synchronize()
    loop.set(A, B, of_loop, offsets)

    def grouped_mm():
        results["PyTorch"] = product(A, columns, offs=ends)

    calls = {"tuned": lambda: kernel(None, A, B, C, offsets), "cublasLt": loop, "PyTorch": grouped_mm}
    for call in calls.values():
        call()
    torch.cuda.synchronize()
    largest = of_loop.float().abs().max().item()
    differs = max((C.float() - other.float()).abs().max().item() for other in (of_loop, results["PyTorch"])) / largest
    times = bench.measure(calls)
    speed = {name: median_of([b / a for a, b in zip(times["tuned"], times[name])]) for name in list(calls)[1:]}
    ours = median_of(times["tuned"])[1]
    bench.rows.append([f"{g}: {m}x{n}x{k}", f"{ours:.1f}", *(f"{ratio[1]:.3f}" for ratio in speed.values())])
    print(f"grouped {g} {m}x{n}x{k}: tuned {ours:.1f} us, {2 * m * n * k / ours / 1e6:.0f} TFLOP/s | " +
          " | ".join(f"{name} {median_of(times[name])[1]:.1f} us, times as fast {low:.3f} [{least:.3f}, {most:.3f}]"
                     for name, (least, low, most) in speed.items()) + f" | results differ by {differs:.1e} of the largest", flush=True)
    return differs < 1e-2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=41)
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("bench/grouped.py: SKIPPED: there is no PyTorch", file=sys.stderr)
        return 77
    import torch
    if not torch.cuda.is_available():
        print("bench/grouped.py: SKIPPED: PyTorch finds no GPU", file=sys.stderr)
        return 77
    import hone
    bench, loop, agree = Bench(torch, arguments.rounds), Loop(), True
    random.seed(44)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cublasLt {loop.version()}")
    with tempfile.TemporaryDirectory() as folder:
        path = open_cache(arguments.results, pathlib.Path(folder))
        with hone.Cache(str(path)) as cache:
            for tuning in json.loads(run_hone("cache", "list", "--json", "--cache", path))["tunings"]:
                if tuning["kernel"] == "grouped":
                    problem = tuning["problem"]
                    agree = compare(bench, cache.kernel_for("grouped", problem, trust=True), problem, loop) and agree
            torch.cuda.synchronize()
    means = [evidence.mean([float(speed) for speed in speeds]) for speeds in list(zip(*bench.rows))[2:]]
    print("geometric means: " + ", ".join(f"{mean:.3f}" for mean in means))
    evidence.keep("grouped", [*bench.rows, [f"mean of {len(bench.rows)}", "", *(f"**{mean:.3f}**" for mean in means)]])
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
