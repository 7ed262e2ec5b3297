# SPDX-License-Identifier: MIT
"""The recipes of docs/how-to.md, as far as they need no GPU: commands run in order, with the tests' kernel for `scale`, and
what is written into a config is one."""

import re
import shlex
import shutil
import unittest

import hone

PAGE = (hone.SOURCE / "docs" / "how-to.md").read_text()
NEEDS_A_GPU = ("hone run", "hone replay", "hone device", "hone tune scale.yaml --device", "hone tune --capture")


class HowTo(hone.Case):
    def setUp(self):
        super().setUp()
        for suffix in (".yaml", ".cu"):
            shutil.copy(hone.DATA / f"saxpy{suffix}", self.folder)
        self.recording = self.record()

    def section(self, heading):
        return re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S).group(1)

    def commands(self, heading):
        return [line.split("  #")[0].replace("scale", "saxpy") for line in
                re.findall(r"^    (hone .*)$", self.section(heading), re.M) if not line.startswith(NEEDS_A_GPU)]

    def run_line(self, line):
        words = shlex.split(line)[1:]
        if words[0] == "tune":
            words += ["--simulate", self.recording, "--quiet"]
        return self.hone(*words).stdout

    def yaml(self, heading):
        return re.findall(r"^```yaml\n(.*?)^```", self.section(heading), re.M | re.S)

    def test_ci_without_a_gpu(self):
        commands = self.commands("CI without a GPU")
        self.assertEqual([line.split()[1] for line in commands], ["tune", "cache", "space", "compile", "export"])
        self.hone("cache", "import", self.recording)    # in the place of tuning: what is simulated is not exported
        self.run_line(commands[1])
        self.cache.unlink()     # what follows has recordings only
        for line in commands[2:]:
            self.run_line(line)
        self.assertIn("HONE_SAXPY_BLOCK", (self.folder / "saxpy_tuned.h").read_text())

    def test_share_a_cache(self):
        self.tune_simulated()
        for name in ("colleague", "node1", "node2"):
            shutil.copy(self.cache, self.folder / f"{name}.db")
        for line in self.commands("Share a cache"):
            self.run_line(line)
        self.assertIn("saxpy", self.hone("cache", "list", "--cache", "all.db").stdout)

    def test_limits(self):
        commands = self.commands("Limit the time of a search")
        self.assertEqual(len(commands), 5)
        for line in commands + self.commands("After a driver update"):
            with self.subTest(line):
                self.run_line(line)

    def config(self, text, parameters="BLOCK: [64, 128]", rest=""):
        return self.write("x.yaml", f"kernel: x\ntemplate: saxpy.cu\nentry: x\nproblem: {{N: 4096}}\nparameters:\n  {parameters}\n"
                          + text + rest)

    def test_a_pipeline(self):
        text, = self.yaml("From host memory to host memory")
        arguments = ("arguments: [{name: x, type: float32, count: N}, {name: y, type: float32, count: N, role: output}, "
                     "{name: n, type: int32, value: chunk_count}]\n")
        self.assertTrue(text.startswith("parameters:\n"))
        self.config(text.split("\n", 1)[1], rest=arguments)
        self.assertEqual(self.hone("space", "--count", "x.yaml").stdout, f"{2 * 5 * 4 * 2}\n")

    def test_problems(self):
        text, = self.yaml("Several problems in one header")
        self.write("x.yaml", "kernel: x\nparameters: {A: [1, 2]}\n" + text.replace("freeze: [K]\n", ""))
        self.assertEqual(self.hone("space", "x.yaml").stdout.count("valid points"), 4)

    def test_an_objective(self):
        text, = self.yaml("Another objective than time")
        self.config(text, rest="arguments: [{name: x, type: float32, count: N, role: output}]\nlaunch: {block: BLOCK, grid: 1}\n")
        self.assertEqual(self.hone("space", "--count", "x.yaml").stdout, "2\n")

    def test_own_data(self):
        text, = self.yaml("Tune on your own data")
        (self.folder / "keys.npy").write_bytes(bytes(4 * 4096))
        self.config(text, rest="  - {name: y, type: float32, count: N, role: output}\nlaunch: {block: BLOCK, grid: 1}\n")
        self.assertEqual(self.hone("space", "--count", "x.yaml").stdout, "2\n")


if __name__ == "__main__":
    unittest.main()
