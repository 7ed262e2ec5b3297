# SPDX-License-Identifier: MIT
"""docs/tutorial.md and docs/own-kernel.md as a reader follows them: their files are written, their commands run in order, and
what they print is compared with what the page shows, but for figures. On the driver double; on a GPU with HONE_GPU=1.

    HONE_GPU=1 test_tutorial.py --update > tutorial.md

puts what the commands that measure print there into the page: each shown line is replaced by the printed one that it matches."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import unittest

import double
import hone

PAGE = hone.SOURCE / "docs" / "tutorial.md"
OWN_KERNEL = hone.SOURCE / "docs" / "own-kernel.md"
BUILD = os.environ.get("HONE_BUILD")  # where Hone can be installed from
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
NVCC = shutil.which("nvcc") or ("/usr/local/cuda/bin/nvcc" if os.path.exists("/usr/local/cuda/bin/nvcc") else None)

# Commands whose figures are the same everywhere, but for what the page shows as "…".
EXACT = ("hone init", "hone space", "hone compile")
# A line that only some runs print, whether the page shows it or not.
SOMETIMES = re.compile(r"\s*((= tied|in all rows): |(then|again) +\d+ processes: )")
# The page's device, in whose place another has its own name.
PAGES_DEVICE = "NVIDIA H200"
# What is another word on another device or in another run.
VARIES = [(r"(occup\.).*", r"\1"), (r"^(\s*\d+=? .*%)[^%]*$", r"\1"),  # which parameters differ in the rows
          (r"measured on \S+", "measured on node"), (r"[+-]?\d[\d.]*(e[+-]?\d+)?", "0"), (r"\b[mun]s\b", "us"),
          (r"\b(copy|FP32|launch)\b", "roof"), (r", 0 (slower|skipped|duplicate)s?", ""), (r"[ =]+", " ")]


def masked(line):
    for pattern, word in VARIES:
        line = re.sub(pattern, word, line)
    return line.strip()


def matches(command, shown, printed):
    """Whether a line that the page shows is the printed one; "…" stands for anything."""
    read = str.strip if command.startswith(EXACT) else masked
    parts = [re.escape(read(part)) for part in shown.split("…")]
    return re.fullmatch(r".*".join(rf"\s*{part}\s*" for part in parts), read(printed)) is not None


def name_of(text):
    """The file that the sentence in front of a block speaks of: the last one that it names."""
    return re.findall(r"`([\w.]+\.(?:cu|yaml|txt))`", text)[-1]


class Tutorial(double.Case):
    def setUp(self):
        hone.Case.setUp(self)
        binaries = self.folder / "bin"
        binaries.mkdir()
        (binaries / "hone").symlink_to(hone.HONE)
        self.settings = self.environment(HONE_DOUBLE_NAME="Quadro X-80.5GB (2)", PATH=f"{binaries}:{os.environ['PATH']}")
        (self.folder / "work").mkdir()
        self.can_build = bool(BUILD and NVCC)
        if self.can_build:
            prefix = self.folder / "prefix"
            subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], capture_output=True, check=True, timeout=120)
            self.settings |= {"CMAKE_PREFIX_PATH": str(prefix), "CUDACXX": NVCC}
        devices = subprocess.run([hone.HONE, "device", "--json"], env=self.settings, capture_output=True, text=True, check=True)
        self.device = json.loads(devices.stdout)["devices"][0]["name"]

    def run_command(self, line):
        """What it prints, lines of stderr behind those of stdout; None where it cannot be run here."""
        words = shlex.split(line)
        if words[0] == "nvcc":
            if NVCC is None:
                return None
            words[0] = NVCC
        elif words[0] == "cmake":
            if not self.can_build:
                return None
        elif words[0].startswith("./") and (not double.ON_GPU or not (self.folder / "work" / words[0]).exists()):
            return None
        optimized = {"HONE_DOUBLE_OPTIMIZE": "1"} if line.startswith(EXACT) else {}  # as on the page
        result = subprocess.run(words, cwd=self.folder / "work", env={**self.settings, **optimized}, text=True, capture_output=True,
                                stdin=subprocess.DEVNULL, timeout=300)
        self.assertEqual(result.returncode, 0, f"{line}: {result.stdout}{result.stderr}")
        return (result.stdout + result.stderr).splitlines()

    def follow(self, page):
        """Does what the page says. Returns it with what was printed in the place of what it shows."""
        parts = []
        end = 0
        for block in BLOCK.finditer(page):
            kind, body = block.groups()
            if kind == "console":
                parts += [page[end:block.start(2)], self.follow_console(body)]
            else:
                (self.folder / "work" / name_of(page[end:block.start()])).write_text(body)
                parts += [page[end:block.end(2)]]
            end = block.end(2)
        return "".join(parts) + page[end:]

    def follow_console(self, body):
        text = ""
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.M):
            printed = self.run_command(command)
            text += f"$ {command}\n" + (shown if printed is None else self.compare(command, shown.splitlines(), printed))
        return text

    def compare(self, command, shown, printed):
        """Each shown line is printed, in this order; nothing is left out where the page does not say so by "…"."""
        text, at, gap = "", 0, False
        for line in shown:
            if line == "…":
                text, gap = text + "…\n", True
                continue
            while at < len(printed) and not gap and SOMETIMES.match(printed[at]) and not SOMETIMES.match(line):
                text, at = text + printed[at] + "\n", at + 1
            found = next((i for i in range(at, len(printed) if gap else at + 1) if i < len(printed) and
                          matches(command, line, printed[i].replace(self.device, PAGES_DEVICE))), None)
            if found is None and SOMETIMES.match(line):
                continue
            self.assertIsNotNone(found, f"{command}: the page shows\n{line}\nand here it is\n" + "\n".join(printed[at:]))
            text += (line if command.startswith(EXACT) else printed[found]) + "\n"
            at, gap = found + 1, False
        rest = printed[at:] if not gap else []
        self.assertFalse([line for line in rest if line.strip() and not is_aside(line)], f"{command}: the page does not show it")
        return text

    def test_a_reader_gets_there(self):
        self.follow(PAGE.read_text())
        work = self.folder / "work"
        self.assertIn("blur", (work / "blur.html").read_text())
        self.assertIn("HONE_BLUR_BLOCK_X", (work / "blur_tuned.h").read_text())
        if NVCC:
            self.assertTrue((work / "blur").exists())


    @unittest.skipUnless(NVCC, "there is no nvcc")
    def test_a_reader_with_an_own_kernel_gets_there(self):
        page = OWN_KERNEL.read_text()
        work = self.folder / "work"
        before, after = page.split("The draft has the macros")
        self.follow(before)
        self.assertIn("compile: {compiler: nvcc}", (work / "heat.yaml").read_text())
        self.follow(after)
        self.assertTrue((work / "heat-recorded.json.gz").exists())
        if self.can_build:
            header = (work / "build" / "hone_tuned" / "heat" / "heat_tuned.h").read_text()
            self.assertIn(f" *   device     {self.device}", header)
            self.assertNotIn("default point", header.split("#ifndef")[0])
            self.assertTrue((work / "build" / "heat").exists())


def is_aside(line):
    """Progress, and what to do next: where they stand depends on the terminal."""
    return re.match(r"(tuning|next:|\d+/\d+ \|)", line) is not None


def update():
    case = Tutorial("test_a_reader_gets_there")
    case.setUp()
    try:
        sys.stdout.write(case.follow(PAGE.read_text()))
    finally:
        case.doCleanups()


if "--update" in sys.argv:
    sys.exit(update())
