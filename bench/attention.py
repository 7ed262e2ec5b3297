#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tuned attention beside PyTorch's scaled_dot_product_attention, with cuDNN and with its own FlashAttention, in pairs.

    bench/attention.py CACHE|RECORDING... [--rounds N]

Measured as paired.py says. Exit code 1 where results differ, 77 without a GPU or PyTorch."""

import sys

sys.dont_write_bytecode = True
from paired import TYPES, Bench, main, median_of, ratio_of  # noqa: E402


class Attention(Bench):
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
            ratio = ratio_of(times["tuned"], times[name])
            ours, theirs = median_of(times["tuned"])[1], median_of(times[name])[1]
            if name == "cuDNN":
                self.rows.append([" x ".join(map(str, shape[1:])) + (", causal" if causal else ""), f"{ours:.1f}", f"{theirs:.1f}", f"{1 / ratio[1]:.3f}"])
            print(f"attention {shape[1]}x{shape[2]}x{shape[3]}{' causal' if causal else ''}: tuned {ours:.1f} us, {flops / ours / 1e6:.0f} TFLOP/s | "
                  f"{name} {theirs:.1f} us | ratio {ratio[1]:.4f} [{ratio[0]:.4f}, {ratio[2]:.4f}], results differ by {differs:.1e} of the largest",
                  flush=True)
        return differs < 2e-2


if __name__ == "__main__":
    sys.exit(main("attention", __doc__, Attention))
