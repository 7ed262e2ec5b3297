# SPDX-License-Identifier: MIT
"""Verifies points of every template on the GPU, at sizes that no tile divides: test_templates.py HONE CONFIGS [KERNEL...]

--products N verifies SGEMM at so many drawn sizes instead (another --seed: others), and sgemm_blas at as many drawn calls;
--set NAME=VALUE,... some of its points."""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

SKIPPED = 77
SOUND = {"ok", "slower", "duplicate", "skipped", "invalid_launch"}
PROBLEMS = {
    "matmul": ["M=1000 N=999 K=33", "M=37 N=36 K=20", "M=1 N=1 K=1", "M=130 N=68 K=96 B_LAYOUT=column",
               "M=61 N=33 K=45 B_LAYOUT=column"],
    "sgemm": ["M=1000 N=999 K=133", "M=130 N=68 K=96", "M=37 N=36 K=20", "M=1 N=1 K=1", "M=3 N=200 K=5100",
              "M=128 N=64 K=20480", "M=5 N=7 K=0", "M=10 N=10 K=100000", "M=1 N=1 K=100000", "M=1000 N=1 K=777",
              "M=1 N=1000 K=777", "M=700 N=3 K=4096", "M=17 N=16 K=1", "M=1003 N=502 K=333", "M=501 N=5 K=1000"],
    "sgemm_blas": ["M=1000 N=996 K=132 TRANS_B=t GAP_A=4 GAP_B=8", "M=131 N=67 K=333 TRANS_A=t TRANS_B=t GAP_A=3 GAP_C=5 ALPHA=0.5 BETA=2.0",
                   "M=12 N=8 K=5120 TRANS_A=t BETA=1.0", "M=5 N=7 K=0 GAP_C=1 BETA=0.5"],
    "bgemm": [f"M={m} N={n} K={k} TRANS_B={trans} TYPE={t} OUT={out} {added}" for plain in ["ALPHA=1.0 BETA=0.0 BIAS=none"]
              for m, n, k, trans, t, out, added in (
                  (1517, 1776, 1032, "t", "__nv_bfloat16", "__nv_bfloat16", plain),
                  (1100, 2056, 1032, "n", "half", "float", "ALPHA=-1.5 BETA=0.0 BIAS=columns"),
                  (17, 4104, 2048, "n", "__nv_bfloat16", "__nv_bfloat16", "ALPHA=0.5 BETA=1.0 BIAS=columns"),
                  (8, 520, 8192, "t", "__nv_bfloat16", "float", plain), (2100, 24, 520, "t", "half", "half", plain),
                  (517, 776, 1040, "t", "__nv_fp8_e4m3", "__nv_bfloat16", plain),
                  (70, 520, 4112, "t", "__nv_fp8_e4m3", "float", "ALPHA=0.25 BETA=1.0 BIAS=columns"),
                  # Short lines.
                  (700, 520, 24, "t", "__nv_bfloat16", "float", "ALPHA=0.5 BETA=1.0 BIAS=columns"),
                  (300, 136, 32, "t", "__nv_fp8_e4m3", "__nv_bfloat16", plain),
                  # Lines are copied: of both, of A, of B.
                  (511, 1023, 2047, "t", "__nv_bfloat16", "__nv_bfloat16", plain),
                  (131, 264, 777, "n", "half", "float", "ALPHA=0.5 BETA=-1.0 BIAS=columns"),
                  (130, 77, 2056, "n", "__nv_bfloat16", "__nv_bfloat16", plain),
                  (1, 1, 1, "t", "half", "half", plain), (5, 8, 0, "n", "half", "half", "ALPHA=1.0 BETA=0.5 BIAS=columns"))],
    "attention": [f"HEADS={heads} LENGTH={length} WIDTH={width} CAUSAL={causal} TYPE={t}" for heads, length, width, causal, t in (
        (3, 517, 128, 0, "__nv_bfloat16"), (2, 1000, 128, 1, "half"), (3, 333, 64, 1, "__nv_bfloat16"), (5, 64, 64, 0, "half"),
        (2, 1, 128, 1, "__nv_bfloat16"))],
    "grouped": [f"G={g} M={m} N={n} K={k}" for g, m, n, k in ((5, 777, 776, 1032), (40, 33, 264, 72), (300, 1300, 136, 264), (3, 1500, 2056, 520),
                                                            (2, 90, 8, 4104), (1, 1, 8, 8))],
    "decode": [f"BATCH={batch} HEADS={heads} GROUP={group} QUERIES={queries} LENGTH={length} RAGGED={ragged} WIDTH={width} TYPE={t}"
               for batch, heads, group, queries, length, ragged, width, t in (
                   (2, 3, 5, 1, 3001, 0, 128, "__nv_bfloat16"), (37, 2, 2, 3, 900, 1, 64, "half"), (1, 1, 17, 1, 20001, 0, 64, "__nv_bfloat16"),
                   (70, 5, 1, 1, 777, 1, 128, "half"), (1, 1, 1, 1, 1, 0, 128, "__nv_bfloat16"), (9, 1, 8, 2, 70, 1, 128, "__nv_bfloat16"))],
    "transpose": ["ROWS=1000 COLUMNS=999", "ROWS=132 COLUMNS=260", "ROWS=1 COLUMNS=1", "ROWS=1001 COLUMNS=1003", "ROWS=1002 COLUMNS=1006",
                  "ROWS=1000003 COLUMNS=3", "ROWS=31 COLUMNS=100001", "ROWS=1 COLUMNS=1000003", "ROWS=2200003 COLUMNS=33"],
    "transpose_tma": ["ROWS=1000 COLUMNS=996", "ROWS=132 COLUMNS=260", "ROWS=4 COLUMNS=4", "ROWS=1000004 COLUMNS=12"],
    "copy": ["SIZE=1000003", "SIZE=1000002", "SIZE=1000001", "SIZE=1000004", "SIZE=1", "SIZE=3"] + [
        f"SIZE=100004 PATTERN={pattern} SIDE={side}" for side in ("load", "store")
        for pattern in ("offset OFFSET=1", "offset OFFSET=8", "stride STRIDE=3", "stride STRIDE=32", "permuted")
    ] + ["SIZE=100003 PATTERN=same"],
    "matmul_aat": ["M=1000 K=33", "M=37 K=20", "M=1 K=1"],
    "reduce": ["SIZE=1000003", "SIZE=5", "SIZE=1", "SIZE=32769"],
    "dot": ["SIZE=1000003", "SIZE=5", "SIZE=1"],
    "stencil_1d": ["SIZE=100004 RADIUS=4", "SIZE=100003 RADIUS=8", "SIZE=7 RADIUS=1", "SIZE=1 RADIUS=8"],
    "read_only": ["SIZE=100003 PATTERN=sequential", "SIZE=100003 PATTERN=random"],
    "struct_layout": [f"WIDTH={width} HEIGHT=5 MEMBERS={members} USED={used}" for width, members, used in
                      ((67, 3, "all"), (64, 7, "all"), (1, 4, "all"), (65, 7, "first"))],
    "async_copy": ["TILE_BYTES=2048", "TILE_BYTES=32768"],
    "spheres": [f"WIDTH=67 HEIGHT=35 SPHERES=64 ACCESS={access}" for access in ("uniform", "divergent")],
    "histogram": ["SIZE=1000003 VALUE_BYTES=1 BINS=256 SKEW=0.5", "SIZE=100003 VALUE_BYTES=2 BINS=2048 SKEW=0.0",
                  "SIZE=777 VALUE_BYTES=1 BINS=64 SKEW=1.0", "SIZE=100003 VALUE_BYTES=2 BINS=8192 SKEW=0.0",
                  "SIZE=1 VALUE_BYTES=1 BINS=256 SKEW=0.0"],
    "atomics": ["SIZE=10003 TARGETS=1", "SIZE=100003 TARGETS=1024"],
    "compact": ["SIZE=1000003 KEEP=0.5", "SIZE=100003 KEEP=0.1", "SIZE=5 KEEP=0.9"],
    "heat_2d": ["WIDTH=1000 HEIGHT=999", "WIDTH=1000 HEIGHT=999 STEPS=8", "WIDTH=1 HEIGHT=1 STEPS=4", "WIDTH=3 HEIGHT=65000"],
    "bank_stride": ["STRIDE=5 WORD=8 WARPS=3", "STRIDE=33 WORD=16 WARPS=32"],
    "occupancy": ["ROWS=100003 LENGTH=64"],
    "pipeline": ["SIZE=1000003 WORK=33", "SIZE=5 WORK=300"],
    "pipeline_stencil": ["WIDTH=1001 HEIGHT=333 RADIUS=8", "WIDTH=3 HEIGHT=33 RADIUS=1", "WIDTH=1 HEIGHT=1 RADIUS=1"],
    "dot_zero_copy": ["SIZE=100003 REUSE=3", "SIZE=5 REUSE=1"],
    "transfer_batch": ["SIZE=100002 PIECES=3", "SIZE=5 PIECES=5"],
    "l2_window": ["STREAM_MIB=64 PERSISTENT_MIB=30", "STREAM_MIB=2 PERSISTENT_MIB=1"],
}


POINTS = {"bgemm": 50, "grouped": 50, "attention": 50, "decode": 30}  # of a problem, where not 100: its points take a second each to compile


def draw_product():
    """Sizes of C = A B, log-uniform; K is 0 at times, and N and K are multiples of 4 in every third."""
    while True:
        m, n, k = (int(2 ** random.uniform(0, most)) for most in (12, 12, 18))
        if random.random() < 1 / 3:
            n, k = -(-n // 4) * 4, -(-k // 4) * 4
        k = 0 if random.random() < 1 / 32 else k
        if m * k + k * n + m * n < 2 ** 26 and m * n * k < 2 ** 34:
            return f"M={m} N={n} K={k}"


def draw_call():
    """A drawn product as BLAS is asked for it."""
    gaps = " ".join(f"GAP_{matrix}={random.choice((0, 0, 4, random.randint(0, 99)))}" for matrix in "ABC")
    return (f"{draw_product()} TRANS_A={random.choice('nt')} TRANS_B={random.choice('nt')} {gaps} ALPHA={random.uniform(-2, 2):.3f} "
            f"BETA={random.choice((0.0, 1.0, -0.5))}")


def tune(hone, config, problem, restriction, points, cache):
    options = [option for value in problem.split() for option in ("-p", value)]
    if restriction:
        options += ["-s", restriction]
    command = [hone, "tune", config, *options, "--strategy", "random", "--budget", str(points), "--json", "--quiet",
               "--cache", cache]
    result = subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=300)
    if result.returncode != 0:
        return f"exit code {result.returncode}: {result.stderr.strip()}"
    document = json.loads(result.stdout)
    bad = []
    for session in document if isinstance(document, list) else [document]:
        if session["outcomes"].get("ok", 0) == 0:
            return f"no variant passed: {session['outcomes']}"
        bad += [f"{r['outcome']}: {r['point']}: {r.get('message')}" for r in session["records"]
                if r["outcome"] not in SOUND]
    return "\n".join(bad[:5]) if bad else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hone")
    parser.add_argument("configs", type=pathlib.Path)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--products", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", default="")
    options = parser.parse_args()
    if subprocess.run([options.hone, "device"], capture_output=True).returncode != 0:
        print("SKIPPED: no GPU here")
        return SKIPPED
    random.seed(options.seed)
    drawn = {"sgemm": draw_product, "sgemm_blas": draw_call}
    all_problems = {kernel: [draw() for _ in range(options.products)] for kernel, draw in drawn.items()} if options.products else PROBLEMS
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for kernel, problems in all_problems.items():
            if options.kernels and kernel not in options.kernels:
                continue
            for problem in problems:
                message = tune(options.hone, str(options.configs / f"{kernel}.yaml"), problem, options.set, POINTS.get(kernel, 100),
                               os.path.join(folder, "hone.db"))
                print(f"{kernel} {problem}: {message or 'ok'}", flush=True)
                failed += message is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
