#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lines that `bench/run bgemm` printed, as the Markdown table of docs/catalogue.md.

    bench/run --recorded cache/recorded/nvidia-h200 bgemm | tee lines.txt
    bench/bgemm_table.py lines.txt [DEVICE (NVIDIA H200)]

`of the roof` is a share of what cache/recorded/roofs.json says that the device does at best: of its tensor cores or of its memory,
whichever the product is nearer to. Of a device that is not there, TFLOP/s and GB/s are told."""

import json
import math
import pathlib
import re
import sys

ROOFS = pathlib.Path(__file__).resolve().parent.parent / "cache" / "recorded" / "roofs.json"
LINE = re.compile(r"bgemm(_fp8)? (\d+)x(\d+)x(\d+)[tn] +cublasLt, best of \d+(, warm)? +[\d.]+ us.*tuned +([\d.]+) us +(\d+) GB/s, +(\d+) MHz \| ratio ([\d.]+)")


def rows_of(lines):
    """Of each shape: the tuned time, bandwidth and clock, cold, and how many times as fast it is, cold and warm."""
    rows = {}
    for line in lines:
        if found := LINE.match(line):
            fp8, m, n, k, warm, *figures, ratio = found.groups()
            row = rows.setdefault((bool(fp8), int(m), int(n), int(k)), {})
            row["warm" if warm else "cold"] = 1 / float(ratio)
            if not warm:
                row["us"], row["gb_per_s"], row["mhz"] = map(float, figures)
    return rows


def of_roof(shape, row, roofs):
    fp8, m, n, k = shape
    kind, gflops = "fp8" if fp8 else "bf16", 2e-3 * m * n * k / row["us"]
    if roofs is None:
        return f"{gflops / 1000:.0f} TFLOP/s, {row['gb_per_s']:.0f} GB/s"
    shares = {kind.upper(): gflops / roofs["tensor"][kind]["gflops"], "copy": row["gb_per_s"] / roofs["copy_gb_per_s"]}
    nearer = max(shares, key=shares.get)
    return f"{100 * shares[nearer]:.0f}% {nearer}"


def table(rows, roofs):
    yield f"| M x N x K | tuned, cold | clock behind it | {'of the roof' if roofs else 'rate'} | times as fast as cublasLt's best, cold | warm |"
    yield "|---|---|---|---|---|---|"
    for shape, row in rows.items():
        name = f"{shape[1]} x {shape[2]} x {shape[3]}{', e4m3' if shape[0] else ''}"
        yield f"| {name} | {row['us']:.1f} us | {row['mhz']:.0f} MHz | {of_roof(shape, row, roofs)} | {row['cold']:.3f} | {row['warm']:.3f} |"
    plain = [row for shape, row in rows.items() if not shape[0]]
    cold, warm = (math.exp(sum(math.log(row[which]) for row in plain) / len(plain)) for which in ("cold", "warm"))
    yield f"| geometric mean of {len(plain)} | | | | **{cold:.3f}** | **{warm:.3f}** |"


if __name__ == "__main__":
    device = sys.argv[2] if len(sys.argv) > 2 else "NVIDIA H200"
    known = {entry["name"]: entry["roofs"] for entry in json.loads(ROOFS.read_text())["devices"]}
    with open(sys.argv[1], encoding="utf-8") as file:
        print("\n".join(table(rows_of(file), known.get(device))))
