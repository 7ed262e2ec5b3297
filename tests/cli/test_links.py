# SPDX-License-Identifier: MIT
"""All pages: relative links lead to files that are there, and to headings that are in them; commands have options that
there are."""

import functools
import os
import re
import shlex
import subprocess
import unittest

import hone

LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")


def pages():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=hone.SOURCE, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [hone.SOURCE / name for name in listed.stdout.splitlines() if (hone.SOURCE / name).exists()]
    skipped = ("build", ".", "shared")
    return [page for page in hone.SOURCE.rglob("*.md")
            if not str(page.relative_to(hone.SOURCE)).startswith(skipped)]


def prose(page):
    """Without blocks of code and code in a line; a link's text may be code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    return "\n".join(line for line in text.splitlines() if not line.startswith("    "))


def anchors(page):
    """As GitHub makes them: lower case, blanks to hyphens, all but letters, digits, hyphens and underscores left out."""
    found, counts = set(), {}
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for heading in re.findall(r"^#{1,6} (.*)$", text, re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        number = counts.get(name, 0)
        counts[name] = number + 1
        found.add(f"{name}-{number}" if number else name)
    return found


class Links(unittest.TestCase):
    maxDiff = None

    def test_relative_links_resolve(self):
        broken = []
        for page in pages():
            for target in LINK.findall(prose(page)):
                path, _, anchor = target.partition("#")
                if re.match(r"[a-z]+:", target):
                    continue
                file = (page.parent / path).resolve() if path else page
                name = f"{page.relative_to(hone.SOURCE)}: {target}"
                if not file.exists():
                    broken.append(f"{name}: there is no such file")
                elif not str(file).startswith(str(hone.SOURCE) + os.sep):
                    broken.append(f"{name}: leads out of the project")
                elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                    broken.append(f"{name}: there is no such heading")
        self.assertEqual(broken, [])

    def test_every_page_of_the_manual_is_on_the_map(self):
        linked = set(LINK.findall((hone.SOURCE / "docs" / "README.md").read_text()))
        for page in (hone.SOURCE / "docs").glob("*.md"):
            if page.name != "README.md":
                self.assertIn(page.name, {target.partition("#")[0] for target in linked})

    def test_anchors(self):
        self.assertIn("hone-tune-config", anchors(hone.SOURCE / "docs" / "cli.md"))
        self.assertIn("objective-and-direction", anchors(hone.SOURCE / "docs" / "config.md"))


class Commands(hone.Case):
    @functools.lru_cache(maxsize=None)
    def options(self, command):
        return set(re.findall(r"^ {2,6}(?:(-.), )?(--[a-z-]+)?", self.hone(*command, "--help").stdout, re.M))

    def shown(self):
        """(page, line) of each command that a page shows in a block: `hone` alone, behind a prompt, or within another one."""
        for page in pages():
            for line in re.findall(r"^(?: {4}|\$ | {4}\$ )((?:.* )?hone [a-z].*)$", page.read_text(), re.M):
                yield page.relative_to(hone.SOURCE), re.sub(r"^.*?\bhone ", "hone ", line.split("  #")[0])

    def test_shown_commands_are_right(self):
        listed = set(re.findall(r"^  ([a-z]+) ", self.hone("--help").stdout, re.M))
        count = 0
        for page, line in self.shown():
            words = shlex.split(line.split("&&")[0].split(" > ")[0].replace("…", "x"), comments=True)
            if len(words) < 2 or words[1] not in listed:
                continue
            command = tuple(words[1:3]) if words[1] == "cache" else (words[1],)
            known = {option for pair in self.options(command) for option in pair if option}
            used = {word.split("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
            with self.subTest(page=str(page), line=line):
                self.assertLessEqual(used, known)
            count += 1
        self.assertGreater(count, 60)
