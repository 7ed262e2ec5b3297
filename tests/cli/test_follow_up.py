# SPDX-License-Identifier: MIT
"""Commands that are printed for the user to run next run as they are printed, in a shell, after what printed them: with the cache,
problem, regime and paths that were given there."""

import os
import re
import shutil
import subprocess

import double
import hone
import terminal

CACHE = "the cache's/tuned results.db"
PLACEHOLDER = re.compile(r"\b(CONFIG|NAME|FILE|COMMAND|PART)\b")


def commands_in(text):
    """Those in backticks, and those behind "next:" with the lines below it."""
    found = re.findall(r"`((?:ncu )?hone [^`]*)`", text)
    for block in re.findall(r"^next: (hone .*\n(?: {6}hone .*\n)*)", text, re.M):
        found += [line.strip() for line in block.splitlines()]
    return [command for command in found if not PLACEHOLDER.search(command)]


class FollowUp(double.Case):
    def setUp(self):
        super().setUp()
        shutil.move(self.config, self.folder / "my scale.yaml")
        self.config = "my scale.yaml"
        (self.folder / "the cache's").mkdir()
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "hone").symlink_to(hone.HONE)
        self.path = f"{programs}:{os.environ['PATH']}"
        self.found = []

    def hone(self, *arguments, expect=0, **settings):
        result = super().hone(*arguments, expect=expect, **settings)
        self.found += commands_in(result.stdout + result.stderr)
        return result

    def shell(self, command):
        result = subprocess.run(["sh", "-c", command], cwd=self.folder, env=self.environment(PATH=self.path), text=True,
                                capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
        self.assertEqual(result.returncode, 0, f"{command}: {result.stdout}{result.stderr}")
        return result

    def runs(self, *expected):
        """All that was printed since runs; among it are these."""
        found, self.found = self.found, []
        for command in expected:
            self.assertIn(command, found)
        for command in dict.fromkeys(found):
            if not command.startswith("ncu "):
                self.shell(command)

    OPTIONS = "-p n=4096 --regime warm --cache 'the cache'\\''s/tuned results.db'"

    def tune(self, *more):
        return self.hone("tune", self.config, "-p", "n=4096", "--regime", "warm", "--cache", CACHE, *more)

    def test_after_a_tune(self):
        self.tune("-s", "BLOCK=128,256", "-s", "ITEMS=4")
        self.runs(f"hone export scale {self.OPTIONS} -o scale_tuned.h", "hone explain 'my scale.yaml' -p n=4096 -s BLOCK=128,256 -s ITEMS=4 "
                  "--regime warm --cache 'the cache'\\''s/tuned results.db'")
        self.assertIn("HONE_SCALE_TUNED_n 4096", (self.folder / "scale_tuned.h").read_text())

    def test_after_a_command_that_is_long(self):
        self.tune(*["-s", "BLOCK=128,256"] * 150)
        self.runs(f"hone explain 'my scale.yaml' -p n=4096 {'-s BLOCK=128,256 ' * 150}--regime warm --cache 'the cache'\\''s/tuned results.db'")

    def test_what_an_explanation_advises(self):
        self.tune("-s", "BLOCK=128,256", "--quiet")
        self.hone("explain", self.config, "-p", "n=4096", "--regime", "warm", "--cache", CACHE)
        self.runs(f"hone explain 'my scale.yaml' {self.OPTIONS} --counters", f"hone tune 'my scale.yaml' {self.OPTIONS} --full")

    def test_how_roofs_are_measured(self):
        self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", self.record(), "--quiet", "--cache", CACHE)
        self.found.clear()
        self.hone("explain", hone.DATA / "saxpy.yaml", "--cache", CACHE)
        measure = "hone device --measure --cache 'the cache'\\''s/tuned results.db'"
        self.assertIn(measure, self.found)
        self.shell(measure)

    def test_what_is_advised_before_anything_is_tuned(self):
        self.tune("-s", "BLOCK=256", "-s", "ITEMS=4", "--quiet")
        self.hone("explain", self.config, "-p", "n=8192", "--regime", "warm", "--cache", CACHE, expect=3)
        self.runs("hone tune 'my scale.yaml' -p n=8192 --regime warm --cache 'the cache'\\''s/tuned results.db'",
                  "hone cache list --cache 'the cache'\\''s/tuned results.db'")
        self.hone("replay", self.config, "-p", "n=512", "--regime", "stream", "--cache", CACHE, expect=3)
        self.runs("hone tune 'my scale.yaml' -p n=512 --regime stream --cache 'the cache'\\''s/tuned results.db'")
        self.hone("cache", "show", "scale", "-p", "n=5", "--cache", CACHE, expect=3)
        self.hone("report", "-p", "n=5", "--cache", CACHE, expect=3)
        self.runs("hone cache list --cache 'the cache'\\''s/tuned results.db'")

    def test_nothing_to_replay(self):
        shutil.copy(hone.DATA / "saxpy.yaml", self.folder)
        shutil.copy(hone.DATA / "saxpy.cu", self.folder)
        self.tune("-s", "BLOCK=256", "-s", "ITEMS=4", "--quiet")
        self.hone("replay", "--all", "saxpy.yaml", "--cache", CACHE, expect=1)
        self.runs("hone cache list --cache 'the cache'\\''s/tuned results.db'")

    def test_something_else_than_a_config(self):
        shutil.copy(self.folder / "scale.cu", self.folder / "a kernel.cu")
        self.assertIn("'a kernel.cu' is a CUDA source:", self.hone("tune", "a kernel.cu", expect=2).stderr)
        self.runs("hone init 'a kernel.cu'")
        for found in self.folder.glob("*.yaml"):
            if "kernel" in found.name or found.name == "scale.yaml":
                found.unlink()
        self.hone("init", "a kernel.cu", "-o", "a draft.yaml")
        self.runs("hone space 'a draft.yaml'")
        self.tune("-s", "BLOCK=256", "-s", "ITEMS=4", "--quiet")
        told = self.hone("export", self.config, "-p", "n=4096", "--regime", "warm", "--cache", CACHE, expect=2).stderr
        self.assertIn("export takes the kernel's name, and 'my scale.yaml' is the config of 'scale'", told)
        self.runs(f"hone export scale {self.OPTIONS}")

    def test_a_name_for_a_path(self):
        (self.folder / "configs").mkdir()
        shutil.copy(self.folder / self.config, self.folder / "configs" / "scale.yaml")
        for wrong in "scale", "scale.yaml":
            with self.subTest(wrong):
                self.fails(2, f"hone: '{wrong}' is no file; did you mean configs/scale.yaml?", "tune", wrong)

    def test_examples_of_help(self):
        """Those of every command, with the files that they name."""
        commands = [line.split()[0] for line in super().hone("--help").stdout.split("Commands:\n")[1].split("\n\n")[0].splitlines()]
        commands.remove("cache")
        parts = super().hone("cache", "--help").stdout.split("Parts:\n")[1].split("\n\n")[0]
        commands += [f"cache {line.split()[0]}" for line in parts.splitlines()]
        self.shell("hone init scale.cu && rm scale.yaml && mv 'my scale.yaml' scale.yaml")
        self.shell("hone tune scale.yaml --full -q && mkdir recorded && hone cache export scale recorded/scale.json")
        for copy in "colleague.db", "before.db":
            shutil.copy(self.cache, self.folder / copy)
        self.write("table.in", "{@{n}, @{BLOCK}},\n")
        for command in commands:
            text = super().hone(*command.split(), "--help").stdout
            examples = re.findall(r"^  (hone .*)$", text.split("\nExample:\n")[1], re.M)
            self.assertTrue(examples)
            for example in examples:
                self.assertTrue(example.startswith(f"hone {command}"), example)
                # The first is run above; a rule's programs are compiled by test_family_tune.py, programs captured by test_capture.py.
                if command not in ("init", "cache compile", "capture"):
                    self.shell(example)

    def test_a_terminal_breaks_no_command(self):
        self.tune("-s", "BLOCK=128,256", "--quiet")
        arguments = [hone.HONE, "explain", self.config, "-p", "n=4096", "--regime", "warm", "--cache", CACHE]
        screen = terminal.Terminal(arguments, columns=60, cwd=self.folder, env=self.environment())
        self.addCleanup(screen.close)
        screen.read()
        self.assertIn(f"`hone tune 'my scale.yaml' {self.OPTIONS}", screen.output)
