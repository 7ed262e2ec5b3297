# SPDX-License-Identifier: MIT
"""The manual stays short and plain: few words in few files, short sentences, no diary. `test_manual.py --report` prints the figures."""

import re
import statistics
import subprocess
import sys
import unittest

import hone
import pages
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

    def test_sources_say_cannot(self):
        files = [file for room in ("base", "cache", "runtime", "tuner") for file in (hone.SOURCE / room).rglob("*.*")
                 if file.suffix in (".c", ".h", ".js", ".in")]
        self.assertGreater(len(files), 200)
        self.assertEqual([file for file in files if re.search(r"\bcan not\b", file.read_text(), re.I)], [])

    def test_pages_end_with_where_to_go(self):
        for page in sorted((hone.SOURCE / "docs").glob("*.md")):
            last = page.read_text().rstrip("\n").split("\n\n")[-1]
            if page.name not in ("README.md", "tutorial.md", "own-kernel.md"):  # a map; a section; a last sentence
                self.assertTrue(last.startswith("Next: "), page.name)
            self.assertRegex(last, r"\]\([\w./-]+\.md", page.name)

    def test_size(self):
        words = {page: len(page.read_text().split()) for page in test_links.pages()}
        self.assertLessEqual(sum(words.values()), WORDS)
        self.assertLessEqual(len(words), FILES)
        self.assertLessEqual(words[hone.SOURCE / "README.md"], README_WORDS)


class Words(hone.Case):
    """Tables of keys and words have those that the program knows, no more and no fewer: it lists them where it is given another."""
    BASE = "kernel: x\ntemplate: x.cu\nentry: x\nproblem: {N: 4}\nparameters: {A: [1]}\n"
    RESULT = "arguments: [{name: y, type: float32, count: N, role: output}]\n"
    LAUNCH = "launch: {block: 1, grid: 1}\n"
    OTHER = "other_than_all_that_there_are"

    def section(self, page, heading):
        return re.split(rf"\n#+ {heading}\n", (hone.SOURCE / "docs" / page).read_text())[1].split("\n#")[0]

    def table(self, page, heading, number=0):
        """The words in the first column of a table of a section."""
        rows = re.findall(r"^\|---.*\n((?:\|.*\n?)+)", self.section(page, heading), re.M)[number]
        return sorted(word for cell in re.findall(r"^\|([^|]*)\|", rows, re.M) for word in re.findall(r"`(\w+)", cell))

    def known(self, config, *command):
        """The words that the message names which refuses OTHER."""
        self.write("x.cu", 'extern "C" __global__ void x(float *y) {}\n')
        message = self.hone(*(command or ("space",)), self.write("x.yaml", config.replace("OTHER", self.OTHER)), expect=2).stderr
        words = re.sub(r"\(.*?\)", "", message.split(self.OTHER, 1)[1]).replace(" or ", ", ").split(",")
        return sorted(word.split()[-1].rstrip(".") for word in words if word.split() and word.strip() != "'")

    def test_keys_of_the_config(self):
        step = self.BASE + self.RESULT + self.LAUNCH
        for heading, config in (
                ("Keys", "OTHER: 1\n"), ("symbols", step + "symbols: [{name: z, type: float32, OTHER: 1}]\n"),
                ("launch", self.BASE + self.RESULT + "launch: {block: 1, grid: 1, OTHER: 1}\n"),
                ("l2_window", self.BASE + self.RESULT + "launch: {block: 1, grid: 1, l2_window: {OTHER: 1}}\n"),
                ("pipeline", step + "pipeline: {OTHER: 1}\n"), ("compare", step + "compare: {OTHER: 1}\n")):
            with self.subTest(heading):
                self.assertEqual(self.table("config.md", heading), self.known(config))

    def test_blocks_of_code(self):
        """What pages show as YAML has keys of the config, or of hosts; what they show as Python is Python."""
        keys = {*self.table("config.md", "Keys"), "workers"}
        shown = [(page, fence, body) for page in pages.all_pages() for _, fence, body in pages.blocks(page) if fence in ("python", "yaml")]
        self.assertGreater(len(shown), 40)
        for page, fence, body in shown:
            with self.subTest(page=page, body=body):
                self.assertLessEqual(set(re.findall(r"^(\w+):", body, re.M)) if fence == "yaml" else set(), keys)
                if fence == "python":
                    compile(body, page, "exec")

    def test_keys_of_an_argument(self):
        tables = self.table("config.md", "arguments") + self.table("config.md", "textures") + self.table("config.md", "tensor maps")
        self.assertEqual(sorted(tables), self.known(self.BASE + self.RESULT.replace("role: output", "OTHER: 1") + self.LAUNCH))

    def test_keys_of_a_family(self):
        keys = self.known(self.BASE + self.RESULT + self.LAUNCH + "family: {N: {range: [1, 4], OTHER: 1}}\n")
        own = re.search(r"own_keys\[\] = \{(.*?)\}", (hone.SOURCE / "tuner" / "config" / "family.c").read_text(), re.S)[1]
        self.assertEqual(self.table("config.md", "family"), sorted(keys + re.findall(r'"(\w+)"', own)))

    def test_words_of_the_config(self):
        self.assertEqual(self.table("config.md", "arguments", 1),
                         self.known(self.BASE + self.RESULT.replace("output", "OTHER") + self.LAUNCH))
        self.assertEqual(self.table("config.md", "arguments", 2),
                         self.known(self.BASE + self.RESULT.replace("role: output", "fill: OTHER") + self.LAUNCH))
        self.assertEqual(self.table("config.md", "compile"),
                         self.known(self.BASE + self.RESULT + self.LAUNCH + "compile: {refuse: [OTHER]}\n"))

    def test_keys_of_a_host(self):
        self.assertEqual(self.table("cli.md", "Workers", 1), self.known("workers: [{OTHER: 1}]\n", "device", "--workers"))

    def source(self, path, begin, word):
        text = (hone.SOURCE / path).read_text()
        return re.findall(word, text[text.index(begin):].split(";\n")[0])

    def test_outcomes(self):
        text = (hone.SOURCE / "cache/record/record.h").read_text()
        named = re.findall(r'X\(HN_OUTCOME_\w+, "(\w+)"', text[text.index("X(HN_OUTCOME_"):].split("\n\n")[0])
        self.assertEqual(self.table("outcomes.md", "Outcomes"), sorted(named))

    def test_verdicts_of_a_replay(self):
        shown = re.findall(r"^\| `(.*?)` \| .* \| (\d) \|$", self.section("cli.md", "hone replay CONFIG"), re.M)
        named = self.source("tuner/commands/command_replay.c", "verdict_names[] =", r'"(.*?)"')
        self.assertEqual(sorted(shown), sorted((name, "4" if name.isupper() else "0") for name in named))

    def test_variables_of_the_environment(self):
        """The library's own are in its page; those of the system, and of the locale, are told by neither side."""
        read = set()
        for floor in ("base", "cache", "runtime", "tuner"):
            for source in (hone.SOURCE / floor).rglob("*.c"):
                read |= set(re.findall(r'getenv\("(\w+)"|\.variable = "(\w+)"|\{(?:TOOLKIT|WHEELS|PYTHON), "(\w+)"', source.read_text()))
        read = {name for names in read for name in names if name} - {"HOME", "PATH", "TMPDIR", "SLURM_JOB_ID", "LD_PRELOAD"}
        page = (hone.SOURCE / "docs" / "library.md").read_text()
        library = {name for name in read if name in ("HONE_COMMAND", "HONE_CAPTURE", "HONE_CAPTURE_LAUNCHES", "HONE_FREEZE_AFTER") and name in page}
        self.assertEqual(set(self.table("cli.md", "Environment")) - {"LC_ALL", "LC_CTYPE", "LANG"}, read - library)

    def test_exit_codes(self):
        """Where another page names one, it is in the table."""
        codes = re.findall(r"^\| (\d+) \|", self.section("cli.md", "Exit codes"), re.M)
        named = {code for page in test_links.pages() for code in re.findall(r"[Ee]xit codes? (\d+)", page.read_text())}
        self.assertLessEqual(named, set(codes))


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
