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


class TrustInReplays(double.Case):
    """bench/replay/run.py counts verdicts: of kernels that nobody touched, and of some that were made slower."""

    def trust(self, *arguments, expect):
        command = [sys.executable, "-B", hone.SOURCE / "bench" / "replay" / "run.py", "--kernels", "1", "--replays", "2",
                   "--sizes", "4000,8000", *arguments]
        result = subprocess.run(command, env=self.environment(HONE=hone.HONE, HONE_DOUBLE=double.DOUBLE), text=True,
                                capture_output=True, timeout=300)
        self.assertEqual(result.returncode, expect, result.stdout + result.stderr)
        return result.stdout

    def test_counts(self):
        self.assertRegex(self.trust(expect=0), r"2 replays: 0 SLOWER or WRONG, 0 of a slower machine; of 1 kernels made 8% slower 1 found; 0 left out or failed")
        self.assertIn("made 3% slower 0 found", self.trust("--slower", "3", expect=1))


if __name__ == "__main__":
    unittest.main()
