# SPDX-License-Identifier: MIT
"""`hone capture`: programs that know nothing of Hone run on the driver double, and what they launch is tuned."""

import json
import os
import struct
import unittest
import zlib

import double

LAUNCHER = os.environ.get("HONE_LAUNCHER", str(double.hone.SOURCE / "build" / "tests" / "launcher"))
N = 5000
NUMBERS = [float(i % 1000) for i in range(N)]


def read(path):
    """What a capture says of itself, and its parts as numbers by list and name."""
    data = path.read_bytes()
    size = int.from_bytes(data[-16:-8], "little")
    head = json.loads(data[-16 - size:-16])
    parts = {(which, part["name"]): zlib.decompress(data[part["offset"]:part["offset"] + part["packed"]])
             for which in ("inputs", "expected") for part in head[which]}
    return head, {key: list(struct.unpack(f"{len(value) // 4}f", value)) for key, value in parts.items()}


class Captures(double.Case):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "launch.honecap"
        self.hone("tune", self.config, "-s", "BLOCK=128,ITEMS=1", "--quiet")
        self.hone("export", "scale", "--format", "cubin", "-o", "scale.cubin")

    def capture(self, *options, program=LAUNCHER, how="array", expect=0, **settings):
        return self.hone("capture", *options, "--", program, "scale.cubin", how, expect=expect, **settings)

    def test_any_way_to_launch(self):
        for program, how in ((LAUNCHER, "array"), (LAUNCHER, "packed"), (f"{LAUNCHER}_runtime", "array"),
                             (f"{LAUNCHER}_runtime", "packed"), (f"{LAUNCHER}_runtime", "thread")):
            with self.subTest(program=program, how=how):
                result = self.capture("--kernel", "scale", "--launch", "2", program=program, how=how)
                self.assertEqual(result.stdout, "the last is 4995\n")
                self.assertEqual(result.stderr, f"hone: launch 2 of scale is in {self.file}\n")
                head, parts = read(self.file)
                self.assertEqual((head["kernel"], head["grid"], head["block"], head["shared_bytes"]),
                                 ("scale", [40, 1, 1], [128, 1, 1], 0))
                self.assertEqual(head["scalars"], {"p2": struct.unpack("I", struct.pack("f", 4))[0], "p3": N})
                self.assertEqual(parts["inputs", "p0"], NUMBERS)
                self.assertEqual(parts["expected", "p0"], NUMBERS)
                self.assertEqual(parts["inputs", "p1"], [3 * number for number in NUMBERS])
                self.assertEqual(parts["expected", "p1"], [4 * number for number in NUMBERS])
                self.file.unlink()

    def test_a_launch_is_tuned(self):
        self.capture()
        tuning, = json.loads(self.hone("tune", self.config, "--capture", self.file, "--json", "--quiet").stdout)
        self.assertEqual(tuning["problem"], {"n": N})
        self.assertEqual(tuning["best"]["verdict"]["kind"], "verified")
        # What was captured is the reference: a kernel that computes something else is wrong.
        self.spoil(self.config, "FAULT: [0]", "FAULT: [4]")
        self.spoil(self.config, "FAULT: 0}", "FAULT: 4}")
        tuning, = json.loads(self.hone("tune", self.config, "--capture", self.file, "--json", "--quiet", expect=3).stdout)
        self.assertEqual(list(tuning["outcomes"]), ["wrong_result"])

    def test_what_is_not_captured(self):
        for options, words in ((("--kernel", "other"), "made no launch 1 of other"), (("--launch", "4"), "made no launch 4 of a kernel")):
            result = self.capture(*options, expect=3)
            self.assertEqual(result.stdout, "the last is 4995\n")
            self.assertIn(words, result.stderr)
            self.assertFalse(self.file.exists())
        self.assertIn("cannot be started: No such file", self.hone("capture", "--", "./nothing", expect=1).stderr)
        blocked = self.capture("-o", "nowhere/launch.honecap", expect=3)
        self.assertIn("scale was launched, but not captured: ", blocked.stderr)
        self.assertEqual(list(self.folder.glob("*.honecap*")), [])

    def test_a_capture_that_does_not_fit(self):
        self.capture()
        self.write("longer.yaml", self.config.read_text().replace("{name: x, type: float32, count: n", "{name: x, type: float32, count: 2 * n"))
        self.assertIn("argument 'x': data file",
                      self.hone("tune", "longer.yaml", "--capture", "launch.honecap", expect=2).stderr)
        self.assertIn("is of kernel 'scale', and composite.yaml is of 'sum'",
                      self.hone("tune", "composite.yaml", "--capture", self.file, expect=2).stderr)
        self.assertIn("name the config", self.hone("tune", "--capture", self.file, expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
