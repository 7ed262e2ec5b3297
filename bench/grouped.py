#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tuned products of groups beside a loop of cublasLt and beside PyTorch's grouped product, in pairs.

    bench/grouped.py CACHE|RECORDING... [--rounds N]

Measured as paired.py says. The loop is a graph, so that launches cost the host nothing, and takes for each group the fastest
algorithm of those that cublasLt's heuristics propose; it is in the library of bench/family. The groups' sizes are others than those
that were tuned with. Exit code 1 where results differ, 77 without a GPU or PyTorch."""

import ctypes
import random
import sys

sys.dont_write_bytecode = True
from paired import ROOT, Bench, evidence, main, median_of, ratio_of  # noqa: E402


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


class Grouped(Bench):
    def __init__(self, torch, rounds):
        super().__init__(torch, rounds)
        self.loop = Loop()
        random.seed(44)

    def peer(self):
        return f"cublasLt {self.loop.version()}"

    def means(self):
        means = [evidence.mean([float(speed) for speed in speeds]) for speeds in list(zip(*self.rows))[2:]]
        print("geometric means: " + ", ".join(f"{mean:.3f}" for mean in means))
        return [[f"mean of {len(self.rows)}", "", *(f"**{mean:.3f}**" for mean in means)]]

    def compare(self, kernel, problem):
        """Prints a line; whether all results agree."""
        torch = self.torch
        g, m, n, k = (problem[name] for name in "GMNK")
        A, B = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for shape in ((m, k), (g, n, k)))
        C, of_loop = (torch.zeros((m, n), device="cuda", dtype=torch.bfloat16) for _ in range(2))
        offsets = torch.tensor(draw_offsets(g, m), dtype=torch.int32, device="cuda")
        ends, columns, results = offsets[1:].contiguous(), B.transpose(1, 2), {}
        product = getattr(torch.nn.functional, "grouped_mm", None) or torch._grouped_mm  # PyTorch 2.10, 2.8
        torch.cuda.synchronize()
        self.loop.set(A, B, of_loop, offsets)

        def grouped_mm():
            results["PyTorch"] = product(A, columns, offs=ends)

        calls = {"tuned": lambda: kernel(None, A, B, C, offsets), "cublasLt": self.loop, "PyTorch": grouped_mm}
        for call in calls.values():
            call()
        torch.cuda.synchronize()
        largest = of_loop.float().abs().max().item()
        differs = max((C.float() - other.float()).abs().max().item() for other in (of_loop, results["PyTorch"])) / largest
        times = self.measure(calls)
        speed = {name: ratio_of(times[name], times["tuned"]) for name in list(calls)[1:]}
        ours = median_of(times["tuned"])[1]
        self.rows.append([f"{g}: {m}x{n}x{k}", f"{ours:.1f}", *(f"{ratio[1]:.3f}" for ratio in speed.values())])
        print(f"grouped {g} {m}x{n}x{k}: tuned {ours:.1f} us, {2 * m * n * k / ours / 1e6:.0f} TFLOP/s | " +
              " | ".join(f"{name} {median_of(times[name])[1]:.1f} us, times as fast {low:.3f} [{least:.3f}, {most:.3f}]"
                         for name, (least, low, most) in speed.items()) + f" | results differ by {differs:.1e} of the largest", flush=True)
        return differs < 1e-2


if __name__ == "__main__":
    sys.exit(main("grouped", __doc__, Grouped))
