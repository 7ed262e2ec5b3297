# SPDX-License-Identifier: MIT
"""scripts/false-alarms: points that are right pass, those that are not are named, and nothing passes unseen. And what is slow
behind poison, whatever it does, is suspected and not accused. And how good winners are, by bench/winners.py."""

import importlib.util
import json
import subprocess
import sys
import unittest

import double
import hone


class Case(double.Case):
    def figure(self, name):
        """What a bench left for docs/figures.json."""
        return json.loads((self.folder / f"{name}.json").read_text())[name]


class FalseAlarms(Case):
    def alarms(self, *arguments, expect):
        command = [sys.executable, "-B", hone.SOURCE / "scripts" / "false-alarms", *map(str, arguments)]
        result = subprocess.run(command, env=self.environment(HONE=hone.HONE, HONE_FIGURES=str(self.folder)), text=True, capture_output=True, timeout=120)
        self.assertEqual(result.returncode, expect, result.stdout + result.stderr)
        return result.stdout

    def test_right_points(self):
        records = self.folder / "records.json"
        text = self.alarms("--points", 3, "--json", records, self.config, expect=0)
        self.assertRegex(text, r"^3 points of 1 tunes, 0 false alarms or failures, 0 tunes left out, \d+ s\n"
                         r"3 honest variants, 0 suspected, 0 accused, 0 checks failed\n$")
        tune, = json.loads(records.read_text())
        self.assertEqual({record["outcome"] for record in tune["records"]}, {"ok"})
        self.assertEqual(self.figure("alarms")["rows"], [["Hone Double", "3", "0", "0"]])

    def test_wrong_points(self):
        text = self.alarms("--points", 100, self.folder / "keep.yaml", expect=1)
        self.assertRegex(text, r"(?m)^  wrong_result: \S+keep\.yaml --strategy random .*FAULT=3.*: kept\[0\] is 2500; expected 2499")
        self.assertRegex(text, r"(?m)^8 points of 1 tunes, 6 false alarms or failures, 0 tunes left out, \d+ s$")

    def test_nothing_is_no_success(self):
        text = self.alarms("--within", 0, self.config, expect=1)
        self.assertRegex(text, r"^0 points of 0 tunes, 0 false alarms or failures, 1 tunes left out, \d+ s\n"
                         r"0 honest variants, 0 suspected, 0 accused, 0 checks failed\n$")

    def test_enough(self):
        text = self.alarms("--points", 3, "--enough", 3, "--jobs", 1, self.config, self.config, expect=0)
        self.assertRegex(text, r"(?m)^3 honest variants, ")


class Suspects(double.Case):
    """Launches of a sample whose outputs were poisoned take 40 us longer, and the kernel 30 us."""

    def check(self, suspicion, line, *arguments, **settings):
        point = [word for value in ("CLUSTER=1", "COOPERATIVE=false", "SHARED=1024", "CARVEOUT=-1") for word in ("-s", value)]
        words = ("tune", self.folder / "attributes.yaml", "-p", "n=600000", *point, "--full", *arguments)
        self.assertRegex(self.hone(*words, HONE_DOUBLE_POISON_US="40", **settings).stdout, f"(?m)^  {line}$")
        # What became of it is in the cache.
        tuning, = json.loads(self.hone(*words, "--json", "--quiet").stdout)
        self.assertEqual(tuning["outcomes"], {"ok": 1})
        self.assertAlmostEqual(tuning["best"]["timing"]["median_us"], 30, delta=1)
        self.assertEqual(tuning["best"]["suspicion"], suspicion)

    FAILED = "warning: the check for work that is left out failed for [1-9]: its control looked guilty as well, or it came to no end; " \
        "nobody is accused"

    def test_slow_in_one_process(self):
        """What does not happen again in another process is noise."""
        self.check("acquitted", "suspected of leaving work out, and acquitted: [1-9]", HONE_DOUBLE_POISON_ONCE=str(self.folder / "once"))

    def test_slow_everywhere(self):
        """What happens to the control, too, is the check's failure."""
        self.check("check failed", self.FAILED)

    def test_slow_in_the_race(self):
        """Warm launches are compared with others in the race alone."""
        self.check("check failed", self.FAILED, "--regime", "warm")


class TrustInReplays(Case):
    """bench/replay/run.py counts verdicts: of kernels that nobody touched, and of some that were made slower."""

    def trust(self, *arguments, expect):
        command = [sys.executable, "-B", hone.SOURCE / "bench" / "replay" / "run.py", "--kernels", "1", "--replays", "2",
                   "--sizes", "4000,8000", *arguments]
        result = subprocess.run(command, env=self.environment(HONE=hone.HONE, HONE_DOUBLE=double.DOUBLE, HONE_FIGURES=str(self.folder)), text=True,
                                capture_output=True, timeout=300)
        self.assertEqual(result.returncode, expect, result.stdout + result.stderr)
        return result.stdout

    def test_counts(self):
        self.assertRegex(self.trust(expect=0), r"2 replays: 0 SLOWER or WRONG, 0 of a slower machine; of 1 kernels made 8% slower 1 found; 0 left out or failed")
        self.assertEqual(self.figure("replays")["rows"], [["Hone Double", "2", "0", "1 of 1"]])
        self.assertIn("made 3% slower 0 found", self.trust("--slower", "3", expect=1))


@unittest.skipUnless(importlib.util.find_spec("yaml"), "there is no PyYAML")
class Winners(Case):
    """bench/winners.py: several tunes of a kernel, and what became of their winners."""

    def winners(self, *arguments):
        command = [sys.executable, "-B", hone.SOURCE / "bench" / "winners.py", "--peer-seeds", "0", "--out", self.folder / "out", *map(str, arguments)]
        result = subprocess.run(command, env=self.environment(HONE=hone.HONE, HONE_FIGURES=str(self.folder)), text=True, capture_output=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_on_the_double(self):
        """Every tune comes to the end of the space, whose best point is the same at both sizes."""
        arguments = "--seconds", 30, "--seeds", 2, "--replays", 1, "--jobs", 2, f"{self.config}:n=24576:n=81920"
        self.assertRegex(self.winners(*arguments), r"^scale, 24 \| 0\.0%, 0\.0% \| 0, 0 of 2 \|  \|  \| 0\.0%, 0\.0% \| (\d\.\d\d) to \1 \| 0\.0%, 0\.0% \| \d+ s\n")
        row, = self.figure("winners")["rows"]
        self.assertEqual(row[:3], ["30 s, 2 at a time", "0.0%, 0.0%", "0, 0 of 2"])
        # What is known of a kernel is not measured again; and this is how it is counted.
        file = self.folder / "out" / "scale.json"
        found = json.loads(file.read_text())
        best, other, worst = ({"BLOCK": block, "FAULT": 0, "ITEMS": 4} for block in (256, 128, 32))
        names = [json.dumps(point, sort_keys=True) for point in (best, other, worst)]
        found |= {"tunes": [{"point": point} for point in (best, best, other, worst, None)], "times": dict(zip(names, (10, 10.1, 15))), "tied": names[:2],
                  "peer": [{"point": worst}], "elsewhere": [{"times": {names[0]: 11, names[1]: 10}}], "replays": [{"now_us": 9, "recorded_us": 10}], "usual": names[0]}
        file.write_text(json.dumps(found))
        self.assertIn("\nall | 12.8%, 50.0%, 1 none | 3, 2 of 5 | 50.0%, 50.0% | 0, 1 of 1 | 0.0%, 0.0% | 0.90 to 0.90 | 10.0%, 10.0%\n", self.winners(*arguments))

    def test_on_a_recording(self):
        self.winners("--recorded", "--seeds", 3, "configs/spheres.yaml:spheres-access-divergent-*")
        rows = self.figure("winners-recorded")["rows"]
        self.assertEqual([row[:2] for row in rows], [["`spheres`, 208", "0.0%, 0.0%"], ["all 1", "0.0%, 0.0%"]])
        self.assertRegex(rows[1][2], r"^\d, 0 of 3$")
        found = json.loads((self.folder / "out" / "spheres-recorded.json").read_text())
        self.assertEqual({tune["us"] for tune in found["tunes"]}, {min(found["times"].values())})
