#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sets the default point of the shipped templates beside what a short search finds, at the ends and in the middle of their
families: what a program gets that nobody tuned for.

    bench/family/defaults.py [KERNEL...] [--each SECONDS] [--at-once N] [--out FILE]

Prints a line for each size, and the worst of each kernel. Exit code 1 where a default point takes more than 3 times as long."""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST = 3
LENGTHS = [{"SIZE": size} for size in (1, 1000, 1000003, 1 << 27)]
PRODUCTS = [dict(zip("MNK", sizes)) for sizes in (
    (1, 1, 1 << 20), (2, 12000, 3000), (12000, 2, 3000), (13, 15, 17), (8192, 8192, 2), (97, 1342, 2829), (64, 64, 250000),
    (3072, 10, 22976), (3000, 3000, 3000))]
SIZES = {
    "copy": LENGTHS, "reduce": LENGTHS, "dot": LENGTHS, "compact": [{**size, "KEEP": 0.5} for size in LENGTHS],
    "histogram": [{**size, "BINS": 256, "SKEW": 0.0, "VALUE_BYTES": 1} for size in LENGTHS],
    "stencil_1d": [{**size, "RADIUS": 8} for size in LENGTHS],
    "read_only": [{"SIZE": size, "PATTERN": pattern} for size in (1, 1000, 1 << 26) for pattern in ("sequential", "random")],
    "heat_2d": [{"WIDTH": w, "HEIGHT": h, "STEPS": 2} for w, h in ((1, 65536), (65536, 1), (7, 9), (1000, 1000), (8192, 8192))],
    "matmul": [{"M": m, "N": n, "K": k, "B_LAYOUT": "row"} for m, n, k in (
        (1, 16384, 32), (16384, 1, 32), (16, 16, 4096), (1000, 1000, 4096), (4096, 4096, 32))],
    "matmul_aat": [{"M": m, "K": k} for m, k in ((1, 32), (100, 256), (4096, 256))],
    "transpose": [{"ROWS": r, "COLUMNS": c} for r, c in (
        (1, 1), (1, 1000000), (1000000, 8), (20, 1000000), (4099, 5003), (8192, 8192))],
    "sgemm": PRODUCTS,
    "sgemm_blas": [{**size, "TRANS_A": a, "TRANS_B": b, "GAP_A": 0, "GAP_B": 0, "GAP_C": 0, "ALPHA": 1.0, "BETA": 0.0}
                   for size, a, b in zip(PRODUCTS, "nntntntnn", "ntnttnntt")],
    "bgemm": [{"M": m, "N": n, "K": k, "TRANS_B": "t", "TYPE": "__nv_bfloat16", "OUT": "__nv_bfloat16", "ALPHA": 1.0, "BETA": 0.0,
               "BIAS": "none"} for m, n, k in ((1, 8, 32768), (1, 16384, 4096), (16384, 8, 4096), (200, 200, 200), (600, 64, 2048), (6000, 6000, 64))],
}


def hone(*arguments):
    program = os.environ.get("HONE", os.path.join(ROOT, "bin", "hone"))
    program = program if os.path.exists(program) else os.path.join(ROOT, "build", "tuner", "hone")
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def best_of(kernel, problem, each):
    """Microseconds of the default point, and of the best of a search."""
    config = os.path.join(ROOT, "configs", kernel + ".yaml")
    values = [word for name, value in problem.items() for word in ("-p", f"{name}={value}")]
    own = hone("run", config, *values, "--json")
    tuned = hone("tune", config, *values, "--budget", f"{each}s", "--json", "--quiet")
    try:
        own_us = json.loads(own.stdout)["problems"][0]["times"]["variant"]["median_us"]
        return own_us, min(own_us, json.loads(tuned.stdout)[0]["best"]["timing"]["median_us"])
    except (ValueError, KeyError, TypeError, IndexError):
        return None, (own.stderr + own.stdout + tuned.stderr).strip()[-300:]


def measure(kernels, options):
    sizes = [(kernel, problem) for kernel in kernels for problem in SIZES[kernel]]
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        found = pool.map(lambda item: best_of(*item, options.each), sizes)
        for (kernel, problem), (own_us, best_us) in zip(sizes, found):
            text = ",".join(f"{name}={value}" for name, value in problem.items())
            line = {"kernel": kernel, "problem": text, "default_us": own_us, "best_us": best_us}
            if own_us is None:
                print(f"{kernel} {text}: FAILED: {best_us}", flush=True)
            else:
                line["ratio"] = own_us / best_us
                print(f"{kernel} {text}: default {own_us:.4g} us, search {best_us:.4g} us: {line['ratio']:.2f}", flush=True)
            yield line


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--each", type=float, default=2)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--out")
    options = parser.parse_args()
    kernels = options.kernels or list(SIZES)
    lines = list(measure(kernels, options))
    for kernel in kernels:
        ratios = [line["ratio"] for line in lines if line["kernel"] == kernel and "ratio" in line]
        if ratios:
            print(f"| `{kernel}` | {len(ratios)} | {max(ratios):.2f} |")
    if options.out:
        with open(options.out, "w") as file:
            json.dump(lines, file, indent=1)
    return 1 if any(line.get("ratio", MOST + 1) > MOST for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
