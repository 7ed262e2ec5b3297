# SPDX-License-Identifier: MIT
"""hone compile: what it asks for and what it says."""

import json

import hone


class Compile(hone.Case):
    def compile(self, *arguments, **settings):
        return self.hone("compile", self.folder / "saxpy.yaml", "--arch", "sm_90", *arguments, **settings)

    def test_data_is_not_asked_for(self):
        """Code does not depend on what arguments are filled with; nor has a build machine the data."""
        config = self.copy_config()
        self.spoil(config, 'count: SIZE, fill: "uniform(-1, 1)"', "count: SIZE, file: missing.npy")
        self.assertRegex(self.compile().stdout, r"\bok\b")
        self.assertIn("missing.npy", self.hone("tune", config, "--simulate", self.record(), expect=2).stderr)

    def test_features_of_one_architecture(self):
        config = self.copy_config()
        self.spoil(self.folder / "saxpy.cu", "{", '{ asm volatile("wgmma.fence.sync.aligned;");')
        self.assertIn("wgmma.fence", self.compile(expect=3).stdout)
        config.write_text(config.read_text() + "compile: {arch_specific: true}\n")
        [point] = json.loads(self.compile("--json").stdout)
        self.assertEqual((point["architecture"], point["outcome"]), ("sm_90a", "ok"))
        self.assertIn(" sm_90a", self.compile().stdout.splitlines()[0])

    def test_one_point_has_one_value_of_each(self):
        self.copy_config()
        for values, reason in (("BLOCK=64,128", "found '128', expected NAME=VALUE"), ("BLOCK", "found 'BLOCK', expected NAME=VALUE")):
            self.assertEqual(self.compile("-s", values, expect=2).stderr, f"hone: -s {values}: {reason}, as one point is taken\n")

    def test_logs_are_of_points(self):
        self.copy_config()
        text = self.compile("--all", "--log", "-s", "BLOCK=64", "-s", "ITEMS=1,2").stdout
        self.assertRegex(text, r"\n  4 points: 4 ok\n")
        logs = [line for line in text.splitlines() if line.startswith("log of ")]
        self.assertEqual([line.split(":")[0] for line in logs], [
            f"log of {number}, BLOCK=64,ITEMS={items},LOAD={load}"
            for number, (items, load) in enumerate([(1, "plain"), (1, "ldg"), (2, "plain"), (2, "ldg")], 1)])

    def test_columns_are_in_declared_order(self):
        self.copy_config()
        heading, row = [line.split() for line in self.compile("-s", "BLOCK=64", COLUMNS="").stdout.splitlines()[1:3]]
        self.assertEqual(heading[-3:], ["BLOCK", "ITEMS", "LOAD"])
        self.assertEqual(row[-3:], ["64", "1", "plain"])
        [point] = json.loads(self.compile("-s", "BLOCK=64", "--json").stdout)
        self.assertEqual(point["point"], {"BLOCK": 64, "ITEMS": 1, "LOAD": "plain"})
