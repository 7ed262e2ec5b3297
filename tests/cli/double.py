# SPDX-License-Identifier: MIT
"""hone on the driver double of tests/double: real workers, real compilations, a GPU that is simulated. With HONE_GPU=1
test_kill and test_several run on a real one."""

import json
import os
import shutil
import subprocess
import sys
import time
import unittest

import hone

DOUBLE = os.path.abspath(os.environ.get("HONE_DOUBLE", hone.SOURCE / "build" / "tests" / "double"))
ON_GPU = os.environ.get("HONE_GPU") == "1"
DRIVER = {} if ON_GPU else {"LD_LIBRARY_PATH": DOUBLE}
DATA = hone.TEST_DATA / "double"
WAITS_S = 120

# A kernel that compiles in a few milliseconds and differs in every point. The double runs its own C function instead.
CHEAP_CU = """\
extern "C" __device__ const int hone_double[] = {BLOCK, ITEMS, 0};
extern "C" __global__ void scale(const float *x, float *y, float a, int n)
{
    y[threadIdx.x] = a * x[threadIdx.x] + BLOCK * 64 + ITEMS;
}
"""


class Case(hone.Case):
    """Has copies of the double's configs in its folder, and the GPU's lock to itself."""

    def setUp(self):
        super().setUp()
        for path in DATA.iterdir():
            shutil.copy(path, self.folder)
        self.config = self.folder / "scale.yaml"
        self.events = self.folder / "events.jsonl"

    def own_folders(self):
        return {"TMPDIR": str(self.folder), "HONE_LOCKS": str(self.folder)}

    def environment(self, **changes):
        return {**os.environ, "HONE_CACHE": str(self.cache), "NO_COLOR": "1", "LC_ALL": "C.UTF-8",
                **self.own_folders(), **DRIVER, **changes}

    def hone(self, *arguments, **settings):
        return super().hone(*arguments, **self.own_folders(), **DRIVER, **settings)

    def tune(self, *arguments, **settings):
        """The document of `hone tune --json`, one tuning a problem."""
        result = self.hone("tune", self.config, "--json", "--quiet", *arguments, **settings)
        return json.loads(result.stdout)

    def start(self, *arguments, **changes):
        """Starts hone in the background."""
        process = subprocess.Popen([hone.HONE, *map(str, arguments)], cwd=self.folder, env=self.environment(**changes),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(stop, process)
        return process

    def ended(self, process, expect=0):
        """What a process that was started wrote to stdout and stderr; the exit code must be `expect`."""
        output, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, expect, f"{output}{errors}")
        return output, errors

    def cheap_config(self, block=64, items=16, n=64):
        """A space of block * items points that cost little more than nothing; on a GPU they do the work."""
        if not ON_GPU:
            self.write("scale.cu", CHEAP_CU)
        text = self.config.read_text()
        for old, new in (("{powers_of_two: [32, 1024]}", f"{{range: [1, {block}], step: 1}}"),
                         ("[1, 2, 4, 8]", f"{{range: [1, {items}], step: 1}}"),
                         ("{n: 24576}", f"{{n: {n}}}"), ("{BLOCK: 128, ITEMS: 1, FAULT: 0}", "{BLOCK: 1, ITEMS: 1, FAULT: 0}")):
            self.assertIn(old, text)
            text = text.replace(old, new, 1)
        self.config.write_text(text)
        return block * items

    def wait_for(self, found, what):
        """Until it is so; a busy machine has time for it."""
        end = time.monotonic() + WAITS_S
        while not found():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.005)

    def read_events(self, path=None):
        """The records of an events file, in order; a last line that was cut off does not count."""
        text = (path or self.events).read_text() if (path or self.events).exists() else ""
        events = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        return [event["record"] for event in events if event["event"] == "record"]

    def wait_for_events(self, count, process):
        end = time.monotonic() + WAITS_S
        while process.poll() is None and time.monotonic() < end:
            if self.events.exists() and self.events.read_bytes().count(b"\n") >= count:
                return
            time.sleep(0.002)
        self.fail(f"no {count} events: {process.communicate()}")


def has_device():
    return subprocess.run([hone.HONE, "device"], capture_output=True, stdin=subprocess.DEVNULL).returncode == 0


def stop(process):
    if process.poll() is None:
        process.kill()
    process.communicate()


def name(point):
    return ",".join(f"{key}={value}" for key, value in sorted(point.items()))


def searched(records):
    """The points that were measured by the search: what the final race tells again does not count."""
    return [name(record["point"]) for record in records if not record["final"]]


def workers_of(pid):
    """{pid: role} of the live workers of a hone."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{entry}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == pid and words[:2] == [b"hone", b"worker"]:
            found[int(entry)] = words[2].decode()
    return found
