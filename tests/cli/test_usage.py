# SPDX-License-Identifier: MIT
"""The command line: help of every command, wrong usage, exit codes."""

import json
import re

import hone

COMMANDS_WITH_CONFIG = ("tune", "run", "compile", "replay")


class Usage(hone.Case):
    def listed(self):
        """The commands that `hone --help` lists, in order."""
        text = self.hone("--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
        return [line.split()[0] for line in text.splitlines()]

    def test_help_lists_commands(self):
        listed = self.listed()
        for command in ("tune", "run", "space", "compile", "export", "replay", "cache"):
            self.assertIn(command, listed)
        self.assertNotIn("worker", listed)
        self.assertEqual(self.hone("--help").stdout, self.hone("-h").stdout)

    def test_help_of_every_command(self):
        for command in self.listed():
            with self.subTest(command):
                result = self.hone(command, "--help")
                self.assertTrue(result.stdout.startswith(f"Usage: hone {command}"), result.stdout)
                self.assertEqual(result.stderr, "")
                self.assertEqual(self.hone("help", command).stdout, result.stdout)

    def test_help_names_the_parts_of_the_cache(self):
        named = re.search(r"cache PART +(.*) cached results", self.hone("--help").stdout).group(1)
        parts = re.findall(r"^  (\w+) ", self.hone("cache", "--help").stdout, re.M)
        self.assertEqual(re.split(r", | or ", named), parts)

    def test_documented(self):
        """docs/cli.md and the man page speak of every command and long option that --help knows."""
        manual = (hone.SOURCE / "docs" / "cli.md").read_text()
        page = (hone.SOURCE / "docs" / "hone.1").read_text().replace("\\-", "-")
        for command in self.listed():
            self.assertIn(f"hone {command}", manual)
            self.assertIn(f".Ss hone {command}", page)
            for option in re.findall(r"--[a-z-]+", self.hone(command, "--help").stdout):
                with self.subTest(command=command, option=option):
                    self.assertIn(f"`{option}", manual)
                    self.assertIn(f"Fl -{option[2:]}", page)

    def test_documented_json(self):
        """docs/formats.md has every member of what `hone tune --json` prints, but for those of records."""
        page = (hone.SOURCE / "docs" / "formats.md").read_text().split("## Results as JSON")[1].split("\n## ")[0]
        result = self.hone("tune", hone.SOURCE / "configs" / "matmul_aat.yaml", "-p", "K=32", "--quiet", "--json",
                           "--simulate", hone.SOURCE / "cache" / "recorded" / "nvidia-h200")
        tuned, = json.loads(result.stdout)
        for name in [*tuned, *tuned["time"], *tuned["health"]]:
            self.assertIn(f"`{name}`", page)

    def test_options_of_some(self):
        """An option that does nothing for a command is refused by it."""
        for command in self.listed():
            with self.subTest(command):
                self.assertEqual("--events" in self.hone(command, "--help").stdout, command == "tune")
        self.assertIn("--arch=sm_80,sm_90", self.hone("export", "--help").stdout)
        self.assertIn("--arch=sm_90 ", self.hone("compile", "--help").stdout)

    def test_quiet_has_a_letter(self):
        for command in self.listed():
            with self.subTest(command):
                text = self.hone(command, "--help").stdout
                self.assertEqual("--quiet" in text, "-q, --quiet" in text)

    def test_version(self):
        self.assertRegex(self.hone("--version").stdout, r"^hone \d+\.\d+\.\d+\n$")
        result = self.hone("--version", "--json")  # with or without a driver
        found = json.loads(result.stdout)
        self.assertEqual(f"hone {found['hone']['version']}\n", self.hone("--version").stdout)
        self.assertRegex(found["hone"]["cuda_headers"], r"^1\d\.\d$")
        self.assertRegex(found["hone"]["compiler"], r"^(GNU|Clang) \d+\.")
        self.assertLessEqual({"devices", "nvrtc"}, set(found))
        self.assertEqual(result.stderr, "")

    def test_no_command(self):
        result = self.hone(expect=2)
        self.assertTrue(result.stderr.startswith("Usage: hone COMMAND"))
        self.assertEqual(result.stdout, "")

    def test_unknown_command(self):
        self.fails(2, "hone: unknown command 'tunee'; nearest is 'tune'", "tunee")
        self.fails(2, "hone: unknown command 'frobnicate'; there are init, capture, tune, run, space, inputs, compile, explain, export, "
                   "replay, report, cache, device", "frobnicate")
        self.fails(2, "hone: unknown command 'spac'; nearest is 'space'", "help", "spac")

    def test_config_is_missing(self):
        for command in COMMANDS_WITH_CONFIG:
            with self.subTest(command):
                self.misused("expected the path of a config", command)
        self.misused("no CONFIG given", "space")
        self.misused("expected NAME, the kernel to export; `hone cache list` shows what is tuned", "export")

    def test_too_many_arguments(self):
        self.misused("found a second config 'b.yaml'; tune them one by one", "tune", "a.yaml", "b.yaml")
        self.misused("found a second config 'b.yaml'", "run", "a.yaml", "b.yaml")
        self.misused("found 'b.yaml' after 'a.yaml', expected one CONFIG", "space", "a.yaml", "b.yaml")
        self.misused("found 'b' after 'a', expected one NAME", "export", "a", "b")

    def test_unknown_option(self):
        for command in ("tune", "run", "space", "compile", "export", "replay"):
            with self.subTest(command):
                self.misused("unrecognized option '--frobnicate'", command, "a.yaml", "--frobnicate")

    def test_wrong_option_values(self):
        self.misused("--budget: found '3x', expected a time such as 60s or 5m, or a number of evaluations such as 500",
                     "tune", "a.yaml", "--budget", "3x")
        self.misused("--stop-chance: found '5%', expected a chance from 0 to below 1", "tune", "a.yaml", "--stop-chance", "5%")
        self.misused("--jobs: found '0', expected a number from 1 to 4096", "tune", "a.yaml", "--jobs", "0")
        for wrong in ("0", "4097", "x"):
            self.misused(f"--look-ahead: found '{wrong}', expected a whole number from 1 to 4096", "tune", "a.yaml",
                         "--look-ahead", wrong)
        self.misused("--seed: found '-1', expected a whole number from 0", "tune", "a.yaml", "--seed=-1")
        self.misused("--regime: found 'hot', expected cold, warm, stream, graph or graph10", "tune", "a.yaml", "--regime", "hot")
        self.misused("--run-timeout: found 'soon', expected seconds, more than 0", "tune", "a.yaml", "--run-timeout",
                     "soon")
        self.misused("unrecognized option '--run-timeout'", "run", "a.yaml", "--run-timeout", "5")
        self.misused("--format: found 'jsn', expected header, json, source, cubin, cubin-header or patch; nearest "
                     "is 'json'", "export", "saxpy", "--format", "jsn")
        self.misused("--prefix: found 'a-b', expected a C identifier", "export", "saxpy", "--prefix", "a-b")
        self.misused("--max-slowdown: found 'much', expected a percentage such as 5%", "replay", "a.yaml",
                     "--max-slowdown", "much")

    def test_a_home_that_the_shell_left(self):
        """As bash does behind '=': a cache in a folder called ~ is one that nobody finds again."""
        self.misused("--cache: found '~/hone.db', in which the shell left the ~; write $HOME", "tune", "a.yaml", "--cache=~/hone.db")
        self.misused("--output: found '~/a.h', in which the shell left the ~; write $HOME", "export", "saxpy", "--output=~/a.h")

    def test_config_is_not_there(self):
        self.fails(2, "hone: cannot open 'nope.yaml': No such file or directory", "space", "nope.yaml")
        self.fails(2, "hone: cannot open 'nope.yaml': No such file or directory", "tune", "nope.yaml")

    def test_unknown_strategy(self):
        self.fails(2, "hone: unknown strategy 'exhaustiv'; there are: auto, model, genetic, exhaustive, random", "tune",
                   self.copy_config(), "--strategy", "exhaustiv")

    def test_errors_are_documents_too(self):
        """With --json: what went wrong stands on standard output as well, unless a result does."""
        for command, code in (("tune", "nope.yaml"), 2), (("cache", "show", "nope"), 3), (("explain", self.copy_config()), 3), (("space", "a", "b"), 2):
            with self.subTest(command):
                result = self.hone(*command, "--json", expect=code)
                error = json.loads(result.stdout)["error"]
                self.assertEqual(error["code"], code)
                if command[0] == "space":
                    self.assertEqual(error["message"], "wrong usage; see standard error")
                else:
                    self.assertEqual(f"hone: {error['message']}\n", result.stderr)
                self.assertEqual(self.hone(*command, expect=code).stdout, "")
        self.write("none.cu", "this is no kernel")
        self.spoil(self.copy_config(), "saxpy.cu", "none.cu")
        results = json.loads(self.hone("compile", "saxpy.yaml", "--arch", "sm_90", "--json", expect=3).stdout)
        self.assertEqual([row["outcome"] for row in results], ["compile_error"])

    def test_several_assignments(self):
        """-p takes lists as -s does, and points as they are printed; no value is dropped silently."""
        config = hone.TEST_DATA / "config" / "good" / "problem_list.yaml"
        self.assertEqual(self.hone("space", config, "--count", "-p", "M=64,KIND=wide").stdout, "2\n")
        for twice in ["-p", "M=64,M=32"], ["-p", "M=64", "-p", "KIND=wide,M=32"], ["-p", "M=64", "-p", "M=64"]:
            self.misused("-p: 'M' is given twice", "space", config, *twice)
        self.misused("-p: 'SIZE' is given twice", "export", "saxpy", "-p", "SIZE=1", "-p", "SIZE=2")
        self.misused("-p: found 'M', expected NAME=VALUE", "space", config, "-p", "M")
        self.misused("--cache: found '', expected a text that is not empty", "tune", config, "--cache", "")

    def test_names_of_assignments(self):
        config = self.copy_config()
        self.fails(2, "hone: -p: there is no problem value 'SIZ'; nearest is 'SIZE'", "space", config, "-p", "SIZ=3")
        self.fails(2, "hone: -p SIZE: found a word, expected an integer in digits as in the config", "space", config, "-p",
                   "SIZE=ldg")
        self.fails(2, "hone: -s LOAD: found 'lgd', expected one of plain, ldg", "space", config, "-s", "LOAD=lgd")
        self.fails(2, "hone: -s: there is no parameter 'LOAF'; nearest is 'LOAD'", "space", config, "-s", "LOAF=ldg")

    def test_options_stand_behind_arguments_everywhere(self):
        self.assertEqual(self.hone("space", hone.DATA / "saxpy.yaml", "--count", POSIXLY_CORRECT="1").stdout, "16\n")

    def test_full_output(self):
        """A result that cannot be written is an error, not a success."""
        with open("/dev/full", "w") as full:
            import os
            import subprocess
            result = subprocess.run([hone.HONE, "space", str(hone.DATA / "saxpy.yaml")], stdout=full,
                                    stderr=subprocess.PIPE, text=True, env=dict(os.environ, HONE_CACHE=str(self.cache)))
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, "hone: cannot write to standard output: No space left on device\n")
