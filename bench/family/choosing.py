#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long an exported header takes to choose a configuration: the tree's walk, and whether what it says can be launched. Needs
no GPU, but a C compiler.

    bench/family/choosing.py [KERNEL [--cache FILE | --recorded PATH]] [--sizes N]

Sizes are drawn evenly by their logarithms, as `beside.py` does; told is the least of 15 passes over them, in nanoseconds a call,
once with a different size at each call (the branches of the tree are not foreseen), once with the same for 1000 calls."""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile

from beside import evidence, KERNELS, ROOT, draw_value, program

RECORDED = os.path.join(ROOT, "cache", "recorded", "nvidia-h200", "families")

SOURCE = """
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>
#include "tuned.h"

static const struct hone_@k@_problem sizes[] = {
#include "sizes.h"
};
enum { COUNT = sizeof sizes / sizeof *sizes, PASSES = 15, SAME = 1000 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The next size waits for what was chosen for the last, as a launch does. */
static double pass(int same)
{
    int sure, sum = 0;
    double began = now_ns();
    for (int i = 0; i < COUNT; i++) {
        struct hone_@k@_problem size = sizes[same ? i / SAME : i];
        size.@v@ += sum >> 30;
        sum += hone_@k@_choose(size, &sure) + sure;
    }
    double each = (now_ns() - began) / COUNT;
    return sum < 0 ? -1 : each;
}

int main(void)
{
    for (int same = 0; same < 2; same++) {
        double least = pass(same);
        for (int i = 1; i < PASSES; i++) {
            double own = pass(same);
            least = own < least ? own : least;
        }
        printf("%s %.1f ns", same ? "; the same:" : "hone_@k@_choose: different sizes", least);
    }
    printf(" (%d sizes, %d configurations)\\n", COUNT, HONE_@K@_FAMILY_COUNT);
    return 0;
}
"""


def in_c(kernel, name, value):
    """Words are numbers with a name."""
    return f"HONE_{kernel.upper()}_{name}_{value}" if isinstance(value, str) else value


def write_sizes(kernel, count, path):
    ranges, fixed, fits = KERNELS[kernel]
    source = random.Random(kernel)
    with open(path, "w") as file:
        while count > 0:
            problem = {**fixed, **{name: draw_value(source, values) for name, values in ranges.items()}}
            if fits(problem):
                print("{" + ", ".join(f".{name} = {in_c(kernel, name, value)}" for name, value in problem.items()) + "},", file=file)
                count -= 1


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("kernel", nargs="?", default="sgemm", choices=[name for name in KERNELS if name != "sgemm_blas"])
    parser.add_argument("--cache")
    parser.add_argument("--recorded", default=RECORDED)
    parser.add_argument("--sizes", type=int, default=20000)
    options = parser.parse_args()
    kernel = options.kernel
    results = ["--cache", options.cache] if options.cache else ["--recorded", options.recorded]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program("hone", "tuner"), "export", kernel, *results, "-o", f"{folder}/tuned.h"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        write_sizes(kernel, options.sizes, f"{folder}/sizes.h")
        value = next(iter(KERNELS[kernel][0]))
        with open(f"{folder}/choosing.c", "w") as file:
            file.write(SOURCE.replace("@k@", kernel).replace("@K@", kernel.upper()).replace("@v@", value))
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-std=c11", "-w", "-o", f"{folder}/choosing", f"{folder}/choosing.c", "-lm"],
                       check=True)
        done = subprocess.run([f"{folder}/choosing"], stdout=subprocess.PIPE, text=True, check=True)
    print(done.stdout, end="")
    other, same, _, configurations = re.findall(r"[\d.]+", done.stdout)
    evidence.keep("choosing", [[f"`{kernel}`, {configurations} configurations", f"{float(other):.0f} ns", f"{float(same):.0f} ns"]], by_row=True, **evidence.no_gpu())
    return 0


if __name__ == "__main__":
    sys.exit(main())
