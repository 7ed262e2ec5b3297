# SPDX-License-Identifier: MIT
"""hone tune over a recording, and the commands that read what it leaves."""

import json
import unittest

import hone


class Tune(hone.Case):
    def tune(self, *arguments, **settings):
        return self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", self.record(), *arguments, **settings)

    def test_finds_the_best(self):
        result = self.tune("--quiet")
        best = next(line for line in result.stdout.splitlines() if line.split()[:1] == ["1"])
        self.assertIn("10.00 us", best)
        self.assertTrue(best.endswith("BLOCK=128,ITEMS=2,LOAD=ldg"), best)
        self.assertIn("simulated from a recording", result.stdout)
        self.assertIn("16 ok  (16 of 16 points)", result.stdout)

    def test_again_does_no_work(self):
        self.tune("--quiet")
        events = self.folder / "events.jsonl"
        again = self.tune("--quiet", "--events", events)
        self.assertIn("10.00 us", again.stdout)
        self.assertIn("cache", again.stdout)

    def test_json(self):
        result = self.tune("--json", "--quiet")
        json.loads(result.stdout)

    def test_same_seed_same_order(self):
        outputs = []
        for name in ("a.db", "b.db"):
            outputs.append(self.tune("--quiet", "--strategy", "random", "--budget", "5", "--seed", "7", "--cache",
                                     self.folder / name).stdout)
        self.assertEqual(outputs[0], outputs[1])
        self.assertIn("5 ok", outputs[0])

    def test_another_problem_is_not_recorded(self):
        recording = self.record()
        self.fails(2, f"hone: {recording} records saxpy (SIZE=1048576, cold); asked for is saxpy (SIZE=2048, cold)", "tune",
                   hone.DATA / "saxpy.yaml", "-p", "SIZE=2048", "--quiet", "--simulate", recording)

    def test_recording_of_too_few_points(self):
        recording = self.record()
        document = json.loads(recording.read_text())
        document["cache"] = dict(list(document["cache"].items())[:8])
        recording.write_text(json.dumps(document))
        result = self.hone("tune", hone.DATA / "saxpy.yaml", "--quiet", "--simulate", recording, expect=2)
        self.assertIn("records 8 of the 16 valid points; at least 95% are needed", result.stderr)

    def test_recording_is_not_there(self):
        self.fails(1, "hone: 'nope.json' can not be read: No such file or directory", "tune", hone.DATA / "saxpy.yaml",
                   "--quiet", "--simulate", "nope.json")


if __name__ == "__main__":
    unittest.main()
