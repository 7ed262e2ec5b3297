# SPDX-License-Identifier: MIT
"""How a tune starts: what is compiled before the device is known, by a guess at it, and what becomes of a wrong guess."""

import json

import double
import hone

# The driver double takes this long to come up: so long that a busy machine has begun to compile meanwhile, where that matters.
INIT_MS = 500
LONG_INIT_MS = 4000


def first_phases(tuned):
    """The first of each kind: the winner is measured in workers that open the device again."""
    return {phase["what"]: phase for phase in reversed(tuned["time"]["phases"])}


class Start(double.Case):
    def tune_guessing(self, devices, init_ms=INIT_MS):
        """The document of a tune where NVML says that the devices have these compute capabilities; the double's is 9.0."""
        command = ["tune", self.config, "--json", "--quiet", "--strategy", "exhaustive", "-s", "ITEMS=1"]
        result = hone.Case.hone(self, *command, **self.own_folders(), HONE_DOUBLE_NVML=devices,
                                HONE_DOUBLE_INIT_MS=str(init_ms), LD_LIBRARY_PATH=f"{double.DOUBLE}/nvml:{double.DOUBLE}")
        tuned, = json.loads(result.stdout)
        self.assertEqual(tuned["compute_capability"], 90)
        self.assertEqual((tuned["points"], sum(tuned["outcomes"].values())), (6, 6))
        return tuned, first_phases(tuned)

    def test_compiles_before_the_device_is_known(self):
        tuned, phases = self.tune_guessing("90", LONG_INIT_MS)
        self.assertEqual(tuned["best"]["point"]["BLOCK"], 256)
        self.assertTrue(tuned["health"]["watching"])
        self.assertGreater(phases["open"]["busy_s"], LONG_INIT_MS / 1e3)
        self.assertLess(phases["compile"]["from_s"], phases["open"]["to_s"])
        # Reference, support kernels and roofs beside the 6 points, of which the default is one: nothing is compiled twice.
        self.assertEqual(phases["compile"]["count"], 9)

    def test_what_a_search_waits_with_is_not_compiled_again(self):
        """A strategy that waits for results proposes a pending point again and again."""
        command = ["tune", self.config, "--json", "--quiet", "--stop-chance", "0", "--look-ahead", "128", "--jobs", "16"]
        result = hone.Case.hone(self, *command, **self.own_folders(), HONE_DOUBLE_NVML="90",
                                HONE_DOUBLE_INIT_MS=str(LONG_INIT_MS), LD_LIBRARY_PATH=f"{double.DOUBLE}/nvml:{double.DOUBLE}")
        tuned, = json.loads(result.stdout)
        phases = first_phases(tuned)
        self.assertEqual(sum(tuned["outcomes"].values()), 24)
        self.assertLess(phases["compile"]["from_s"], phases["open"]["to_s"])
        self.assertEqual(phases["compile"]["count"], 24 + 3)

    def test_a_wrong_guess_is_thrown_away(self):
        right, _ = self.tune_guessing("90")
        self.cache.unlink()
        tuned, phases = self.tune_guessing("80", LONG_INIT_MS)
        self.assertLess(phases["compile"]["from_s"], phases["open"]["to_s"])
        self.assertGreater(phases["compile"]["count"], 9)
        codes = [sorted((double.name(record["point"]), record["code_hash"]) for record in document["records"])
                 for document in (right, tuned)]
        self.assertEqual(*codes)

    def test_without_a_guess_it_waits(self):
        for devices in ("", "90,80", "33"):
            with self.subTest(devices=devices):
                _, phases = self.tune_guessing(devices)
                self.assertGreaterEqual(phases["compile"]["from_s"], phases["open"]["to_s"])
                self.cache.unlink()

    def test_a_cache_that_knows_it_is_not_compiled_ahead(self):
        self.tune_guessing("90")
        tuned, phases = self.tune_guessing("90")
        self.assertEqual(tuned["reused"], 6)
        self.assertNotIn("compile", phases)

    def test_a_space_too_large_to_be_numbered(self):
        """What is held goes with what was tried: 3.6e9 points, of which 30 are."""
        text = self.config.read_text()
        for values in ("{powers_of_two: [32, 1024]}", "[1, 2, 4, 8]"):
            self.assertIn(values, text)
            text = text.replace(values, "{range: [1, 60000], step: 1}")
        self.config.write_text(text)
        command = ["tune", self.config, "--strategy", "random", "--budget", "30", "--quiet"]
        result = self.hone(*command)
        self.assertRegex(result.stdout, r"\(30 of (about )?3\S+ points\)")
        again = self.hone(*command)
        self.assertRegex(again.stdout, r"\(30 of (about )?3\S+ points, 30 of them from the cache\)")

    def test_problems_share_the_workers(self):
        text = self.config.read_text()
        self.assertIn("problem: {n: 24576}", text)
        self.config.write_text(text.replace("problem: {n: 24576}", "problem: [{n: 24576}, {n: 32768}]"))
        result = self.hone("tune", self.config, "--json", "--quiet", "--strategy", "exhaustive", "-s", "ITEMS=1")
        first, second = json.loads(result.stdout)
        for tuned in (first, second):
            self.assertEqual(sum(tuned["outcomes"].values()), 6)
            self.assertLessEqual(tuned["time"]["gpu_busy_s"], tuned["time"]["elapsed_s"])
        whats = [[phase["what"] for phase in tuned["time"]["phases"]] for tuned in (first, second)]
        self.assertIn("open", whats[0])
        self.assertIn("context", whats[0])
        self.assertNotIn("open", whats[1][:whats[1].index("race")])
        self.assertNotIn("context", whats[1][:whats[1].index("race")])
        self.assertEqual(whats[1][:2], ["bench", "reference"])
        self.assertNotIn("compile", whats[1], "n is no constant of the programs: they are those of the first")
