# SPDX-License-Identifier: MIT
"""Whatever the locale, numbers are written and read as in C: each command under locales with a decimal comma, and what the
objects of the build call. tests/library/test_library.py runs a program of libhone under the same locales."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import double
import hone
import locales

BUILD = pathlib.Path(os.environ.get("HONE_BUILD", double.hone.SOURCE / "build"))
SOURCES = double.hone.SOURCE

# Functions of libc that do something else in another locale. Those of <ctype.h> are calls or tables.
DEPENDENT = re.compile(
    r"(__isoc\d\d_)?(v?[fs]?scanf|strto(d|f|ld)|atof|(is|to)(alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|"
    r"upper|xdigit)(_l)?|__ctype_(b|tolower|toupper)_loc|strn?casecmp(_l)?|strcasestr|strcoll|strxfrm|strverscmp|(new|use|set|dup)locale|"
    r"localeconv|nl_langinfo|strfmon|strptime|strftime|alphasort|versionsort|glob|fnmatch|regcomp|wordexp|"
    r"(mb|wc)(r?to|s(n?r)?to)\w+|mblen|wcwidth|f?w(printf|scanf))")
# Who may call them, and why.
ALLOWED = {
    "newlocale": ({"text", "progress"}, "what enters the C locale; whether the terminal shows UTF-8"),
    "uselocale": ({"text"}, "what enters the C locale"),
    "strncasecmp_l": ({"text"}, "is given the C locale"),
    "strptime": ({"recording"}, "digits only, within hn_c_locale_enter where libhone calls it"),
    "sscanf": ({"recording", "cubin", "node", "command_init", "draft", "unit", "interposer"}, "whole numbers"),
    "strftime": ({"recording", "render", "export_results", "cache_copies", "turn"}, "digits only"),
    "alphasort": ({"file"}, "within hn_c_locale_enter where libhone calls it"),
    "regcomp": ({"programs"}, "the command's own locale is always C"),
    "glob": ({"library"}, "within hn_c_locale_enter where libhone calls it; folders of ASCII names"),
}


class Objects(unittest.TestCase):
    def test_nobody_calls_what_depends_on_the_locale(self):
        tops = ("base", "cache", "runtime", "tuner")
        sources = {path.name for top in tops for path in (SOURCES / top).rglob("*.c")}
        # A build folder may still have objects of sources that are gone.
        files = [path for top in tops for path in (BUILD / top).rglob("*.c.o") if path.stem in sources]
        self.assertGreaterEqual(len(files), len(sources))
        listing = subprocess.run(["nm", "-A", "-u", *files], text=True, check=True, capture_output=True).stdout
        wrong, used = [], set()
        for line in listing.splitlines():
            place, _, symbol = line.rpartition(" U ")
            symbol = symbol.split("@")[0]
            if DEPENDENT.fullmatch(symbol) is None:
                continue
            name = re.sub(r"^__isoc\d\d_", "", symbol)
            caller = re.search(r"([^/:]+)\.c\.o\b", place).group(1)
            if caller in ALLOWED.get(name, [()])[0]:
                used.add((name, caller))
            else:
                wrong.append(f"{caller}.c calls {symbol}: see base/text.h")
        self.assertEqual(wrong, [])
        self.assertEqual(used, {(name, caller) for name, (callers, _) in ALLOWED.items() for caller in callers})


class Commands(double.Case):
    @classmethod
    def setUpClass(cls):
        cls.places = tempfile.TemporaryDirectory(prefix="hone-locales-")
        cls.addClassCleanup(cls.places.cleanup)
        cls.others = locales.make(cls.places.name)

    def setUp(self):
        super().setUp()
        self.spoil(self.config, "  FAULT: [0]", "  FACTOR: [0.5, 0.25]\n  FAULT: [0]")
        self.spoil(self.config, "FAULT: 0}", "FAULT: 0, FACTOR: 0.5}")
        self.spoil(self.config, "bytes / time_us / 1000}", "bytes / time_us / 1.0e3, half: FACTOR * 1.5}")
        self.config.write_text(self.config.read_text() + "constraints: [FACTOR >= 0.1 or ITEMS > 1.5]\n")

    def test_a_tune_is_the_same(self):
        """Points, plans and hashes under each locale; simulated times are those of the point, and compile times decide nothing with one
        in flight."""
        shown = set()
        for settings in [{"LC_ALL": "C.UTF-8"}, *self.others]:
            self.cache = self.folder / f"{settings['LC_ALL']}.db"
            tuning, = self.tune("--budget", "60.5s", "--stop-chance", "0.25", "--look-ahead", "1", "-s", "BLOCK=256", **settings)
            self.assertIn("0.5", str(tuning["best"]["point"]))
            shown.add(str([tuning["best"]["point"], sorted(set(self.sql("SELECT point FROM record WHERE outcome = 'ok'"))),
                           self.sql("SELECT json FROM plan"), self.sql("SELECT version FROM session")]))
        self.assertEqual(len(shown), 1, shown)

    def test_every_command_says_the_same(self):
        self.tune()
        self.hone("cache", "export", "scale", "scale.json.gz")
        commands = [
            ["init", "scale.cu", "-o", "-"], ["tune", self.config, "--simulate", "scale.json.gz", "--json"],
            ["space", self.config, "--list=all"], ["inputs", self.config, "-o", "inputs", "--json"],
            ["compile", self.config, "-s", "BLOCK=256", "-s", "FACTOR=0.25"], ["explain", self.config], ["export", "scale"],
            ["export", "scale", "--format", "json"],
            ["report", "-o", "-"],
            ["cache", "list"], ["cache", "show", "scale"],
            ["cache", "check"], ["device"], ["help", "tune"]]
        listed = re.findall(r"^  (\w+) ", self.hone("--help").stdout, re.M)
        measuring = [["run", self.config, "-s", "BLOCK=256", "-s", "FACTOR=0.5"],
                     ["replay", self.config, "--max-slowdown", "900.5"]]
        self.assertEqual({words[0] for words in commands + measuring} - {"help"}, set(listed) - {"capture"})  # it has a test of its own
        for words in commands:
            expected = self.numbers_apart(*words)
            for settings in self.others:
                self.assertEqual(self.numbers_apart(*words, **settings), expected)
        for words in measuring:
            for settings in self.others:
                shown = self.hone(*words, **settings).stdout
                self.assertRegex(shown, r"\d\.\d+ us")
                self.assertNotRegex(shown, r"\d,\d")

    def numbers_apart(self, *words, **settings):
        """What a command prints with an N for each number: a decimal comma makes two of one."""
        result = self.hone(*words, **settings)
        text = result.stdout + result.stderr
        if words[0] == "report":  # its data is packed
            text = json.dumps(hone.report_document(text))
        numbers = re.sub(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?", "N", text)
        return re.sub(" +", " ", numbers)  # columns are as wide as their numbers
