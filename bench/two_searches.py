#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a change of the search gains: two builds search the same kernels for the same time from an empty cache with the same seeds, one
after the other.

    bench/two_searches.py OLD NEW [--seconds S] [--seeds N] [--known NAME=US]... [--log FILE] CONFIG[:NAME=VALUE,...]...

OLD and NEW are `hone` programs. Prints for each search the points that were finished, also a second, the best time and when a point
within 5% of the best known was finished, in seconds since the command began. The best known is the best of all searches of the config,
or --known where that is less. A search that does not get there counts as twice its time, and no point as one. At the end the geometric means of
the ratios, new to old.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import evidence

WITHIN = 1.05
UNFINISHED = ("compile_stopped", "unfinished")


class Search:
    """What was finished when, as the events of a tune tell it."""

    def __init__(self, name, log):
        self.name, self.log = name, log
        self.finished = {}  # by point: seconds
        self.times = []  # (seconds, microseconds) of what was measured in full
        self.elapsed = 0.0
        self.said = ""

    def note(self, line, seconds):
        event = json.loads(line)
        if event["event"] != "record":
            return
        record = event["record"]
        if self.log:
            json.dump({"search": self.name, "seconds": seconds, "outcome": record["outcome"], "costs": record["costs"],
                       "median_us": record["timing"]["median_us"] if record.get("timing") else None}, self.log)
            print(file=self.log, flush=True)
        if record["outcome"] not in UNFINISHED:
            self.finished.setdefault(json.dumps(record["point"], sort_keys=True), seconds)
        if record["outcome"] == "ok":
            self.times.append((seconds, record["timing"]["median_us"]))

    def best(self):
        return min((us for _, us in self.times), default=math.inf)

    def reached(self, bound):
        return min((seconds for seconds, us in self.times if us <= bound), default=None)


def listen(path, search, begun):
    with open(path) as events:
        for line in events:
            search.note(line, time.monotonic() - begun)


def tune(search, program, config, problem, seconds, seed):
    with tempfile.TemporaryDirectory() as folder:
        pipe = os.path.join(folder, "events")
        os.mkfifo(pipe)
        command = [program, "tune", config, "--quiet", "--seed", str(seed), "--budget", f"{seconds:g}s", "--stop-chance", "0",
                   "--events", pipe]
        command += [word for value in problem for word in ("-p", value)]
        begun = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env=os.environ | {"HONE_CACHE": os.path.join(folder, "cache.db")})
        reader = threading.Thread(target=listen, args=(pipe, search, begun), daemon=True)
        reader.start()
        search.said, _ = process.communicate(timeout=4 * seconds + 30)
        search.elapsed = time.monotonic() - begun
        reader.join(timeout=2)
    if process.returncode != 0:
        print(f"{' '.join(command)}: exit code {process.returncode}: {search.said}", file=sys.stderr)
    return search


def show(which, seed, search, bound):
    reached = search.reached(bound)
    finished = len(search.finished)
    held = next((line for line in search.said.splitlines() if "held" in line or "waited" in line), "")
    print(f"  {which} seed {seed}: {finished:4} points, {finished / search.elapsed:6.2f}/s, ended after {search.elapsed:5.2f} s, "
          f"best {search.best():.1f} us, within 5% after {'-' if reached is None else f'{reached:.2f} s'}  {held.strip()}", flush=True)


def compare(words, arguments, known, rows):
    """The ratios; rows, for docs/figures.json, get one more."""
    config, _, values = words.partition(":")
    name = os.path.basename(config).removesuffix(".yaml") + (f" {values}" if values else "")
    problem = values.split(",") if values else []
    print(name, flush=True)
    searches = []
    for seed in range(1, arguments.seeds + 1):
        for which in ("old", "new") if seed % 2 else ("new", "old"):
            search = Search(f"{name}, {which} seed {seed}", arguments.log)
            tune(search, getattr(arguments, which), config, problem, arguments.seconds, seed)
            searches.append((which, seed, search))
            show(*searches[-1], WITHIN * min(s.best() for _, _, s in searches))
    best = min([s.best() for _, _, s in searches] + [known.get(name.split()[0], math.inf)])
    print(f"  the best known: {best:.1f} us")
    ratios = {}
    for which in ("old", "new"):
        own = [search for side, _, search in searches if side == which]
        rate = statistics.mean(max(len(s.finished), 1) / s.elapsed for s in own)
        reached = [s.reached(WITHIN * best) or 2 * arguments.seconds for s in own]
        ratios[which] = rate, statistics.geometric_mean(reached)
        print(f"  {which}: {rate:.2f} points a second, within 5% after {', '.join(f'{s:.2f}' for s in reached)} s")
        if which == "new":
            rows.append([name, f"{rate:.2f}", f"{', '.join(f'{s.best():.1f}' for s in own)} us"])
            evidence.keep("slow-compilers", rows)
    print(f"  new to old: points a second {ratios['new'][0] / ratios['old'][0]:.2f}, time to 5% {ratios['new'][1] / ratios['old'][1]:.2f}",
          flush=True)
    return ratios["new"][0] / ratios["old"][0], ratios["new"][1] / ratios["old"][1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("configs", nargs="+")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--log", type=argparse.FileType("w"), metavar="FILE", help="a JSON line for each record")
    parser.add_argument("--known", action="append", default=[], metavar="NAME=US")
    arguments = parser.parse_intermixed_args()
    known = {name: float(us) for name, _, us in (pair.partition("=") for pair in arguments.known)}
    rows = []
    ratios = [compare(config, arguments, known, rows) for config in arguments.configs]
    means = [statistics.geometric_mean(column) for column in zip(*ratios)]
    print(f"geometric means, new to old: points a second {means[0]:.2f}, time to 5% {means[1]:.2f}")


if __name__ == "__main__":
    main()
