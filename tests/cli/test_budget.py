# SPDX-License-Identifier: MIT
"""`hone tune --budget` with a time, on the driver double: the end is kept whatever is under way then, and that is no failure."""

import json
import time

import double

# Four million instantiations: minutes in the compiler's front end.
SLOW_CU = """
#if FAULT == 20
template <int depth, unsigned path>
struct tree {
    static const unsigned sum = tree<depth - 1, 2 * path>::sum + tree<depth - 1, 2 * path + 1>::sum;
};
template <unsigned path>
struct tree<0, path> {
    static const unsigned sum = path;
};
extern "C" __device__ const unsigned leaves = tree<22, 1>::sum;
#endif
"""
BEST = {"BLOCK": 256, "FAULT": 0, "ITEMS": 4}
GOOD = 4
# What a busy machine needs beside; far from the minute that a compilation or a launch may take here.
LATE_S = 8


class Budget(double.Case):
    def setUp(self):
        super().setUp()
        with open(self.folder / "scale.cu", "a") as file:
            file.write(SLOW_CU)

    def plant(self, fault, default=0):
        """Beside the good points one with a fault: 20 never compiles, 3 never ends on the GPU."""
        self.spoil(self.config, "{powers_of_two: [32, 1024]}", "[128, 256]")
        self.spoil(self.config, "[1, 2, 4, 8]", "[1, 4]")
        self.spoil(self.config, "FAULT: [0]", f"FAULT: [0, {fault}]")
        self.spoil(self.config, "FAULT: 0}", f"FAULT: {default}}}")
        self.spoil(self.config, "\narguments:", "\nconstraints: [FAULT == 0 or BLOCK == 128 and ITEMS == 1]\n\narguments:")

    def tune_within(self, budget_s, *arguments, problems=1, expect=0, jobs=2):
        started = time.monotonic()
        result = self.hone("tune", self.config, "--quiet", "--jobs", jobs, "--strategy", "exhaustive", "--run-timeout", "60", "--json",
                           "--budget", f"{budget_s}s", *arguments, expect=expect)
        self.assertLess(time.monotonic() - started, problems * budget_s + LATE_S)
        return result

    def check(self, tuning):
        self.assertEqual(tuning["outcomes"].get("ok", 0) + tuning["outcomes"].get("slower", 0), GOOD)
        self.assertEqual(sum(tuning["outcomes"].values()), GOOD, "what was under way is no failure")
        self.assertEqual(tuning["best"]["point"], BEST)
        self.assertTrue(tuning["best"]["final"], "the race had its part of the time")
        self.assertEqual((tuning["cut"], tuning["unraced"]), (1, False))

    def test_what_compiles_is_killed(self):
        self.plant(20)
        tuning, = json.loads(self.tune_within(9).stdout)
        self.check(tuning)
        waits = tuning["time"]["waits"]
        self.assertGreater(waits["single_s"], max(waits["look_ahead_s"], 0.5), "all waited for the one")
        self.assertEqual(self.sql("SELECT count(DISTINCT point) FROM record"), [(GOOD,)])
        shown = self.hone("tune", self.config, "--quiet", "--jobs", "2", "--strategy", "exhaustive", "--budget", "5s").stdout
        self.assertIn("\n  the budget ended with 1 point under way, of which nothing is kept\n", shown)
        self.assertRegex(" ".join(shown.split()), r"the GPU waited [0-9.]+ s for the compiler; [0-9.]+ s for one point alone, or "
                         r"the last ones \(--compile-timeout")

    def test_what_runs_is_killed(self):
        self.plant(3)
        tuning, = json.loads(self.tune_within(6).stdout)
        self.assertNotIn("run_timeout", tuning["outcomes"])
        self.assertGreaterEqual(tuning["cut"], 1)

    def test_each_problem_has_its_own(self):
        self.plant(20)
        self.spoil(self.config, "problem: {n: 65536}", "problem: [{n: 65536}, {n: 32768}]")
        tunings = json.loads(self.tune_within(9, problems=2).stdout)
        self.assertEqual(len(tunings), 2)
        for tuning in tunings:
            self.check(tuning)

    def test_what_compiles_does_not_wait_for_the_default_point(self):
        """Which never compiles: from the middle of the budget on others come first."""
        self.plant(20, default=20)
        tuning, = json.loads(self.tune_within(4, jobs=3).stdout)
        self.assertGreaterEqual(tuning["outcomes"].get("ok", 0), 1)

    def test_what_is_not_worth_its_time_is_stopped(self):
        """One point takes long, as nothing told that it would; later there is time for it."""
        self.spoil(self.config, "{powers_of_two: [32, 1024]}", "{range: [32, 1024], step: 32}")
        self.spoil(self.config, "[1, 2, 4, 8]", "{range: [1, 8], step: 1}")
        command = ["tune", self.config, "--json", "--quiet", "--strategy", "model", "--look-ahead", "1", "--stop-chance", "0"]
        tuning, = json.loads(self.hone(*command, "--budget", "40", HONE_DOUBLE_COMPILING="BLOCK=288 ITEMS=4: 40000").stdout)
        self.assertEqual(tuning["outcomes"].pop("compile_stopped"), 1)
        self.assertEqual(sum(tuning["outcomes"].values()), 39)
        self.assertEqual(tuning["best"]["point"], BEST)
        stopped, = [record for record in tuning["records"] if record["outcome"] == "compile_stopped"]
        self.assertEqual(stopped["point"], {"BLOCK": 288, "FAULT": 0, "ITEMS": 4})
        self.assertRegex(stopped["message"], r"^the compiler was stopped after \d+\.\d s, in which other points promise more$")
        again, = json.loads(self.hone(*command, "-s", "BLOCK=288,ITEMS=4").stdout)
        self.assertEqual((again["outcomes"], again["reused"]), ({"ok": 1}, 0))

    def test_nothing_was_measured(self):
        self.plant(20, default=20)
        self.spoil(self.config, "FAULT: [0, 20]", "FAULT: [20]")
        result = self.tune_within(2, expect=3)
        self.assertEqual(json.loads(result.stdout)[0]["best"], None)
        self.assertIn("hone: the budget of 2 s ended before a variant was measured; points were under way: give it more",
                      result.stderr)


if __name__ == "__main__":
    double.main()
