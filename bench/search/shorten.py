#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Shortens cache files of Kernel Tuner to what judging search strategies takes; see ../README.md.

    shorten.py FOLDER CACHE.json[.gz]...

Writes FOLDER/<name>.json.gz: the same rows in the same order under the same keys, without samples, metrics and time
stamps; times to 9 significant digits, costs to 7 and 5. The same input gives the same bytes.
"""

import gzip
import json
import pathlib
import sys

DIGITS = {"time": 9, "compile_time": 7, "verification_time": 7, "benchmark_time": 7, "framework_time": 5}


def shorten(value, digits):
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def row_text(key, row, parameters):
    short = {name: row[name] for name in parameters}
    short.update((name, shorten(row[name], digits)) for name, digits in DIGITS.items() if name in row)
    return f"{json.dumps(key)}: {json.dumps(short, separators=(',', ':'))}"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    for path in map(pathlib.Path, sys.argv[2:]):
        data = path.read_bytes()
        cache = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
        rows = [row_text(key, row, cache["tune_params_keys"]) for key, row in cache.pop("cache").items()]
        text = json.dumps(cache)[:-1] + ',\n"cache": {\n' + ",\n".join(rows) + "}\n}\n"
        (folder / (path.name.split(".")[0] + ".json.gz")).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
