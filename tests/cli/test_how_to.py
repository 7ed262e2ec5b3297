# SPDX-License-Identifier: MIT
"""The recipes of docs/how-to.md: commands run in order, over recordings or on the driver double, and what is written into a config
is one. Other sections are followed by the tests that cli/commands names."""

import json
import re
import shlex
import shutil
import subprocess

import double
import hone
import pages

PAGE = (hone.SOURCE / "docs" / "how-to.md").read_text()


class HowTo(hone.Case):
    def setUp(self):
        super().setUp()
        for suffix in (".yaml", ".cu"):
            shutil.copy(hone.DATA / f"saxpy{suffix}", self.folder)
        self.recording = self.record()

    def section(self, heading):
        return re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S).group(1)

    def commands(self, heading):
        return [line.replace("scale", "saxpy") for line in pages.lines("docs/how-to.md", heading)]

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
        for line in commands:
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


class OnTheDouble(double.Case):
    """Recipes that need a GPU, with the double's kernel for `scale`. Profilers, sanitizers and ssh only run what they are given."""
    SECTIONS = ("After a driver update", "A variant that is wrong", "Profile a variant", "Which GPU, and MIG", "Several GPUs, other machines")

    def setUp(self):
        super().setUp()
        binaries = self.folder / "bin"
        binaries.mkdir()
        (binaries / "hone").symlink_to(hone.HONE)
        for tool in ("ncu", "nsys", "compute-sanitizer", "cuda-gdb", "ssh"):
            rest = 'shift 2; exec sh -c "$*"' if tool == "ssh" else 'while [ "$1" != hone ]; do shift; done; exec "$@"'
            (binaries / tool).write_text(f"#!/bin/sh\n{rest}\n")
            (binaries / tool).chmod(0o755)
        self.settings = self.environment(PATH=f"{binaries}:/usr/bin:/bin", HONE_DOUBLE_COUNT="2")
        self.write("sgemm.yaml", self.config.read_text())
        self.uuid = json.loads(self.run_line("hone device --json"))["devices"][1]["uuid"]

    def run_line(self, line):
        result = subprocess.run(["bash", "-c", line], cwd=self.folder, env=self.settings, capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, f"{line}: {result.stdout}{result.stderr}")
        return result.stdout

    def test_commands_run(self):
        self.run_line("hone tune scale.yaml --budget 20 --quiet")
        for section in self.SECTIONS:
            text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S).group(1)
            for yaml in re.findall(r"^```yaml\n(workers:.*?)^```", text, re.M | re.S):
                self.write("workers.yaml", re.sub(r"compile: \d+", "compile: 1", yaml.replace("gpus: 4", "gpus: 2")))
            for line in pages.lines("docs/how-to.md", section):
                with self.subTest(line):
                    line = line.replace("*.yaml", "scale.yaml").replace("GPU-5d2a", self.uuid)
                    self.run_line(line + (" --budget 20" if " tune " in line else ""))
