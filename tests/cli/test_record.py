# SPDX-License-Identifier: MIT
"""scripts/record: full tunings as files, gone on with from those files, and scripts/ladder-tables, which reads them."""

import gzip
import importlib.machinery
import importlib.util
import json
import subprocess
import sys
import tarfile
import unittest

import double
import hone

SCRIPTS = hone.SOURCE / "scripts"


class Record(double.Case):
    def setUp(self):
        super().setUp()
        self.recorded = self.folder / "recorded"
        self.file = self.recorded / "hone-double" / "scale-n-24576-hone-double-cold.json.gz"
        self.calls = 0

    def record(self, *arguments, expect=0, script=SCRIPTS / "record"):
        """Each call has a cache of its own, as on a machine that is lent anew."""
        self.calls += 1
        settings = self.environment(HONE=hone.HONE, HONE_RECORDED=str(self.recorded),
                                    HONE_RECORD_CACHE=str(self.folder / f"record{self.calls}.db"))
        result = subprocess.run([sys.executable, "-B", script, *map(str, arguments)], env=settings, text=True,
                                capture_output=True, timeout=120)
        self.assertEqual(result.returncode, expect, result.stdout + result.stderr)
        return result.stdout

    def rows(self):
        with gzip.open(self.file, "rt") as file:
            return json.load(file)["cache"]

    def test_goes_on_from_the_files(self):
        output = self.record(self.config, "-s", "ITEMS=1")
        self.assertRegex(output, r"^scale n=24576: 6 of 6 points, [\d.]+ s; best [\d.]+ us, [\d.]+ gbps: BLOCK=")
        self.assertEqual(len(self.rows()), 6)
        output = self.record(self.config)
        self.assertRegex(output, r"^scale n=24576: 24 of 24 points, 6 from before, ")
        self.assertEqual(len(self.rows()), 24)
        self.assertRegex(self.record(self.config), r"^scale n=24576: 24 of 24 points, 24 from before, ")

    def test_a_sweep_is_one_run(self):
        self.config.write_text(self.config.read_text().replace("{n: 24576}", "{n: [64, 128]}"))
        output = self.record(self.config, "-s", "BLOCK=64")
        self.assertRegex(output, r"^scale n=64: 4 of 4 points, [\d.]+ s for all 2; .*\nscale n=128: 4 of 4 points")
        self.assertEqual(len(list(self.file.parent.iterdir())), 2)

    def test_the_rule_of_a_family(self):
        self.spoil(self.config, "problem: {n: 24576}", "family: {n: {range: [1, 1000]}}")
        self.assertIn(" for any size, ", self.record("--within", 5, "--family", self.config, "--held-out", 1))
        self.assertEqual([path.name for path in self.file.parent.iterdir()], ["scale-hone-double-cold.family.gz"])

    def test_out_of_time(self):
        archive = self.folder / "recorded.tar.gz"
        self.record(self.config, "-s", "BLOCK=64,ITEMS=1")
        output = self.record("--within", 0, "--pack", archive, self.config)
        self.assertIn("out of time for 1 tunings, from scale on: run it again", output)
        with tarfile.open(archive) as packed:
            self.assertEqual(packed.getnames(), ["hone-double", f"hone-double/{self.file.name}"])

    def test_what_is_stale_is_measured_again(self):
        archive = self.folder / "again.tar.gz"
        stale = ["--stale", "--within", 100, "--pack", archive, self.config]
        self.config.write_text(self.config.read_text().replace("{n: 24576}", "{n: [64, 24576]}"))
        self.record(self.config, "-s", "BLOCK=64")
        self.assertNotIn("points", self.record(*stale))
        with tarfile.open(archive) as packed:
            self.assertEqual(packed.getnames(), [])
        template = self.folder / "scale.cu"
        template.write_text("// Another text.\n" + template.read_text())
        output = self.record(*stale)
        self.assertRegex(output, r"(?m)^scale n=64: 24 of 24 points, [\d.]+ s")
        self.assertNotIn("still stale", output)
        with tarfile.open(archive) as packed:
            self.assertEqual(packed.getnames(), [f"hone-double/scale-n-{n}-hone-double-cold.json.gz" for n in (24576, 64)])
        self.assertEqual(len(self.rows()), 24)
        self.assertNotIn("points", self.record(*stale))

    def test_large_spaces_that_are_stale_are_searched_from_what_was_best(self):
        self.record(self.config)
        with gzip.open(self.file, "rt") as file:
            rows = [row for row in json.load(file)["cache"].values() if row["hone"]["outcome"] == "ok"]
        rows = sorted(rows, key=lambda row: row["hone"]["objective"])
        template = self.folder / "scale.cu"
        template.write_text("// Another text.\n" + template.read_text())
        script = self.folder / "record"
        # One compilation at a time: of several that are begun together any may end first, and is measured first.
        events = self.folder / "events"
        script.write_text((SCRIPTS / "record").read_text().replace("SEARCHED = {", "SEARCHED = {'scale': 1, ")
                          .replace('"--jobs", jobs', f'"--jobs", 1, "--events", "{events}"'))
        self.assertIn("scale n=24576: ", self.record("--stale", "--within", 12, self.config, script=script))
        # On a busy machine one may be put off that takes long to compile.
        first = double.searched(self.read_events(events))[:6]
        best = [double.name({key: row[key] for key in ("BLOCK", "FAULT", "ITEMS")}) for row in rows[1:4]]
        self.assertGreaterEqual(len(set(best) & set(first)), 2, first)

    def test_search_shares_the_time(self):
        self.config.write_text(self.config.read_text().replace("{n: 24576}", "{n: [64, 128, 256]}"))
        output = self.record("--within", 200, "--search", "--at-once", 2, self.config, "--strategy", "random")
        for n in (64, 128, 256):
            self.assertRegex(output, rf"(?m)^scale n={n}: 24 of 24 points, \d+ s; best ")
        self.assertEqual(len(list(self.file.parent.iterdir())), 3)
        self.assertIn("out of time", self.record("--within", 3, "--search", self.config))

    def test_bad_variants_are_named(self):
        self.config.write_text(self.config.read_text().replace("FAULT: [0]", "FAULT: [0, 4]"))
        output = self.record(self.config, "-s", "BLOCK=64,ITEMS=1", expect=1)
        self.assertIn("  BAD: 1 wrong_result, as BLOCK=64,FAULT=4,ITEMS=1: y[", output)


def load_script(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(SCRIPTS / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


class LadderTables(unittest.TestCase):
    """Of the recordings that are shipped."""

    def setUp(self):
        try:
            self.script = load_script("ladder-tables")
        except ImportError:
            self.skipTest("needs PyYAML")
        self.folder = hone.SOURCE / "cache" / "recorded" / "nvidia-h200"

    def test_document_is_what_the_recordings_give(self):
        result = subprocess.run([sys.executable, "-B", SCRIPTS / "ladder-tables", "--check"], text=True, capture_output=True)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)

    def test_best_is_the_smallest_time(self):
        for recording in self.script.recordings(self.folder, "matmul", {}):
            best = recording.best()
            self.assertEqual(best["hone"]["outcome"], "ok")
            finals = [row["time"] for row in recording.rows if row["hone"]["final"]]
            self.assertEqual(best["time"], min(finals))

    def test_gain_is_against_the_first_step(self):
        config, merit = self.script.load_config("matmul")
        recording, = self.script.recordings(self.folder, "matmul", {"K": "32"})
        lines = self.script.ladder_table(config, merit, recording).splitlines()[4:]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        self.assertEqual(cells[0][0], "VARIANT=simple")
        self.assertEqual(cells[0][-1], "1.00")
        for row in cells[1:]:
            self.assertAlmostEqual(float(row[-1]), float(row[3]) / float(cells[0][3]), delta=0.01)

    def test_a_step_of_a_newer_parameter_is_not_in_an_older_recording(self):
        config, merit = self.script.load_config("matmul")
        recording, = self.script.recordings(self.folder, "matmul", {"K": "32"})
        before = self.script.ladder_rows(config, merit, recording)
        config["ladder"].append(config["ladder"][-1] | {"NEWER": 2})
        config["defaults"]["NEWER"] = 1
        self.assertEqual(self.script.ladder_rows(config, merit, recording), before)

    def test_gains_are_of_the_best(self):
        recording, = self.script.recordings(self.folder, "copy", {})
        row = self.script.gains_table("copy", self.folder).splitlines()[-2]
        self.assertIn(f"| {self.script.duration(recording.best()['time'])} |", row)
        plain = next(row for row in recording.rows if (row["VECTOR"], row["ITEMS"], row["BLOCK"]) == (1, 1, 256) and row["LOAD"] == "plain"
                     and row["STORE"] == "plain" and row["L1"] == "ca")
        self.assertTrue(row.endswith(f"| {recording.best()['gb_per_s'] / plain['gb_per_s']:.2f} |"), row)

    def test_nothing_recorded(self):
        text = self.script.block(["matmul", "K=33"], self.folder)
        self.assertEqual(text, "\nNot recorded yet.\n\n")
