#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `hone capture` costs launches that it passes on: nanoseconds of the thread in cuLaunchKernel in a program of its own that launches kernels in
turn, alone and captured, in turns. The driver is a stub that does nothing, so that needs no GPU, and all that is left is the call.

    captured.py [ROUNDS]

Takes hone from $HONE or the build, and needs a C compiler."""

import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import evidence  # noqa: E402

HONE = os.environ.get("HONE", str(ROOT / "build" / "tuner" / "hone"))
KERNELS = 1, 100, 2000
# Of all functions that Hone may look for; their types say nothing to a caller that wants success alone.
STUB = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#define X(name) int name(void) { return 0; }
%s
int cuFuncGetName(const char **name, void *function) { (void)function; *name = "other"; return 0; }
"""
PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}
int main(int argc, char **argv)
{
    enum { LAUNCHES = 1000000 };
    int kernels = argc > 1 ? atoi(argv[1]) : 1, number = 0;
    void **functions = malloc(kernels * sizeof *functions), *parameters[] = {&number};
    double begin = 0;
    for (int i = 0; i < kernels; i++)
        functions[i] = malloc(400);
    for (int i = -LAUNCHES / 10, k = 0; i < LAUNCHES; i++, k = k + 1 < kernels ? k + 1 : 0) {
        if (i == 0)
            begin = now_ns();
        cuLaunchKernel(functions[k], 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
    }
    printf("%f\\n", (now_ns() - begin) / LAUNCHES);
}
"""


def build(folder):
    """The program and the stub that it is linked with."""
    names = set(re.findall(r"\b(cu[A-Z]\w+)", (ROOT / "runtime" / "device" / "driver.h").read_text())) - {"cuFuncGetName"}
    names = {name + end for name in names for end in ("", "_v2", "_v3", "WithFlags")}  # as cuda.h renames them
    (folder / "stub.c").write_text(STUB % "\n".join(f"X({name})" for name in sorted(names)))
    (folder / "program.c").write_text(PROGRAM)
    compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None) or sys.exit("captured.py: there is no C compiler")
    stub = folder / "libcuda.so.1"
    subprocess.run([compiler, "-O2", "-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", folder / "stub.c", "-o", stub], check=True)
    subprocess.run([compiler, "-O2", folder / "program.c", stub, "-o", folder / "program"], check=True)
    return folder / "program"


def main(rounds=9):
    found = {kernels: ([], []) for kernels in KERNELS}
    with tempfile.TemporaryDirectory() as folder:
        program = build(pathlib.Path(folder))
        for _ in range(int(rounds)):
            for kernels, times in found.items():
                for before, ns in zip(([], [HONE, "capture", "--kernel", "scale", "--"]), times):
                    told = subprocess.run([*before, program, str(kernels)], cwd=folder, text=True, capture_output=True,
                                          env={**os.environ, "LD_LIBRARY_PATH": folder})
                    if told.returncode != (3 if before else 0) or not told.stdout:
                        sys.exit(f"captured.py: {told.stdout}{told.stderr}")
                    ns.append(float(told.stdout))
    rows = [[f"{kernels:,}", *(f"{statistics.median(ns):.1f} ns" for ns in times)] for kernels, times in found.items()]
    for row in rows:
        print("{:>6} kernels in turn: a launch {}, captured {}".format(*row))
    evidence.keep("captured", rows, **evidence.no_gpu())
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
