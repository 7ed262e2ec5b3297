# SPDX-License-Identifier: MIT
"""What Kernel Tuner itself (scripts/deps --tests puts it into build/kernel-tuner) makes of our recordings, and we of its
cache files. Skipped where it is not there."""

import functools
import gzip
import json
import os
import shutil
import subprocess
import sys
import unittest

import hone

PLACE = hone.SOURCE / "build" / "kernel-tuner"

# Kernel Tuner goes through the whole file as it would through its own, without a GPU.
SIMULATE = """
import contextlib, io, json, sys
with contextlib.redirect_stdout(io.StringIO()):
    from kernel_tuner.interface import tune_cache
    results, environment = tune_cache(sys.argv[1])
right = [r for r in results if isinstance(r["time"], float)]
best = min(right, key=lambda r: r["time"])
print(json.dumps({"results": len(results), "right": len(right), "device": environment["device_name"],
                  "best": {name: best[name] for name in sys.argv[2:]}, "time": best["time"]}))
"""


@functools.cache
def find_python():
    """A Python that imports Kernel Tuner from there; None where there is none."""
    settings = dict(os.environ, PYTHONPATH=str(PLACE))
    for python in dict.fromkeys(("/usr/bin/python3", sys.executable, shutil.which("python3"))):
        if PLACE.exists() and python and subprocess.run([python, "-c", "import kernel_tuner"], capture_output=True,
                                                        env=settings).returncode == 0:
            return python
    return None


@unittest.skipIf(find_python() is None, f"Kernel Tuner is not in {PLACE}: run scripts/deps --tests")
class KernelTuner(hone.Case):
    def simulated(self, path, *parameters):
        if path.suffix == ".gz":
            path = self.write("plain.json", gzip.decompress(path.read_bytes()).decode())
        result = subprocess.run([find_python(), "-c", SIMULATE, str(path), *parameters], text=True, capture_output=True,
                                env=dict(os.environ, PYTHONPATH=str(PLACE)))
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_it_reads_our_recordings(self):
        for path in sorted((hone.SOURCE / "cache/recorded/nvidia-h200").glob("matmul*.json.gz")):
            document = json.loads(gzip.decompress(path.read_bytes()))
            rows = [row for row in document["cache"].values() if isinstance(row["time"], float)]
            found = self.simulated(path, *document["tune_params_keys"])
            best = min(rows, key=lambda row: row["time"])
            self.assertEqual((found["device"], found["right"], found["time"]),
                             ("NVIDIA H200", len(rows), best["time"]))
            self.assertEqual(found["best"], {name: best[name] for name in document["tune_params_keys"]})

    def test_it_reads_what_we_export(self):
        self.hone("cache", "import", self.record())
        out = self.folder / "exported.json"
        self.hone("cache", "export", "saxpy", out)
        found = self.simulated(out, "BLOCK", "ITEMS", "LOAD")
        self.assertEqual(found["best"], {"BLOCK": 128, "ITEMS": 2, "LOAD": "ldg"})
        self.assertEqual(found["time"], 0.01)

    def test_a_file_of_its_own_goes_through_us(self):
        source = hone.SOURCE / "tests/data/kernel_tuner/conv6-a6000.json.gz"
        names = json.loads(gzip.decompress(source.read_bytes()))["tune_params_keys"]
        self.hone("cache", "import", source)
        out = self.folder / "again.json"
        [tuning] = json.loads(self.hone("cache", "list", "--json").stdout)["tunings"]
        self.hone("cache", "export", tuning["kernel"], out)
        self.assertEqual(self.simulated(out, *names), self.simulated(source, *names))

    def test_our_t4_is_what_its_schema_says(self):
        self.hone("cache", "import", hone.SOURCE / "tests/data/recording/example.json")
        out = self.folder / "t4.json"
        self.hone("cache", "export", "example", out, "--format", "t4")
        check = ("import json, sys, jsonschema\n"
                 "from kernel_tuner.file_utils import output_file_schema\n"
                 "jsonschema.validate(json.load(open(sys.argv[1])), output_file_schema('results')[1])")
        result = subprocess.run([find_python(), "-c", check, str(out)], text=True, capture_output=True,
                                env=dict(os.environ, PYTHONPATH=str(PLACE)))
        self.assertEqual(result.returncode, 0, result.stderr)
