# SPDX-License-Identifier: MIT
"""Drives the real `hone` as a user would: each test has a folder and a cache of its own."""

import base64
import gzip
import itertools
import json
import os
import pathlib
import re
import shutil
import sqlite3
import struct
import subprocess
import tempfile
import unittest
import zlib

SOURCE = pathlib.Path(__file__).resolve().parents[2]
HONE = os.path.abspath(os.environ.get("HONE", SOURCE / "build" / "tuner" / "hone"))
DATA = pathlib.Path(__file__).resolve().parent / "data"
# Where tests/data is unpacked.
TEST_DATA = pathlib.Path(os.environ.get("HONE_TEST_DATA", SOURCE / "build" / "tests" / "data")).resolve()

H200 = {"name": "NVIDIA H200", "capability": 90, "sm_count": 132, "mig_profile": ""}


def checksum(*values):
    """The checksum of a row of a cache."""
    total = 0
    for value in values:
        if isinstance(value, int):
            total = zlib.crc32(struct.pack("<q", value), total)
        elif isinstance(value, float):
            total = zlib.crc32(struct.pack("<d", value), total)
        elif value is not None:
            total = zlib.crc32((value.encode() if isinstance(value, str) else value) + b"\0", total)
    return total


def report_text(path):
    """What a page of `hone report` holds, as compact JSON."""
    return json.dumps(report_document(pathlib.Path(path).read_text()), separators=(",", ":"))


def report_document(page):
    """The data of a page of `hone report`: gzip, as base64."""
    return json.loads(gzip.decompress(base64.b64decode(page.split('id="data">')[1].split("</script>")[0])))


def cuda_include():
    """The folder of cuda.h that the build was made with."""
    cache = pathlib.Path(os.environ.get("HONE_BUILD", SOURCE / "build")) / "CMakeCache.txt"
    return re.search(r"^HONE_CUDA_INCLUDE:.*=(.*)$", cache.read_text(), re.M)[1]


def why_no_sources():
    """Why `hone init` can read no source here; None: it can."""
    result = subprocess.run([HONE, "init", TEST_DATA / "init/sparse.cu", "-o", "-"], text=True, capture_output=True)
    return result.stderr.strip() if "libclang" in result.stderr else None


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone-cli-"))
        self.cache = self.folder / "hone.db"
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def hone(self, *arguments, expect=0, cwd=None, **environment):
        """Runs hone; the exit code must be `expect`. stdout and stderr are text."""
        settings = dict(os.environ, HONE_CACHE=str(self.cache), NO_COLOR="1", COLUMNS="80", LC_ALL="C.UTF-8")
        settings.update(environment)
        result = subprocess.run(
            [HONE, *map(str, arguments)], cwd=cwd or self.folder, env=settings, text=True, capture_output=True,
            stdin=subprocess.DEVNULL, timeout=300)
        self.assertEqual(result.returncode, expect, f"hone {arguments}: {result.stdout}{result.stderr}")
        return result

    def fails(self, expect, message, *arguments, **settings):
        """hone must fail with this exit code and exactly this on stderr, and print no result."""
        result = self.hone(*arguments, expect=expect, **settings)
        self.assertEqual(result.stderr, message + "\n")
        self.assertEqual(result.stdout, "")

    def misused(self, message, *arguments):
        """Wrong usage: the message and where to find help."""
        command = arguments[0]
        self.fails(2, f"hone {command}: {message}\nTry `hone {command} --help' or `hone {command} --usage' "
                   "for more information.", *arguments)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def sql(self, statement, *values):
        connection = sqlite3.connect(self.cache)
        with connection:
            rows = connection.execute(statement, values).fetchall()
        connection.close()
        return rows

    def forge(self, statement, *values):
        """Changes rows of the cache as somebody would who knows of the checksums."""
        connection = sqlite3.connect(self.cache)
        connection.create_function("checksum", -1, checksum)
        with connection:
            connection.execute(statement, values)
            for table in ("session", "record", "plan", "image", "roof"):
                columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
                summed = ", ".join(column for column in columns if column not in ("id", "cubin", "checksum"))
                connection.execute(f"UPDATE {table} SET checksum = checksum({summed})")
        connection.close()

    def copy_config(self, name="saxpy"):
        """A copy of config and template that a test may spoil; the path of the config."""
        for suffix in (".yaml", ".cu"):
            shutil.copy(DATA / (name + suffix), self.folder)
        return self.folder / (name + ".yaml")

    def spoil(self, path, old, new):
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new, 1))

    def row(self, point, time_us):
        timing = {"median_us": time_us, "low_us": time_us * 0.998, "high_us": time_us * 1.002, "resolution_us": 0.1,
                  "batch": 1, "dropped": 0, "clock_mhz": 1980, "unstable": False}
        verdict = {"kind": "verified", "max_error": 1e-7, "tolerance": 1e-6, "max_reference": 1, "seeds": 2}
        code = "%032x" % abs(hash(tuple(point.values())))
        return dict(point, time=time_us / 1000, times=[time_us / 1000] * 9, compile_time=150, verification_time=1,
                    benchmark_time=5, hone={"outcome": "ok", "code_hash": code, "verdict": verdict, "timing": timing,
                                            "metrics": {"gb_per_s": 12 * 1048576 / time_us / 1000}, "objective": time_us,
                                            "final": False, "time": 1795168800})

    def record(self, device=H200, problem=None, time_us=None, name="recording.json"):
        """Writes a recorded tuning of saxpy's whole space; time_us gives the time of a point."""
        parameters = {"BLOCK": [64, 128, 256], "ITEMS": [1, 2, 4], "LOAD": ["plain", "ldg"]}
        time_us = time_us or (lambda BLOCK, ITEMS, LOAD: 10 + abs(BLOCK - 128) / 64 + abs(ITEMS - 2) + (LOAD == "plain"))
        rows = {}
        for values in itertools.product(*parameters.values()):
            point = dict(zip(parameters, values))
            if point["BLOCK"] * point["ITEMS"] <= 512:
                rows[",".join(map(str, values))] = self.row(point, time_us(**point))
        document = {
            "hone": {
                "format": 1, "signature": "", "regime": "cold", "objective": "time",
                "problem": problem or {"SIZE": 1048576}, "device": device,
                "version": {"template_hash": "", "options_hash": "", "plan_hash": "", "driver": "580.1",
                            "nvrtc": "13.0", "protocol": 1},
            },
            "device_name": device["name"], "kernel_name": "saxpy", "problem_size": [1048576],
            "tune_params_keys": list(parameters), "tune_params": parameters, "objective": "time", "cache": rows,
        }
        return self.write(name, json.dumps(document))

    def sample(self, config, problem, *restrictions, count=1, seed=1):
        """So many drawn points of a problem, given as NAME=VALUE."""
        options = [f"-p{value}" for value in problem] + [f"-s{restriction}" for restriction in restrictions]
        lines = self.hone("space", config, *options, "--sample", str(count), "--seed", str(seed)).stdout.splitlines()
        end = next((i for i, line in enumerate(lines) if i > 0 and line.startswith("#")), len(lines))
        points = [dict(pair.split("=") for pair in line.split()[-1].split(",")) for line in lines[:end] if not line.startswith("#")]
        self.assertEqual(len(points), count)
        return [{name: int(value) if value.lstrip("-").isdigit() else value for name, value in point.items()} for point in points]

    def record_points(self, folder, kernel, pairs):
        """A recording for each (problem, point), of what nobody has measured."""
        (self.folder / folder).mkdir()
        for i, (problem, point) in enumerate(pairs):
            row = self.row(point, 100 + i)
            row["hone"]["metrics"] = {}
            document = json.loads(self.record(name="any.json").read_text())
            document["hone"]["problem"] = problem
            document.update(kernel_name=kernel, tune_params_keys=list(point), cache={"point": row},
                            tune_params={name: [value] for name, value in point.items()})
            self.write(f"{folder}/{i}.json", json.dumps(document))

    def tune_simulated(self, *options, **recording):
        """Fills the cache from a recording."""
        return self.hone("tune", DATA / "saxpy.yaml", "--simulate", self.record(**recording), "--quiet", *options)
