#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lines that `bench/run sgemm` printed, as the Markdown table of docs/catalogue.md.

    bench/run --recorded cache/recorded/nvidia-h200 sgemm | tee lines.txt
    bench/sgemm_table.py lines.txt
"""

import re
import sys

COMPARED = re.compile(r"sgemm (\d+)x(\d+)x(\d+) +(.*?) +([\d.]+) us.*tuned +([\d.]+) us.*ratio ([\d.]+) \[([\d.]+), ([\d.]+)\], "
                      r"at most ([\d.]+): (\w+)")
ERRORS = re.compile(r"sgemm (\S+) +error, of max \|C\|: tuned (\S+), cublasSgemm (\S+), cublasLt (\S+)")


def rows_of(lines):
    """Of each shape: its comparisons, the one with cublasSgemm first, and its errors."""
    rows = {}
    for line in lines:
        if found := COMPARED.match(line):
            m, n, k, peer, theirs, tuned, *ratio, most, verdict = found.groups()
            rows.setdefault((int(m), int(n), int(k)), {"errors": "", "peers": []})["peers"].append(
                (peer, float(theirs), float(tuned), [1 / float(r) for r in ratio], 1 / float(most), verdict))
        elif found := ERRORS.match(line):
            shape, *errors = found.groups()
            rows.setdefault(tuple(map(int, shape.split("x"))), {"peers": []})["errors"] = ", ".join(errors)
    return rows


def table(rows):
    yield ("| M x N x K | tuned | TFLOP/s | cublasSgemm | times as fast | goal | cublasLt's best | times as fast | "
           "errors: tuned, cublasSgemm, cublasLt |")
    yield "|---|---|---|---|---|---|---|---|---|"
    for (m, n, k), row in rows.items():
        (_, blas, tuned, (speed, most, least), goal, verdict), (_, lt, _, (lt_speed, *_), *_) = row["peers"]
        yield (f"| {m} x {n} x {k} | {tuned:.1f} us | {2 * m * n * k / tuned / 1e6:.1f} | {blas:.1f} us | "
               f"{speed:.3f} [{least:.3f}, {most:.3f}] | {goal:.2f}{'' if verdict == 'met' else ', missed'} | {lt:.1f} us | "
               f"{lt_speed:.3f} | {row['errors']} |")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print("\n".join(table(rows_of(file))))
