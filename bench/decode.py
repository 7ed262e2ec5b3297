#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tuned attention for decoding beside PyTorch's scaled_dot_product_attention, with FlashAttention and with cuDNN, in pairs.

    bench/decode.py CACHE|RECORDING... [--rounds N]

Measured as paired.py says. FlashAttention shares keys among blocks, and starts a second kernel to put together what they found.
Where sequences have different lengths PyTorch has nothing to compare with; what a backend does not take is left out. Exit code 1
where results differ, 77 without a GPU or PyTorch."""

import sys
import warnings

sys.dont_write_bytecode = True
from paired import TYPES, Bench, evidence, main, median_of, ratio_of  # noqa: E402


class Decode(Bench):
    def __init__(self, torch, rounds):
        super().__init__(torch, rounds)
        self.speeds = {"cuDNN": [], "FlashAttention": []}
        warnings.filterwarnings("ignore")  # of a backend that does not take a problem

    def takes(self, problem):
        return not problem["RAGGED"]

    def means(self):
        cells = [["", f"**{evidence.mean(speeds):.3f}**" if speeds else ""] for speeds in self.speeds.values()]
        return [[f"geometric mean of {len(self.rows)}", "", *sum(cells, [])]]

    def peers(self, q, k, v, length):
        """Calls by name; a few queries are the last ones."""
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.nn.attention.bias import causal_lower_right
        queries, grouped = q.shape[2], q.shape[1] > k.shape[1]
        mask = causal_lower_right(queries, length) if queries > 1 else None

        def call(backend):
            with sdpa_kernel(backend):
                return self.torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=grouped)

        calls = {}
        for name, backend in (("FlashAttention", SDPBackend.FLASH_ATTENTION), ("cuDNN", SDPBackend.CUDNN_ATTENTION)):
            try:
                call(backend)
                calls[name] = lambda backend=backend: call(backend)
            except RuntimeError as problem:
                print(f"  {name} takes no such problem: {str(problem).splitlines()[0][:100]}")
        return calls

    def compare(self, kernel, problem):
        """Prints a line for each backend; whether all results agree."""
        torch, type_ = self.torch, getattr(self.torch, TYPES[problem["TYPE"]])
        batch, heads, group, queries, length, width = (problem[name] for name in ("BATCH", "HEADS", "GROUP", "QUERIES", "LENGTH", "WIDTH"))
        q = torch.randn((batch, heads * group, queries, width), device="cuda", dtype=type_)
        k, v = (torch.randn((batch, heads, length, width), device="cuda", dtype=type_) for _ in range(2))
        out, lengths = torch.empty_like(q), torch.full((batch,), length, device="cuda", dtype=torch.int32)
        calls = {"tuned": lambda: kernel(None, q, k, v, out, lengths), **self.peers(q, k, v, length)}
        results = {name: call() for name, call in calls.items()}
        largest = out.float().abs().max().item()
        differs = max([(out - other).float().abs().max().item() for other in results.values() if other is not None], default=0) / largest
        times = self.measure(calls)
        name = f"{batch} x {heads * group}/{heads} x {length}" + (f", {queries} queries" if queries > 1 else "") + (
            f", width {width}" if width != 128 else "") + (", fp16" if problem["TYPE"] == "half" else "")
        ours = median_of(times["tuned"])[1]
        speed = 4 * batch * heads * width * (length + group * queries) / ours / 1000
        row = [name, f"{ours:.1f}"]
        for peer in ("cuDNN", "FlashAttention"):
            if peer not in calls:
                row += ["", ""]
                continue
            ratio = ratio_of(times["tuned"], times[peer])
            theirs = median_of(times[peer])[1]
            row += [f"{theirs:.1f}", f"{1 / ratio[1]:.3f}"]
            self.speeds[peer].append(1 / ratio[1])
            print(f"decode {name}: tuned {ours:.1f} us, {speed:.0f} GB/s | {peer} {theirs:.1f} us | ratio {ratio[1]:.4f} "
                  f"[{ratio[0]:.4f}, {ratio[2]:.4f}], results differ by {differs:.1e} of the largest", flush=True)
        self.rows.append(row)
        return differs < 2e-2


if __name__ == "__main__":
    sys.exit(main("decode", __doc__, Decode))
