# SPDX-License-Identifier: MIT
"""The workflow for GitHub: its schema, that each step is a command that is there, and its steps with clang, but for packages and tests."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import hone

try:
    import yaml
except ImportError:
    yaml = None

WORKFLOW = hone.SOURCE / ".github" / "workflows" / "ci.yml"
# Of the systems themselves, or among the packages of the first steps.
COMMANDS = {"apt-get", "dnf", "git", "cmake", "ctest", "mv"}


def why_not():
    return "there is no PyYAML" if yaml is None else None


class Ci(hone.Case):
    def setUp(self):
        super().setUp()
        self.jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]

    def steps(self, job):
        return [step["run"] for step in self.jobs[job]["steps"] if "run" in step]

    def run_here(self, line, **changes):
        done = subprocess.run(["bash", "-ec", line], cwd=self.folder / "clone", env={**os.environ, **changes}, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, f"{line}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def test_what_is_covered(self):
        matrix = self.jobs["test"]["strategy"]["matrix"]
        self.assertEqual([system.split(":")[0] for system in matrix["system"]], ["debian", "ubuntu", "fedora"])
        self.assertEqual(matrix["compiler"], ["gcc", "clang"])
        self.assertEqual({(row["machine"], row["compiler"]) for row in matrix["include"]}, {("aarch64", "gcc"), ("aarch64", "clang")})

    def test_credentials_are_not_kept(self):
        checkouts = [step for job in self.jobs.values() for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        self.assertEqual([step["with"]["persist-credentials"] for step in checkouts], [False, False])

    def test_steps_are_commands(self):
        presets = {preset["name"] for preset in json.loads((hone.SOURCE / "CMakePresets.json").read_text())["configurePresets"]}
        for line in self.steps("test") + self.steps("wheels"):
            for command in re.split(r" && ", line):
                with self.subTest(command):
                    word = command.split()[0]
                    if word.startswith("scripts/"):
                        self.assertTrue(os.access(hone.SOURCE / word, os.X_OK))
                    else:
                        self.assertTrue(word in COMMANDS or word.startswith("$HOME/.local/"), word)
                    for preset in re.findall(r"--preset (\S+)", command):
                        self.assertIn(preset, presets)
                    if command.startswith("apt-get install") and shutil.which("apt-cache"):
                        packages = command.split()[4:]
                        known = subprocess.run(["apt-cache", "show", *packages], capture_output=True, text=True).stdout
                        self.assertLessEqual(set(packages), set(re.findall(r"^Package: (.*)$", known, re.M)))

    def test_schema(self):
        """GitHub's, which the tool brings; the citation file has one, too."""
        tools = self.folder / "tools"
        made = subprocess.run(["bash", "-ec", f"{sys.executable} -m venv {tools} && {tools}/bin/pip install -q check-jsonschema"], capture_output=True)
        if made.returncode != 0:
            self.skipTest("check-jsonschema cannot be had")
        for schema, file in (("github-workflows", WORKFLOW), ("citation-file-format", hone.SOURCE / "CITATION.cff")):
            done = subprocess.run([tools / "bin" / "check-jsonschema", "--builtin-schema", f"vendor.{schema}", file], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_citation(self):
        citation = yaml.safe_load((hone.SOURCE / "CITATION.cff").read_text())
        self.assertEqual(citation["version"], re.search(r"project\(hone VERSION (\S+)", (hone.SOURCE / "CMakeLists.txt").read_text()).group(1))

    @unittest.skipUnless(shutil.which("clang"), "there is no clang")
    def test_its_steps_with_clang(self):
        steps = self.steps("test")
        first = steps.index("cmake --preset release")
        self.assertEqual([line.split()[0] for line in steps[first + 1:]], ["cmake", "ctest", "cmake", "$HOME/.local/bin/hone"])
        shutil.copytree(hone.SOURCE, self.folder / "clone", ignore=shutil.ignore_patterns("build*", "dist", "__pycache__"))
        settings = {"CC": "clang", "CXX": "clang++", "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder)}
        for line in steps[first:]:
            if not line.startswith("ctest"):
                said = self.run_here(line + (" -DHONE_TESTS=OFF" if line == steps[first] else ""), **settings)
        self.assertIn("475 valid points", said)
