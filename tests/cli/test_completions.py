# SPDX-License-Identifier: MIT
"""What bash and zsh complete, against what `hone --help` knows."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
import unittest

import hone

FOLDER = hone.SOURCE / "completions"
CACHE_PARTS = ("list", "show", "export", "import", "merge", "diff", "compile", "prune", "check")

# Sets the line up as readline does, where "=" is a word of its own, and prints what is offered.
BASH = """\
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_hone
printf '%s\\n' "${COMPREPLY[@]}"
"""

# The functions of zsh's completion system that _hone calls, as prints.
ZSH = """\
file=$1
shift
_call_program() { shift; "$@" }
_describe() { print -rl -- "${(@P)@[-1]}" }
_files() { print -r -- "files $*" }
_message() { print -r -- "message $*" }
compset() { : }
compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -rl -- "$@" }
words=("$@")
CURRENT=$#
source $file
"""


class Completions(hone.Case):
    def setUp(self):
        super().setUp()
        self.copy_config()
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "hone").symlink_to(hone.HONE)
        self.path = f"{self.folder / 'bin'}:{os.environ['PATH']}"

    def offered(self, shell, *words):
        script, file = (BASH, "hone.bash") if shell == "bash" else (ZSH, "_hone")
        quiet = ["-f"] if shell == "zsh" else ["--norc"]
        if shell == "bash":
            words = [part for word in words for part in (re.split("(=)", word) if word.startswith("--") else [word])]
            words = words[:-1] if len(words) > 2 and words[-2:] == ["=", ""] else words
        result = subprocess.run([shell, *quiet, "-c", script, shell, str(FOLDER / file), "hone", *words], cwd=self.folder,
                                env=dict(os.environ, PATH=self.path, HONE_CACHE=str(self.cache), LC_ALL="C.UTF-8"),
                                stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""), words)
        return [line for line in result.stdout.splitlines() if line]

    def commands(self):
        text = self.hone("--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
        listed = [line.split()[0] for line in text.splitlines()]
        self.assertIn("cache", listed)
        return [(name,) for name in listed if name != "cache"] + [("cache", part) for part in CACHE_PARTS]

    def options(self, command):
        """{long option: whether it takes a value} of `hone COMMAND --help`."""
        text = self.hone(*command, "--help").stdout
        return {name: bool(value) for name, value in re.findall(r"^ {2,6}(?:-., )?(--[a-z-]+)(=?)", text, re.M)}

    def shells(self):
        return [shell for shell in ("bash", "zsh") if shutil.which(shell)]

    def test_every_command(self):
        for shell in self.shells():
            offered = [line.split(":")[0] for line in self.offered(shell, "")]
            self.assertLessEqual({command[0] for command in self.commands()} | {"help", "cache"}, set(offered), shell)
            self.assertNotIn("worker", offered)
            self.assertEqual([line.split(":")[0] for line in self.offered(shell, "cache", "")][:9], list(CACHE_PARTS))
        self.assertEqual(self.offered("bash", "ex"), ["explain", "export"])

    def test_every_option(self):
        for shell in self.shells():
            for command in self.commands():
                with self.subTest(shell=shell, command=command):
                    offered = {line.split(":")[0] for line in self.offered(shell, *command, "--")}
                    self.assertEqual(offered, set(self.options(command)))

    def test_every_value(self):
        """After an option that takes a value its value is offered, or nothing; after others what stands alone."""
        for shell in self.shells():
            for command in self.commands():
                alone = self.offered(shell, *command, "")
                with self.subTest(shell=shell, command=command):
                    for option, takes_value in self.options(command).items():
                        offered = self.offered(shell, *command, option, "")
                        if not takes_value:
                            self.assertEqual(offered, alone, option)
                        elif "saxpy.yaml" in alone and option not in ("--output", "--events", "--config"):
                            self.assertNotEqual(offered, alone, option)

    def test_no_option_is_gone(self):
        """What the completions know of options is of options that there are."""
        known = {option for command in self.commands() for option in self.options(command)}
        for file in ("hone.bash", "_hone"):
            text = (FOLDER / file).read_text().split("_hone_value() {")[1].split("\n}\n")[0]
            self.assertLessEqual(set(re.findall(r"--[a-z-]+(?=[ )])", text.replace("compgen -d --", ""))) - {"--"}, known)

    def test_words(self):
        refused = self.hone("tune", "saxpy.yaml", "--strategy", "x", expect=2).stderr
        strategies = re.search(r"there are: (.*)", refused).group(1).split(", ")
        for shell in self.shells():
            for form in (("--strategy", ""), ("--strategy=",)):
                self.assertEqual(self.offered(shell, "tune", "saxpy.yaml", *form), strategies)
            self.assertEqual(self.offered(shell, "tune", "--regime", ""), ["cold", "warm", "stream", "graph", "graph10"])
            self.assertEqual(self.offered(shell, "export", "--objective", ""), ["time", "energy", "energy_delay"])
            formats = self.offered(shell, "export", "--format", "")
            for name in formats:
                self.assertIn(name, self.hone("export", "--help").stdout)
            self.assertEqual(len(formats), 5)
            self.assertEqual(self.offered(shell, "cache", "export", "--format", ""), ["recording", "t4"])

    def test_names_of_the_config(self):
        for shell in self.shells():
            self.assertEqual(self.offered(shell, "tune", "saxpy.yaml", "-s", ""), ["BLOCK=", "ITEMS=", "LOAD="])
            self.assertEqual(self.offered(shell, "tune", "saxpy.yaml", "--problem", ""), ["SIZE="])

    def test_kernels_of_the_cache(self):
        self.tune_simulated()
        for shell in self.shells():
            for words in (("export", ""), ("cache", "show", ""), ("cache", "prune", ""), ("cache", "compile", "")):
                self.assertEqual(self.offered(shell, *words), ["saxpy"])
            self.assertEqual(self.offered(shell, "export", "--cache", "other.db", ""), [])
        self.hone("cache", "import", self.record(problem={"SIZE": 4096}))
        self.assertIn("in all rows: ", self.hone("cache", "list").stdout.splitlines()[0])
        for shell in self.shells():
            self.assertEqual(self.offered(shell, "export", ""), ["saxpy"])

    def test_files(self):
        self.write("recording.json", "{}")
        for command in ("tune", "run", "space", "inputs", "compile", "explain", "replay"):
            self.assertEqual(self.offered("bash", command, "s"), ["saxpy.yaml"])
        self.assertEqual(self.offered("bash", "tune", "saxpy.yaml", "--simulate=rec"), ["recording.json"])

    @unittest.skipUnless(shutil.which("zsh"), "there is no zsh")
    def test_a_real_zsh(self):
        """_hone is found by compinit and completes what is typed."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], dict(os.environ, PATH=self.path, TERM="dumb", HOME=str(self.folder)))
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.close, terminal)
        os.write(terminal, f"fpath=({FOLDER} $fpath); autoload -U compinit; compinit -u -D; echo rea''dy\n".encode())
        self.read_until(terminal, b"ready\r\n")
        os.write(terminal, b"hone tune saxpy.yaml --retry\t")
        self.read_until(terminal, b"--retry-failed")
        os.write(terminal, b"\x03")

    def read_until(self, terminal, text):
        seen = b""
        end = time.monotonic() + 30
        while text not in seen:
            self.assertTrue(time.monotonic() < end and select.select([terminal], [], [], 30)[0], seen)
            seen += os.read(terminal, 4096)
