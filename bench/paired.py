# SPDX-License-Identifier: MIT
"""Tuned kernels beside PyTorch's and others' calls, in pairs: what attention.py, decode.py and grouped.py share.

The kernels are what libhone finds in the cache, or in the recordings, for each problem that was tuned there. In each round all are
launched once, in an order that alternates, each with a cold L2 cache and queued behind a kernel that waits, so that what a call costs
the host is in no time. Told are medians, and of the rounds' ratios the median with its 95% interval. Results are compared first."""

import argparse
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
for variable, names in (("HONE_COMMAND", ["build/tuner/hone", "bin/hone"]),  # the latter of a bundle
                        ("HONE_LIBRARY", ["build/runtime/libhone/libhone.so*", "bin/libhone.so*"])):
    found = [str(path) for name in names for path in sorted(ROOT.glob(name))]
    if variable not in os.environ and found:
        os.environ[variable] = found[0]
sys.path[:0] = [str(ROOT / "python" / "src"), str(ROOT / "bench")]
import evidence  # noqa: E402

TYPES = {"__nv_bfloat16": "bfloat16", "half": "float16"}


def run_hone(*arguments):
    result = subprocess.run([os.environ["HONE_COMMAND"], *map(str, arguments)], text=True, capture_output=True)
    if result.returncode != 0:
        sys.exit(f"hone {arguments[0]}: {result.stderr.strip()}")
    return result.stdout


def open_cache(paths, folder):
    """A cache with all of them: the only one itself, or what recordings hold."""
    if len(paths) == 1 and paths[0].suffix == ".db":
        return paths[0]
    run_hone("cache", "import", *paths, "--cache", folder / "hone.db")
    return folder / "hone.db"


def median_of(values):
    """With the order statistics that bound it at 95%."""
    values, reach = sorted(values), 0.98 * math.sqrt(len(values))
    middle = (len(values) - 1) / 2
    return [values[int(max(0, min(len(values) - 1, at)))] for at in (middle - reach, middle, math.ceil(middle + reach))]


def ratio_of(times, others):
    """The median ratio of their rounds, with its bounds."""
    return median_of([a / b for a, b in zip(times, others)])


class Bench:
    """Of a kernel, `rows` for the figures. A subclass compares one problem, and says whether all results agree."""

    def __init__(self, torch, rounds):
        self.torch, self.rounds = torch, rounds
        self.rows = []
        self.flushed = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")

    def peer(self):
        return f"cuDNN {self.torch.backends.cudnn.version()}"

    def takes(self, problem):
        return True

    def means(self):
        """Rows below all others."""
        return []

    def time(self, call):
        """Microseconds."""
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.flushed.zero_()
        self.torch.cuda._sleep(1_000_000)  # cycles: longer than a call takes the host
        start.record()
        call()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1000

    def measure(self, calls):
        """Of each name the times, a round each."""
        times = {name: [] for name in calls}
        for turn in range(-3, self.rounds):
            for name in list(calls) if turn % 2 else reversed(list(calls)):
                taken = self.time(calls[name])
                if turn >= 0:
                    times[name].append(taken)
        return times


def main(kernel, about, make):
    """Exit code 1 where results differ, 77 without a GPU or PyTorch."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=41)
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print(f"bench/{kernel}.py: SKIPPED: there is no PyTorch", file=sys.stderr)
        return 77
    import torch
    if not torch.cuda.is_available():
        print(f"bench/{kernel}.py: SKIPPED: PyTorch finds no GPU", file=sys.stderr)
        return 77
    import hone
    bench, agree = make(torch, arguments.rounds), True
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {bench.peer()}")
    with tempfile.TemporaryDirectory() as folder:
        path = open_cache(arguments.results, pathlib.Path(folder))
        tunings = json.loads(run_hone("cache", "list", "--json", "--cache", path))["tunings"]
        with hone.Cache(str(path)) as cache:
            for problem in [tuning["problem"] for tuning in tunings if tuning["kernel"] == kernel]:
                if bench.takes(problem):
                    agree = bench.compare(cache.kernel_for(kernel, problem, trust=True), problem) and agree
            torch.cuda.synchronize()
    if bench.rows:
        evidence.keep(kernel, [*bench.rows, *bench.means()])
    return 0 if agree else 1
