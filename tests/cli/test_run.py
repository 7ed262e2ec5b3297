# SPDX-License-Identifier: MIT
"""`hone run --json`: a verdict that a program acts on, and the loop of docs/how-to.md around it."""

import json
import re
import shutil
import subprocess
import unittest

import double
import hone


class Verdict(double.Case):
    def judge(self, *arguments, expect=0, **settings):
        document = json.loads(self.hone("run", *arguments, "--json", expect=expect, **settings).stdout)
        problem, = document["problems"]
        self.assertEqual((document["outcome"], document["message"]), (problem["outcome"], problem["message"]))
        self.assertEqual(problem["record"]["outcome"], problem["outcome"])
        return document, problem

    def assert_no_speedup(self, problem, why):
        self.assertEqual((problem["times"], problem["speedup"], problem["no_speedup"]), (None, None, why))

    def test_a_valid_point(self):
        document, problem = self.judge(self.config)
        self.assertEqual((document["format"], document["kernel"], document["outcome"]), (1, "scale", "ok"))
        self.assertEqual((document["device"]["name"], document["device"]["capability"]), ("Hone Double", 90))
        self.assertEqual(set(document["versions"]), {"hone", "driver", "nvrtc", "protocol"})
        self.assertEqual((problem["regime"], problem["problem"]), ("cold", {"n": 24576}))
        verified = problem["verified"]
        self.assertEqual((verified["kind"], verified["seeds"], verified["guard_zones"]),
                         ("verified", 2, {"bytes": 65536, "intact": True}))
        self.assertGreaterEqual(verified["launches"], 5)
        self.assertLessEqual(verified["max_error"], verified["tolerance"])
        self.assertEqual(problem["clocks"]["sm_mhz"], 1980)

    def test_the_speedup_is_over_the_reference(self):
        """The double's reference takes 200 us, and the point about 61."""
        _, problem = self.judge(self.config)
        times, speedup = problem["times"], problem["speedup"]
        self.assertGreaterEqual(times["rounds"], 6)
        self.assertAlmostEqual(times["reference"]["median_us"], 200, delta=1)
        self.assertAlmostEqual(speedup["median"], 200 / times["variant"]["median_us"], delta=0.05)
        self.assertLess(speedup["low"], speedup["median"])
        self.assertLess(speedup["median"], speedup["high"])
        self.assertIsNone(problem["no_speedup"])

    def test_a_point_beside_itself(self):
        """Verified against the template at its defaults, which is the point."""
        _, problem = self.judge(self.folder / "accumulate.yaml")
        self.assertEqual(problem["verified"]["kind"], "self-verified")
        self.assertLessEqual(problem["speedup"]["low"], 1)
        self.assertGreaterEqual(problem["speedup"]["high"], 1)

    def test_a_default_point_for_some_problems(self):
        """It stands in for a tuned one, and a tune begins with it."""
        self.spoil(self.config, "defaults: {", "defaults:\n  - {if: n > 20000, BLOCK: 512}\n  - {")
        for n, block in ((24576, 512), (1000, 128)):
            _, problem = self.judge(self.config, "-p", f"n={n}")
            self.assertEqual(problem["record"]["point"], {"BLOCK": block, "FAULT": 0, "ITEMS": 1})
        self.tune("--budget", "1", "--strategy", "random", "--events", self.events)
        events = [json.loads(line) for line in self.events.read_text().splitlines()]
        points = [event["record"]["point"] for event in events if event["event"] == "record"]
        self.assertEqual(points[0], {"BLOCK": 512, "FAULT": 0, "ITEMS": 1})
        self.spoil(self.config, "defaults:", "promising: [BLOCK < 512]\ndefaults:")
        _, problem = self.judge(self.config)
        self.assertEqual(problem["record"]["point"]["BLOCK"], 512, "worth no search, and valid")

    def test_a_wrong_point(self):
        document, problem = self.judge(self.folder / "faults.yaml", "-s", "FAULT=4", expect=3)
        self.assertEqual(document["outcome"], "wrong_result")
        self.assertIn("y[12288] is", document["message"])
        self.assertEqual((problem["verified"]["seeds"], problem["verified"]["guard_zones"]["intact"]), (0, None))
        self.assert_no_speedup(problem, "the variant is not valid")
        for fault, said in ((4, self.assertNotIn), (0, self.assertIn)):  # a wrong point is not called verified
            result = self.hone("run", "faults.yaml", "-s", f"FAULT={fault}", "--verify-only", expect=3 if fault else 0)
            said("\n  verified     max error ", result.stdout)
        self.fails(2, "hone: --verify-only takes no times: leave --energy out", "run", self.config, "--verify-only", "--energy")

    def test_a_write_past_the_end(self):
        _, problem = self.judge(self.folder / "faults.yaml", "-s", "FAULT=5", expect=3)
        self.assertEqual((problem["outcome"], problem["verified"]["guard_zones"]["intact"]), ("out_of_bounds", False))

    def test_a_point_that_does_not_compile(self):
        self.spoil(self.folder / "scale.cu", "y[i] =", "y[j] =")
        document, _ = self.judge(self.config, expect=3)
        self.assertEqual(document["outcome"], "compile_error")
        self.assertIn('identifier "j" is undefined', document["message"])

    def test_without_a_reference(self):
        text = re.sub(r"^reference: .*$", "reference: none", self.config.read_text(), flags=re.M)
        self.config.write_text(text)
        _, problem = self.judge(self.config)
        self.assertEqual(problem["verified"]["kind"], "unverified")
        self.assert_no_speedup(problem, "the config says `reference: none`")

    def test_a_pipeline(self):
        _, problem = self.judge(self.folder / "pipeline.yaml")
        self.assert_no_speedup(problem, "the reference runs in device memory, the pipeline from host memory to host memory")

    def test_verify_only(self):
        _, problem = self.judge(self.config, "--verify-only")
        self.assertEqual(problem["verified"]["seeds"], 1)
        self.assert_no_speedup(problem, "no times were asked for (--verify-only)")

    def test_what_can_not_be_judged(self):
        """An error in place of the document, and the exit code of a run that failed."""
        result = self.hone("run", self.config, "--json", expect=1, HONE_DOUBLE_MEMORY="600000")
        self.assertEqual(list(json.loads(result.stdout)), ["error"])
        result = self.hone("run", self.config, "--json", "--seed", "some", expect=2)
        self.assertIn("--seed: found 'some', expected a whole number from 0", result.stderr)


@unittest.skipUnless(shutil.which("jq"), "there is no jq: run scripts/deps --tests")
class Loop(double.Case):
    def propose(self, name, old="", new=""):
        text = (double.DATA / "scale.cu").read_text()
        self.assertIn(old, text)
        (self.folder / "proposals" / f"{name}.cu").write_text(text.replace(old, new))

    def test_a_program_proposes_and_hone_judges(self):
        page = (hone.SOURCE / "docs" / "how-to.md").read_text()
        section = page.split("## Judge kernels that a program writes\n")[1].split("\n## ")[0]
        loop = re.search(r"^```sh\n(.*?)^```", section, re.M | re.S).group(1)
        self.assertLessEqual(loop.count("\n"), 15)
        (self.folder / "proposals").mkdir()
        self.propose("broken", "y[i] =", "y[j] =")
        self.propose("fast")
        self.propose("hangs", "{BLOCK, ITEMS, FAULT}", "{BLOCK, ITEMS, 3}")
        self.propose("misnamed", "scale(", "scales(")
        self.propose("slow", "{BLOCK, ITEMS, FAULT}", "{32, 1, FAULT}")
        self.propose("wrong", "{BLOCK, ITEMS, FAULT}", "{BLOCK, ITEMS, 4}")
        path = f"{self.folder}/bin:/usr/bin:/bin"
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "hone").symlink_to(hone.HONE)
        result = subprocess.run(["bash", "-c", loop.replace("timeout -k 5 60", "timeout -k 1 20")], cwd=self.folder,
                                env=self.environment(PATH=path), capture_output=True, text=True, timeout=300)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = {re.search(r"proposals/(\w+)\.cu", line).group(1): line for line in result.stdout.splitlines()}
        self.assertEqual(set(lines), {"broken", "fast", "hangs", "misnamed", "wrong"})
        self.assertIn("rejected proposals/broken.cu: compile_error: ", lines["broken"])
        self.assertIn("rejected proposals/hangs.cu: it took too long", lines["hangs"])
        self.assertIn("rejected proposals/misnamed.cu: compile_error: no kernel 'scale'", lines["misnamed"])
        self.assertIn("rejected proposals/wrong.cu: wrong_result: ", lines["wrong"])
        self.assertRegex(lines["fast"], r"^[\d.]+ proposals/fast\.cu$")
        self.assertEqual(len((self.folder / "ranking.txt").read_text().splitlines()), 2)
