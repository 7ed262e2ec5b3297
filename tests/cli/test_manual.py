# SPDX-License-Identifier: MIT
"""The manual stays short and plain: few words in few files, short sentences, no diary. `test_manual.py --report` prints the figures."""

import re
import shlex
import statistics
import subprocess
import sys
import unittest

import hone
import test_links

# What is allowed to the manual as a whole, and to a page.
WORDS, FILES, README_WORDS = 45000, 40, 600
LONGEST, MEAN = 40, 25  # words of a sentence; of the mean sentence of a page
# A manual describes what is. What was before, and what was tried, stands in CHANGELOG.md and in git.
DIARY = re.compile(r"versions? before|one before that|tried and not|not kept|was left out|before that, |"
                   r"an earlier (?:version|run|form)|in the version", re.I)
UNPLAIN = re.compile(r"\bcan not\b|\bis told by\b|^(?:What|Of)\b(?!.*\?$)")


def blocks(page):
    """The paragraphs, list items and table cells of a page, as plain text."""
    text = re.sub(r"<!--.*?-->", "", test_links.prose(page), flags=re.S)
    text = re.sub(r"!?\[((?:[^\]\[]|\[[^\]]*\])*)\]\([^)]*\)", r"\1", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=#)|\n(?=\|)", text):
        paragraph = " ".join(paragraph.split())
        if paragraph.startswith("|"):
            yield from (cell.strip() for cell in re.split(r"(?<!\\)\|", paragraph) if not re.fullmatch(r"[-: ]*", cell))
        elif not paragraph.startswith("#"):
            yield re.sub(r"^(?:[-*]|\d+\.) ", "", paragraph)


def sentences(page):
    for block in blocks(page):
        block = re.sub(r"`[^`]*`", "CODE", block)
        for sentence in re.split(r"(?<=[.!?:;])\)?\s+(?=[A-Z(])", block):
            if len(sentence.split()) > 2:
                yield sentence.strip()


def length(sentence):
    """In words; what is code does not count."""
    return sum("CODE" not in word for word in sentence.split())


class Manual(unittest.TestCase):
    maxDiff = None
    PAGES = [page for page in test_links.pages() if page.name != "CHANGELOG.md"]

    def each(self, found):
        self.assertEqual([f"{page.relative_to(hone.SOURCE)}: {text}" for page in self.PAGES for text in found(page)], [])

    def test_no_sentence_is_long(self):
        self.each(lambda page: [sentence for sentence in sentences(page) if length(sentence) > LONGEST])

    def test_sentences_are_short_in_the_mean(self):
        def means(page):
            lengths = [length(sentence) for sentence in sentences(page)]
            return [f"{statistics.mean(lengths):.1f} words a sentence"] if lengths and statistics.mean(lengths) > MEAN else []
        self.each(means)

    def test_no_diary(self):
        self.each(lambda page: [sentence for sentence in sentences(page) if DIARY.search(sentence)])

    def test_plain_english(self):
        self.each(lambda page: [sentence for sentence in sentences(page) if UNPLAIN.search(sentence)])

    def test_size(self):
        words = {page: len(page.read_text().split()) for page in test_links.pages()}
        self.assertLessEqual(sum(words.values()), WORDS)
        self.assertLessEqual(len(words), FILES)
        self.assertLessEqual(words[hone.SOURCE / "README.md"], README_WORDS)


class Commands(hone.Case):
    """Commands of pages that are not followed elsewhere, as far as they need no GPU: in a folder like that of the sources."""

    def test_commands_run(self):
        for name in ("cache", "configs", "templates"):
            (self.folder / name).symlink_to(hone.SOURCE / name)
        recorded = sorted((hone.SOURCE / "cache" / "recorded" / "nvidia-h200").glob("matmul-*.json.gz"))
        self.hone("cache", "import", *recorded)
        count = 0
        for page in ("cache/README.md", "docs/header.md", "docs/tensor-maps.md"):
            for line in re.findall(r"^    hone (.*)$", (hone.SOURCE / page).read_text(), re.M):
                words = shlex.split(line.split("  #")[0])
                if words[:2] != ["tune", "configs/transpose_tma.yaml"] and words[0] != "explain":  # there is no recording of it
                    with self.subTest(page=page, line=line):
                        few = ["-s", "TALL=1", "-s", "WIDE=1", "-s", "STAGES=2"] if words[:2] == ["compile", "--all"] else []
                        self.hone(*words, *few)
                    count += 1
        self.assertEqual(count, 5)


class Words(unittest.TestCase):
    """Tables of keys and outcomes have the words that the sources have, no more and no fewer."""
    maxDiff = None

    def table(self, page, heading):
        """The words in the first column of the table below a heading."""
        text = (hone.SOURCE / "docs" / page).read_text().split(f"\n## {heading}\n")[1].split("\n#")[0]
        return sorted(word for row in re.findall(r"^\|([^|]*`[^|]*)\|", text, re.M) for word in re.findall(r"`(\w+)`", row))

    def source(self, path, begin, end, word):
        text = (hone.SOURCE / path).read_text()
        return sorted(re.findall(word, text[text.index(begin):].split(end)[0]))

    def test_keys_of_the_config(self):
        keys = self.source("tuner/config/config.c", '"hone kernel', ";", r"\w+")
        self.assertEqual(self.table("config.md", "Keys"), keys)

    def test_outcomes(self):
        named = self.source("cache/record/record.h", "X(HN_OUTCOME_", "\n\n", r'X\(HN_OUTCOME_\w+, "(\w+)"')
        self.assertEqual(self.table("outcomes.md", "Outcomes"), named)


class Generated(unittest.TestCase):
    def test_tables_are_of_their_sources(self):
        """Options are those of the program, figures those of docs/figures.json."""
        for script in ("reference", "figures"):
            result = subprocess.run([sys.executable, "-B", hone.SOURCE / "scripts" / script, "--check"], capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stderr), (0, ""), script)


def report():
    for page in test_links.pages():
        lengths = [length(sentence) for sentence in sentences(page)] or [0]
        long = sum(length > LONGEST for length in lengths)
        diary = sum(bool(DIARY.search(sentence)) for sentence in sentences(page))
        unplain = sum(bool(UNPLAIN.search(sentence)) for sentence in sentences(page))
        print(f"{len(page.read_text().split()):6} words, {statistics.mean(lengths):5.1f} a sentence, {long:3} long, {diary:3} diary, "
              f"{unplain:3} unplain  {page.relative_to(hone.SOURCE)}")


if "--report" in sys.argv:
    sys.exit(report())
