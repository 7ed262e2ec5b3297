# SPDX-License-Identifier: MIT
"""`hone tune --budget` with a time, on the driver double: the end is kept whatever is under way then, and that is no failure."""

import json

import double

BEST = {"BLOCK": 256, "FAULT": 0, "ITEMS": 4}
GOOD = 4
# Nothing is begun when the budget has ended, and what is under way is killed then: it would take ten minutes, and a busy
# machine less than this.
LATE_S = 120
NEVER_COMPILES = {"HONE_DOUBLE_COMPILING": "FAULT=20: 600000"}


def more_and_more(budget_s):
    return budget_s, 4 * budget_s, 16 * budget_s


def measured(tuning):
    return tuning["outcomes"].get("ok", 0) + tuning["outcomes"].get("slower", 0)


class Budget(double.Case):
    def plant(self, fault, default=0):
        """Beside the good points one with a fault: 20 never compiles, 3 never ends on the GPU."""
        self.spoil(self.config, "{powers_of_two: [32, 1024]}", "[128, 256]")
        self.spoil(self.config, "[1, 2, 4, 8]", "[1, 4]")
        self.spoil(self.config, "FAULT: [0]", f"FAULT: [0, {fault}]")
        self.spoil(self.config, "FAULT: 0}", f"FAULT: {default}}}")
        self.spoil(self.config, "\narguments:", "\nconstraints: [FAULT == 0 or BLOCK == 128 and ITEMS == 1]\n\narguments:")

    def tune_within(self, budget_s, *arguments, least=GOOD, expect=0, jobs=2):
        """The tunings, and the budget: more than this where a slow machine had not measured `least` points of a problem by then."""
        for budget_s in more_and_more(budget_s):
            self.cache.unlink(missing_ok=True)
            process = self.start("tune", self.config, "--quiet", "--jobs", jobs, "--strategy", "exhaustive", "--run-timeout", "300", "--json",
                                 "--budget", f"{budget_s}s", *arguments, **NEVER_COMPILES)
            output, self.said = process.communicate()
            tunings = json.loads(output)
            if isinstance(tunings, list) and all(measured(tuning) >= least for tuning in tunings):
                break
        self.assertEqual(process.returncode, expect, self.said)
        for tuning in tunings:
            self.assertLess(tuning["time"]["elapsed_s"], budget_s + LATE_S)
            for phase in tuning["time"]["phases"]:
                self.assertLessEqual(phase["from_s"], budget_s + LATE_S, phase)
        return tunings, budget_s

    def check(self, tuning):
        self.assertEqual(measured(tuning), GOOD)
        self.assertEqual(sum(tuning["outcomes"].values()), GOOD, "what was under way is no failure")
        self.assertEqual(tuning["best"]["point"], BEST)
        self.assertTrue(tuning["best"]["final"], "the race had its part of the time")
        self.assertEqual((tuning["cut"], tuning["unraced"]), (1, False))

    def test_what_compiles_is_killed(self):
        self.plant(20)
        (tuning,), budget_s = self.tune_within(5)
        self.check(tuning)
        waits = tuning["time"]["waits"]
        self.assertGreater(waits["single_s"], 0, "all waited for the one")
        self.assertEqual(self.sql("SELECT count(DISTINCT point) FROM record"), [(GOOD,)])
        for budget_s in more_and_more(budget_s - 1):
            shown = self.hone("tune", self.config, "--quiet", "--jobs", "2", "--strategy", "exhaustive", "--budget", f"{budget_s}s", **NEVER_COMPILES).stdout
            if "the GPU waited" in shown:
                break
        self.assertIn("\n  the budget ended with 1 point under way, of which nothing is kept\n", shown)
        self.assertRegex(" ".join(shown.split()), r"the GPU waited [0-9.]+ s for the compiler; [0-9.]+ s for one point alone, or "
                         r"the last ones \(--compile-timeout")

    def test_what_runs_is_killed(self):
        self.plant(3)
        (tuning,), _ = self.tune_within(4, least=1)
        self.assertNotIn("run_timeout", tuning["outcomes"])
        self.assertGreaterEqual(tuning["cut"], 1)
        point, = self.sql("SELECT point FROM record WHERE outcome = 'ok' ORDER BY objective LIMIT 1")
        self.assertIn(point, self.sql("SELECT point FROM image"), "the best runs without a compiler")

    def test_each_problem_has_its_own(self):
        self.plant(20)
        self.spoil(self.config, "problem: {n: 24576}", "problem: [{n: 24576}, {n: 32768}]")
        tunings, _ = self.tune_within(5)
        self.assertEqual(len(tunings), 2)
        for tuning in tunings:
            self.check(tuning)

    def test_what_compiles_does_not_wait_for_the_default_point(self):
        """Which never compiles: from the middle of the budget on others come first."""
        self.plant(20, default=20)
        (tuning,), _ = self.tune_within(4, least=1, jobs=3)
        self.assertGreaterEqual(tuning["outcomes"].get("ok", 0), 1)

    def test_what_is_not_worth_its_time_is_stopped(self):
        """One point takes long, as nothing told that it would; later there is time for it."""
        self.spoil(self.config, "{powers_of_two: [32, 1024]}", "{range: [32, 1024], step: 32}")
        self.spoil(self.config, "[1, 2, 4, 8]", "{range: [1, 8], step: 1}")
        command = ["tune", self.config, "--json", "--quiet", "--strategy", "model", "--look-ahead", "1", "--stop-chance", "0"]
        tuning, = json.loads(self.hone(*command, "--budget", "40", HONE_DOUBLE_COMPILING="BLOCK=288 ITEMS=4: 40000").stdout)
        self.assertEqual(sum(tuning["outcomes"].values()), 40)
        stopped = {double.name(record["point"]): record["message"] for record in tuning["records"] if record["outcome"] == "compile_stopped"}
        if double.name(BEST) not in stopped:  # a busy machine may hold up others, too
            self.assertEqual(tuning["best"]["point"], BEST)
        self.assertRegex(stopped["BLOCK=288,FAULT=0,ITEMS=4"], r"^the compiler was stopped after \d+\.\d s, in which other points promise more$")
        again, = json.loads(self.hone(*command, "-s", "BLOCK=288,ITEMS=4").stdout)
        self.assertEqual((again["outcomes"], again["reused"]), ({"ok": 1}, 0))

    def test_nothing_was_measured(self):
        self.plant(20, default=20)
        self.spoil(self.config, "FAULT: [0, 20]", "FAULT: [20]")
        (tuning,), budget_s = self.tune_within(2, least=0, expect=3)
        self.assertEqual(tuning["best"], None)
        self.assertIn(f"hone: the budget of {budget_s} s ended before a variant was measured; points were under way: give it more", self.said)
