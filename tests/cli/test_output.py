# SPDX-License-Identifier: MIT
"""Standard streams that are closed, full or broken, control bytes in what others wrote, and files that are none."""

import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess

import double
import hone
import terminal

DATA = hone.DATA
# Sets the title of a terminal, clears it, and moves up: in ASCII and as U+009B.
CONTROL = "\x1b]0;title\x07\x1b[2J\u009b5A\x7f"
SHOWN = r"\x1b]0;title\x07\x1b[2J\xc2\x9b5A\x7f"


class Case(double.Case):
    def run_in_shell(self, line, *arguments, **settings):
        """A line of shell in which "$@" is hone with these arguments."""
        return subprocess.run(["sh", "-c", line, "sh", hone.HONE, *map(str, arguments)], cwd=self.folder,
                              env=self.environment(), capture_output=True, timeout=120, **settings)


class Streams(Case):
    def test_closed_standard_output_is_an_error(self):
        for words in (["--version"], ["--help"], ["space", self.config], ["space", self.config, "--json"],
                      ["tune", "--help"], ["cache", "list", "--usage"]):
            result = self.run_in_shell('"$@" >&-', *words)
            self.assertEqual(result.stderr, b"hone: cannot write to standard output: it is closed\n", words)
            self.assertEqual(result.returncode, 1)

    def test_what_is_opened_is_never_a_standard_stream(self):
        """Sockets of workers and the cache would get the numbers of streams that are closed."""
        for line, code in (('"$@" >&-', 1), ('"$@" <&- >&- 2>&-', 1), ('"$@" <&- 2>&-', 0)):
            self.cache.unlink(missing_ok=True)
            result = self.run_in_shell(line, "tune", self.config, "-s", "BLOCK=256")
            self.assertEqual(result.returncode, code, result)
            self.assertEqual(self.sql("SELECT count(DISTINCT point) FROM record WHERE outcome = 'ok'"), [(4,)])
            self.hone("cache", "check")

    def test_full_standard_output_is_an_error(self):
        self.tune("-s", "BLOCK=256")
        self.hone("cache", "export", "scale", "scale.json.gz")
        for words in (["tune", self.config, "-s", "BLOCK=256", "--quiet"], ["space", self.config], ["compile", self.config],
                      ["explain", self.config], ["export", "scale"], ["cache", "list"], ["cache", "show", "scale"], ["device"],
                      ["run", self.config], ["replay", self.config, "--max-slowdown", "1000"]):
            result = self.run_in_shell('"$@" >/dev/full', *words, "--json")
            self.assertEqual(result.stderr.decode().splitlines()[-1:],
                             ["hone: cannot write to standard output: No space left on device"], words)
            self.assertEqual(result.returncode, 1)

    def test_reasons_of_the_system_are_said(self):
        """Not what came of them: that SQLite found nothing to read, and that fcntl did not take a number."""
        result = self.run_in_shell('ulimit -n 8; "$@"', "tune", self.config, "--quiet")
        self.assertEqual(result.stderr, b"hone: a worker process cannot be started: too few descriptors are allowed (ulimit -n)\n")
        if os.geteuid() != 0:
            self.skipTest("mounts and changes the user")
        (self.folder / "theirs").mkdir(mode=0o755)
        self.folder.chmod(0o755)
        for line, reason in ((f"setpriv --reuid 65534 --clear-groups {hone.HONE} cache import saxpy.json --cache theirs/hone.db", "Permission denied"),
                             ("mount -t tmpfs -o ro none theirs && \"$@\" cache import saxpy.json --cache theirs/hone.db", "Read-only file system")):
            self.record_of_saxpy()
            result = subprocess.run(["unshare", "-m", "sh", "-c", line, "sh", hone.HONE], cwd=self.folder, env=self.environment(),
                                    capture_output=True, text=True, timeout=60)
            if "mount" in result.stderr or "unshare" in result.stderr:
                self.skipTest(result.stderr)
            self.assertEqual(result.stderr, f"hone: cache 'theirs/hone.db' cannot be opened: {reason}\n")

    def test_broken_pipes_are_errors(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, writer)
        self.tune("-s", "BLOCK=128,256")
        for words in (["space", str(self.config), "--list=all"], ["explain", str(self.config)]):
            result = subprocess.run([hone.HONE, *words], stdout=writer, stderr=subprocess.PIPE, env=self.environment(), timeout=60)
            self.assertEqual(result.stderr, b"hone: cannot write to standard output: Broken pipe\n", words)
            self.assertEqual(result.returncode, 1)

    def test_limits_of_file_sizes_are_errors(self):
        """SIGXFSZ would end a command wherever it stands."""
        recording = self.record_of_saxpy()
        for limit in (0, 4096, 40960):
            for words in (["tune", DATA / "saxpy.yaml", "--simulate", recording, "--cache", f"{limit}.db", "--quiet"],
                          ["init", "scale.cu", "-o", f"{limit}.yaml"]):
                result = subprocess.run([hone.HONE, *map(str, words)], cwd=self.folder, env=self.environment(),
                                        capture_output=True, timeout=60, text=True, preexec_fn=lambda: resource.setrlimit(
                                            resource.RLIMIT_FSIZE, (limit, limit)))
                self.assertNotEqual(result.returncode, -signal.SIGXFSZ, words)
                if limit == 0:
                    self.assertRegex(result.stderr, "cannot be written|cannot write '0.yaml': File too large")
                    self.assertEqual(result.returncode, 1)
        self.assertFalse((self.folder / "0.yaml").exists())

    def record_of_saxpy(self):
        return self.record(name="saxpy.json")


class Control(Case):
    def spoiled_config(self):
        """A name that is none, as YAML writes control bytes in quotes."""
        quoted = json.dumps(CONTROL)
        self.spoil(self.config, "kernel: scale\n", f"kernel: scale\n{quoted}: 1\n")
        return self.config

    def test_messages_show_control_bytes(self):
        result = self.hone("space", self.spoiled_config(), expect=2)
        self.assertIn(SHOWN, result.stderr)
        self.assertEqual([c for c in result.stderr if c in "\x1b\x07\x7f\u009b"], [])

    def test_terminals_are_told_nothing_by_others(self):
        screen = terminal.Terminal([hone.HONE, "space", str(self.spoiled_config())], cwd=self.folder, env=self.environment())
        self.addCleanup(screen.close)
        screen.read()
        self.assertIn("]0;title", screen.output)
        self.assertNotIn("\x1b", screen.output)

    def test_what_the_compiler_says_is_shown(self):
        template = self.folder / "scale.cu"
        template.write_text(f"#error {CONTROL}\n" + template.read_text())
        result = self.hone("compile", self.config, "--arch", "sm_90", expect=3)
        shown = result.stdout + result.stderr
        self.assertIn(SHOWN, shown)
        self.assertEqual([c for c in shown if c in "\x1b\x07\x7f\u009b"], [])

    def test_other_characters_are_as_they_are(self):
        name = "größe·█\t"
        self.spoil(self.config, "kernel: scale\n", f'kernel: scale\n"{name}": 1\n')
        self.assertIn(name, self.hone("space", self.config, expect=2).stderr)

    def test_data_is_as_it_is(self):
        """A source on standard output is what the template is, byte for byte."""
        template = self.folder / "scale.cu"
        text = "// a page\f and a carriage return\r\n" + template.read_text()
        template.write_bytes(text.encode())
        self.tune("-s", "BLOCK=256", "-s", "ITEMS=4")
        result = self.run_in_shell('"$@"', "export", "scale", "--format", "source")
        self.assertIn(text.encode(), result.stdout)


class Files(Case):
    def make(self, kind):
        """A special file of a kind, by a name that any reader takes."""
        path = self.folder / f"{kind}.json"
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(str(path))
        else:
            os.symlink("/dev/zero", path)
        return path

    def test_special_files_are_refused(self):
        for kind in ("pipe", "socket", "device"):
            path = self.make(kind)
            for code, words in ((2, ["space", path]), (1, ["init", path]), (1, ["cache", "import", path]),
                                (1, ["tune", "--capture", path]),
                                (1, ["tune", self.config, "--simulate", path])):
                result = self.hone(*words, expect=code)
                self.assertIn(f"it is a {kind}, expected a plain file", result.stderr, words)
            self.assertIn("is no regular file", self.hone("cache", "list", "--cache", path, expect=1).stderr)

    def test_a_template_or_what_it_includes_or_takes_may_be_none(self):
        pipe = self.make("pipe")
        text = self.config.read_text()
        self.config.write_text(text.replace("template: scale.cu", f"template: {pipe.name}"))
        self.assertIn("it is a pipe", self.hone("compile", self.config, "--arch", "sm_90", expect=2).stderr)
        self.config.write_text(text)
        template = self.folder / "scale.cu"
        template.write_text(f'#include "{pipe.name}"\n' + template.read_text())
        self.assertIn("it is a pipe", self.hone("compile", self.config, "--arch", "sm_90", expect=2).stderr)
        shutil.copy(double.DATA / "scale.cu", self.folder)
        self.config.write_text(text.replace('fill: "uniform(-1, 1)"', f"file: {pipe.name}", 1))
        self.assertIn("it is a pipe", self.hone("tune", self.config, "--quiet", expect=2).stderr)

    def test_a_folder_of_recordings_may_hold_one(self):
        folder = self.folder / "recordings"
        self.tune("-s", "BLOCK=256")
        self.hone("cache", "export", "scale", f"{folder}/")
        os.mkfifo(folder / "a.json")
        self.assertIn("it is a pipe", self.hone("tune", self.config, "--simulate", folder, "-s", "BLOCK=256", expect=1).stderr)

    def test_a_path_that_is_too_long_is_said_to_be(self):
        folder = pathlib.Path(self.folder, *["d" * 100] * 6)
        folder.mkdir(parents=True)
        cache = folder / "hone.db"
        result = self.hone("tune", DATA / "saxpy.yaml", "--simulate", self.record(name="saxpy.json"), "--cache", cache, expect=1)
        self.assertIn(f"its full path has {len(str(cache))} bytes, SQLite takes at most 504", result.stderr)
        # All else may be there.
        for path in double.DATA.glob("scale*"):
            shutil.copy(path, folder)
        self.assertIn("24 valid points", self.hone("space", folder / "scale.yaml").stdout)
