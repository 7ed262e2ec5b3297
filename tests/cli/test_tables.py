# SPDX-License-Identifier: MIT
"""Tables fit the width of the terminal, show in what rows differ, and break no word."""

import os

import hone
import terminal

RECORDED = hone.SOURCE / "cache" / "recorded" / "nvidia-h200"
SGEMM = RECORDED / "sgemm-k-4096-m-4096-n-4096-nvidia-h200-cold.json.gz"
CONFIG = hone.SOURCE / "configs" / "sgemm.yaml"
MATMUL = hone.SOURCE / "configs" / "matmul.yaml"
DIFFERENT = ["WM", "WN", "STAGES", "RASTER"]
DECLARED = ["FROZEN", "ALIGN_A", "ALIGN_B", "SMALL", "BM", "BN", "BK", "WM", "WN", "TM", "TN", "WK", "STAGES", "LOAD", "A_TILE", "PAD", "SWIZZLE", "FRAGMENTS",
            "SPREAD", "ORDER_M", "ORDER_N", "SNAKE", "RASTER", "SPLIT_K", "CLUSTER", "FINISH", "MIN_BLOCKS"]


class Tables(hone.Case):
    def tune_matmul(self, **settings):
        return self.hone("tune", MATMUL, "--simulate", RECORDED, "-p", "K=32", "--seed", "3", "--quiet", **settings).stdout

    def table_of(self, text):
        """The lines of the first table with what stands above it."""
        lines = text.splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("  in all rows:"))
        end = next((i for i, line in enumerate(lines[start:], start) if line.startswith("  = tied") or " points:" in line),
                   len(lines))
        return lines[start:end]

    def test_the_best_five_of_27_parameters_differ_in_four(self):
        self.hone("cache", "import", SGEMM)
        for columns in (80, 120):
            lines = self.table_of(self.hone("cache", "show", "sgemm", COLUMNS=str(columns)).stdout)
            self.assertLessEqual(max(map(len, lines)), columns)
            shared = [line for line in lines if "=" in line]
            same = " ".join(shared).replace("in all rows:", "").split(",")
            names = [pair.split("=")[0].strip() for pair in same]
            headings = [word for line in lines if line.lstrip().startswith("#") for word in line.split()]
            self.assertEqual([word for word in headings if word in DECLARED], sorted(DIFFERENT, key=headings.index))
            self.assertEqual(set(names) | set(DIFFERENT), set(DECLARED))
            self.assertFalse(set(names) & set(DIFFERENT))

    def test_parameters_stand_as_declared_where_the_config_is_known(self):
        for columns in (80, 120):
            text = self.tune_matmul(COLUMNS=str(columns))
            lines = self.table_of(text)
            self.assertLessEqual(max(map(len, lines)), columns)
            self.assertIn("in all rows: TILE_WIDTH=16, PAD=0, CORNER_TURN=0, MAX_REGISTERS=0", text)
            headings = [word for line in lines if line.lstrip().startswith("#") for word in line.split()]
            self.assertEqual([word for word in headings if word.isupper()], ["VARIANT", "UNROLL", "LOAD", "ASYNC_BYTES", "SYNC"])

    def test_no_table_is_wider_and_no_word_is_broken(self):
        self.hone("cache", "import", *RECORDED.glob("sgemm*m-64-*"), *RECORDED.glob("dot*"), *RECORDED.glob("matmul*"))
        self.tune_matmul(HONE_CACHE=str(self.folder / "other.db"))
        for words in (["cache", "list"], ["cache", "diff", self.folder / "other.db"], ["cache", "show", "dot_zero_copy"]):
            whole = set(self.hone(*words, COLUMNS="").stdout.replace(",", ", ").split())
            for columns in (80, 120):
                text = self.hone(*words, COLUMNS=str(columns)).stdout
                lines = [line for line in text.splitlines() if not line.startswith("  origin") and "tunings differ" not in line]
                self.assertLessEqual(max(map(len, lines)), columns, words)
                numbers = {"#", *map(str, range(len(lines)))}
                self.assertEqual(set(text.replace(",", ", ").split()) - whole - numbers, set(), words)

    def test_lists_of_values_break_behind_commas(self):
        text = self.hone("space", CONFIG, "-p", "M=1", "-p", "N=4096", "-p", "K=4096", COLUMNS="60").stdout
        lines = [line for line in text.splitlines() if not line.startswith("K=4096")]
        self.assertLessEqual(max(map(len, lines)), 60)
        place = next(k for k, line in enumerate(lines) if line.split()[:1] == ["SPLIT_K"])
        self.assertEqual(lines[place].split()[1:], "15 1, 2, 3, 4, 6, 8, 12, 16, 24, 33, 48,".split())
        self.assertEqual(lines[place + 1].split(), "66, ... (3 more)".split())

    def test_pipes_have_no_width(self):
        self.hone("cache", "import", *RECORDED.glob("copy_patterns*"))
        lines = self.hone("cache", "list", COLUMNS="").stdout.splitlines()
        self.assertEqual(len(lines), 3 + len(list(RECORDED.glob("copy_patterns*"))))

    def shown(self, columns, **settings):
        environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
        environment.update(HONE_CACHE=str(self.cache), TERM="xterm", LC_ALL="C.UTF-8", **settings)
        screen = terminal.Terminal([hone.HONE, "tune", str(MATMUL), "--simulate", str(RECORDED), "-p", "K=32", "--seed", "3", "--quiet"],
                                   columns=columns, cwd=self.folder, env=environment)
        self.addCleanup(screen.close)
        screen.read()
        return screen

    def test_the_width_is_that_of_the_terminal(self):
        for columns in (80, 120):
            lines = self.table_of("\n".join(self.shown(columns).screen.lines()))
            self.assertLessEqual(max(map(len, lines)), columns)
            self.assertEqual(sum(line.lstrip().startswith("#") for line in lines), 2 if columns == 80 else 1)

    def test_sentences_on_a_terminal_break_between_words(self):
        whole = self.tune_matmul(COLUMNS="", HONE_CACHE=str(self.folder / "other.db")).split()
        lines = self.shown(80, NO_COLOR="1").screen.lines()
        start = next(k for k, line in enumerate(lines) if " ok, " in line)
        self.assertLessEqual(max(map(len, lines)), 80)
        said = " ".join(lines[start:]).split()
        self.assertEqual(set(said) - set(whole), set())
        self.assertIn("  ladder: the config's own points, always measured in full", lines)

    def test_best_and_tied_have_colours(self):
        output = self.shown(120).output
        self.assertIn("\x1b[1;32m  1=", output)
        self.assertIn("\x1b[32m  2=", output)
        self.assertNotIn("\x1b[32m  4", output)
        self.assertNotIn("\x1b", self.shown(120, NO_COLOR="1").output)
        self.assertNotIn("\x1b", self.tune_matmul(NO_COLOR=""))
