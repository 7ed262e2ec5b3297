#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Four tuners on one cache, each with a problem and a GPU of the driver double of its own: one cache file, one PostgreSQL server from
one machine, and from four (each with a copy of its own). Points a second of all together, from the first record to the last one. Rounds
take turns, since a machine is not always as fast.

    HONE=build/tuner/hone HONE_DOUBLE=build/tests/double bench/server/several.py [--points 2000] [--rounds 5]
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "workers"), str(ROOT / "tests" / "cli")]

import postgres
import scale
import evidence  # where scale looks for it

TUNERS = 4


def tune(folder, places, points):
    """Points a second, and how many records each of the tuners told."""
    processes = []
    for i, place in enumerate(places):
        events = folder / f"events{i}.jsonl"
        locks = folder / f"locks{i}"
        locks.mkdir(exist_ok=True)
        environment = {**os.environ, "LD_LIBRARY_PATH": scale.DOUBLE, "TMPDIR": str(folder), "HONE_LOCKS": str(locks),
                       "HONE_NVRTC": str(next(pathlib.Path(scale.DOUBLE).glob("nvrtc/lib*nvrtc.so"))),
                       "HONE_DOUBLE_KEPT": str(folder / "kept"), **place}
        processes.append((events, subprocess.Popen(
            [scale.HONE, "tune", "scale.yaml", "--full", "--quiet", "--jobs", "1", "-p", f"n={64 + i}", "--strategy", "random",
             "--budget", str(points), "--events", events], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)))
    times = []
    for events, process in processes:
        _, errors = process.communicate()
        if process.returncode != 0 or errors:
            sys.exit(f"a tune failed: {errors}")
        records = [json.loads(line) for line in events.read_text().splitlines()]
        times += [record["record"]["time"] for record in records if record["event"] == "record"]
    return len(times) / (max(times) - min(times)), len(times)


# When a record came, which the server does not keep by itself, behind when it was finished; in milliseconds.
DELAYS = "SELECT 1000 * (extract(epoch FROM came) - (json::json->>'time')::double precision) FROM hone.record"


def make_database(server, folder, name):
    server.query(f"CREATE DATABASE {name}")
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "maker"), "HONE_CACHE": server.uri(name)}
    subprocess.run([scale.HONE, "cache", "list"], env=environment, check=True, capture_output=True)
    server.query("ALTER TABLE hone.record ADD came timestamptz DEFAULT clock_timestamp()", name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    postgres.with_server(lambda server, folder: measure(server, folder, options))


def measure(server, folder, options):
    (folder / "kept").mkdir()
    scale.write_config(folder, -(-options.points // 16) * 16, 1)
    tune(folder, [{"HONE_CACHE": str(folder / f"warm{i}.db")} for i in range(TUNERS)], options.points)  # compiles every program
    rates, delays = {}, []
    for i in range(options.rounds):
        for kind in ("one", "four"):
            make_database(server, folder, f"{kind}{i}")
        ways = {
            "a cache file": [{"HONE_CACHE": str(folder / f"file{i}.db")}] * TUNERS,
            "a server, one machine": [{"HONE_CACHE": server.uri(f"one{i}"), "XDG_CACHE_HOME": str(folder / f"one{i}")}] * TUNERS,
            "a server, four machines": [{"HONE_CACHE": server.uri(f"four{i}"), "XDG_CACHE_HOME": str(folder / f"four{i}-{n}")}
                                        for n in range(TUNERS)],
        }
        for way, places in sorted(ways.items(), reverse=i % 2 == 1):
            rate, told = tune(folder, places, options.points)
            rates.setdefault(way, []).append(rate)
            if way != "a cache file":
                delays += [float(row) for row in server.query(DELAYS, f"{way.split()[2]}{i}")]
                kept = int(server.query("SELECT count(*) FROM hone.record", f"{way.split()[2]}{i}")[0])
                if kept != told:
                    sys.exit(f"{told} records were told, the server has {kept}")
    delays.sort()
    print(f"from a finished record to the server: median {statistics.median(delays):.0f} ms, 99% {delays[len(delays) * 99 // 100]:.0f} ms, "
          f"at most {delays[-1]:.0f} ms\n")
    print("| four tuners on | points a second (median of rounds, least, most) | beside a file |\n|---|---|---|")
    for way, values in rates.items():
        ratios = [value / other for value, other in zip(values, rates["a cache file"])]
        print(f"| {way} | {statistics.median(values):.0f} ({min(values):.0f}, {max(values):.0f}) | {statistics.median(ratios):.2f} "
              f"({min(ratios):.2f}, {max(ratios):.2f}) |", flush=True)
    kept = {"a cache file": "a file", "a server, four machines": "a server, from four machines"}
    evidence.keep("server", [[name, f"{statistics.median(rates[way]):,.0f}"] for way, name in kept.items()], **evidence.no_gpu())


if __name__ == "__main__":
    main()
