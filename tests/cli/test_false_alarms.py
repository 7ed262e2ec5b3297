# SPDX-License-Identifier: MIT
"""scripts/false-alarms: points that are right pass, those that are not are named, and nothing passes unseen."""

import json
import subprocess
import sys
import unittest

import double
import hone


class FalseAlarms(double.Case):
    def alarms(self, *arguments, expect):
        command = [sys.executable, "-B", hone.SOURCE / "scripts" / "false-alarms", *map(str, arguments)]
        result = subprocess.run(command, env=self.environment(HONE=hone.HONE), text=True, capture_output=True, timeout=120)
        self.assertEqual(result.returncode, expect, result.stdout + result.stderr)
        return result.stdout

    def test_right_points(self):
        records = self.folder / "records.json"
        text = self.alarms("--points", 3, "--json", records, self.config, expect=0)
        self.assertRegex(text, r"^3 points of 1 tunes, 0 false alarms or failures, 0 tunes left out, \d+ s\n$")
        tune, = json.loads(records.read_text())
        self.assertEqual({record["outcome"] for record in tune["records"]}, {"ok"})

    def test_wrong_points(self):
        text = self.alarms("--points", 100, self.folder / "keep.yaml", expect=1)
        self.assertRegex(text, r"(?m)^  wrong_result: \S+keep\.yaml --strategy random .*FAULT=3.*: kept\[0\] is 2500; expected 2499")
        self.assertRegex(text, r"(?m)^8 points of 1 tunes, 6 false alarms or failures, 0 tunes left out, \d+ s$")

    def test_nothing_is_no_success(self):
        text = self.alarms("--within", 0, self.config, expect=1)
        self.assertRegex(text, r"^0 points of 0 tunes, 0 false alarms or failures, 1 tunes left out, \d+ s\n$")


if __name__ == "__main__":
    unittest.main()
