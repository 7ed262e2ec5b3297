#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""64 caches with a million records in all: merged into one file, sent to a PostgreSQL server, fetched from it by another machine. Prints
the seconds and sizes of docs/figures.md. Of 16 problems a cache one is the same in all. The caches are made of one real record of the driver double, under other points and times.

    HONE=build/tuner/hone HONE_DOUBLE=build/tests/double bench/server/merge.py [--caches 64] [--records 1000000]
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import sqlite3
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench" / "workers"), str(ROOT / "tests" / "cli")]

import hone as cases
import postgres
import scale

KERNELS, PER_SESSION = 8, 1000
SUMMED = {
    "session": "origin, kernel, problem, task, version, plan, rule, started, command, simulated, machine, source, imported",
    "record": "session_id, point, outcome, verification, final, objective, json",
}


def hone(folder, *arguments, **settings):
    """The seconds it took, and those of the processor."""
    environment = {**os.environ, "LD_LIBRARY_PATH": scale.DOUBLE, "TMPDIR": str(folder), "HONE_LOCKS": str(folder),
                   "XDG_CACHE_HOME": str(folder / "xdg"), **settings}
    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([scale.HONE, *map(str, arguments)], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def make_cache(first, path, number, records):
    """A copy of the first cache, with other sessions in it: of several kernels and problems, on machines of their own."""
    shutil.copy(first, path)
    connection = sqlite3.connect(path)
    connection.create_function("checksum", -1, cases.checksum)
    text, kind = connection.execute("SELECT json, verification FROM record WHERE outcome = 'ok' LIMIT 1").fetchone()
    task, version, plan = connection.execute("SELECT task, version, plan FROM session").fetchone()
    record = json.loads(text)
    for table in ("image", "record", "session"):
        connection.execute(f"DELETE FROM {table}")
    sessions = -(-records // PER_SESSION)
    for session in range(sessions):
        # One problem is everybody's, the others are each machine's own.
        size = 64 if session == 0 else 64 * (1 + number * sessions + session)
        kernel = f"kernel{session % KERNELS}"
        own = json.dumps(dict(json.loads(task), kernel=kernel, problem={"n": size}), sort_keys=True, separators=(",", ":"))
        connection.execute("INSERT INTO session VALUES(?, ?, ?, ?, ?, ?, ?, NULL, ?, 'hone tune', 0, ?, '', 0, 0)",
                           (session + 1, f"{number:016x}{session:016x}", kernel, f"n={size}", own, version, plan, 1.7e9 + number,
                            f"node{number}"))
        rows = []
        for i in range(min(PER_SESSION, records - session * PER_SESSION)):
            us = 50 + (i * 7919 + number * 104729) % 10007 / 100
            record["point"] = {"BLOCK": 32 * (i % 32 + 1), "FAULT": 0, "ITEMS": i // 32 + 1}
            record.update(objective=us, final=False)
            record["timing"]["median_us"] = us
            record["timing"].update(low_us=us * 0.999, high_us=us * 1.001, samples_us=[us] * len(record["timing"].get("samples_us", [])))
            rows.append((session + 1, ",".join(f"{name}={value}" for name, value in record["point"].items()), kind, us,
                         json.dumps(record, sort_keys=True, separators=(",", ":"))))
        connection.executemany("INSERT INTO record VALUES(NULL, ?, ?, 'ok', ?, 0, ?, ?, 0)", rows)
    for table, columns in SUMMED.items():
        connection.execute(f"UPDATE {table} SET checksum = checksum({columns})")
    connection.commit()
    connection.execute("VACUUM")
    connection.close()


def mib(*paths):
    return sum(path.stat().st_size for path in paths) / 2**20


def tell(what, seconds, size=None):
    print(f"| {what} | {seconds[0]:.1f} s | {seconds[1]:.1f} s | {'' if size is None else f'{size:.0f} MiB'} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--caches", type=int, default=64)
    parser.add_argument("--records", type=int, default=1000000)
    options = parser.parse_args()
    postgres.with_server(lambda server, folder: measure(server, folder, options))


def measure(server, folder, options):
    scale.write_config(folder, 16, 1)
    first = folder / "first.db"
    hone(folder, "tune", "scale.yaml", "--quiet", "--cache", first)
    caches = [folder / f"cache{i}.db" for i in range(options.caches)]
    for i, path in enumerate(caches):
        make_cache(first, path, i, options.records // options.caches)
    hone(folder, "cache", "check", "--cache", caches[0])
    server.query("CREATE DATABASE site")
    uri = server.uri("site")
    print("| what | time | processor time of `hone` | size |\n|---|---|---|---|")
    print(f"| {options.caches} caches, {options.records} records | | | {mib(*caches):.0f} MiB |")
    merged = folder / "merged.db"
    tell("merged into one file", hone(folder, "cache", "merge", *caches, "--cache", merged, "--quiet"), mib(merged))
    tell("merged again: nothing is new", hone(folder, "cache", "merge", *caches, "--cache", merged, "--quiet"))
    tell("`hone cache list` of the file", hone(folder, "cache", "list", "--cache", merged))
    tell("the file merged into an empty server", hone(folder, "cache", "merge", merged, "--cache", uri, "--quiet"),
         int(server.query("SELECT pg_database_size('site')")[0]) / 2**20)
    other = {"XDG_CACHE_HOME": str(folder / "other")}
    tell("a machine without a copy fetches one kernel of eight and tunes another problem of it",
         hone(folder, "tune", renamed(folder, "kernel0"), "--quiet", "--cache", uri, **other),
         mib(*(folder / "other" / "hone").glob("*.db")))
    tell("the same again", hone(folder, "tune", "kernel0.yaml", "--quiet", "--cache", uri, **other))
    tell("it fetches the rest", hone(folder, "cache", "list", "--cache", uri, **other), mib(*(folder / "other" / "hone").glob("*.db")))
    tell("`hone cache list` again: nothing is new", hone(folder, "cache", "list", "--cache", uri, **other))
    if server.query("SELECT count(*) FROM hone.record WHERE position >= 0", "site") < [str(options.records)]:
        sys.exit("the server lacks records")


def renamed(folder, kernel):
    """The config under the name of one of the caches' kernels."""
    (folder / f"{kernel}.yaml").write_text((folder / "scale.yaml").read_text().replace("kernel: scale", f"kernel: {kernel}"))
    return f"{kernel}.yaml"


if __name__ == "__main__":
    main()
