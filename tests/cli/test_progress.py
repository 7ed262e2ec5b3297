# SPDX-License-Identifier: MIT
"""The progress of hone tune on a terminal, on the driver double."""

import os
import re

import double
import hone
import terminal


def is_whole(lines):
    """Whether the screen shows the whole block: a terminal may be read in the middle of one. Counts come last."""
    return len(lines) > 4 and ", from" in lines[3] and re.search(r"\d+ (ok|slower)", lines[4]) is not None


class Progress(double.Case):
    def setUp(self):
        super().setUp()
        self.cheap_config(8, 16)

    def tune_on(self, columns, *arguments, rows=60, **changes):
        environment = dict(self.environment(TERM="xterm", HONE_DOUBLE_WAIT_US="2000"), **changes)
        environment = {key: value for key, value in environment.items() if value is not None}
        shown = terminal.Terminal([hone.HONE, "tune", str(self.config), *arguments], columns, rows, self.folder, environment)
        self.addCleanup(shown.close)
        return shown

    def assert_clean(self, shown):
        """No trace of the progress among the results, and the terminal as it was."""
        lines = shown.screen.lines()
        for line in lines:
            self.assertNotRegex(line, r"\d+/\d+|░|█|\d/s\b|better \d+ times?")
        self.assertTrue(lines[0].startswith("tuning scale on"), lines)
        self.assertNotIn("?25l", shown.output)
        self.assertNotIn("\x1b[?1049h", shown.output)
        return lines

    def test_block_and_interrupt(self):
        shown = self.tune_on(100, "--full")
        self.assertTrue(shown.read(until=is_whole))
        block = shown.screen.lines()[1:]
        self.assertRegex(block[0], r"^  [█▏▎▍▌▋▊▉░]{24}  \d+/128")
        self.assertRegex(block[1], r"^  best [\d.]+ us")
        self.assertRegex(block[2], r"^  [▁▂▃▄▅▆▇█]{32}  better \d+ times?, from [\d.]+ us")
        self.assertRegex(block[3], r"\d+ (ok|slower)")
        self.assertLessEqual(max(map(len, block)), 99)
        shown.type("\x03")
        shown.read()
        self.assertEqual(shown.status, 130)
        lines = self.assert_clean(shown)
        self.assertTrue(any("interrupted; what was finished is kept" in line for line in lines), lines)
        self.assertEqual(shown.screen.column, 0)

    def test_no_unicode_no_colour(self):
        shown = self.tune_on(100, "--budget", "100", LC_ALL="C")
        self.assertTrue(shown.read(until=is_whole))
        block = shown.screen.lines()[1:]
        self.assertRegex(block[0], r"^  [#.]{24}  \d+/100")
        self.assertRegex(block[2], r"^  [_.,\-~=+#]{32}  better \d+ times?, from")
        self.assertEqual(shown.screen.colours, 0)

    def test_colours_to_the_end(self):
        shown = self.tune_on(100, "--budget", "20", NO_COLOR=None)
        shown.read()
        self.assertEqual(shown.status, 0)
        self.assertGreater(shown.screen.colours, 0)
        self.assertGreater(shown.output.rindex("\x1b[0m"), shown.output.rindex("\x1b[1m"))
        self.assert_clean(shown)

    def test_one_line_on_a_narrow_or_low_terminal(self):
        for columns, rows in ((40, 30), (100, 6)):
            shown = self.tune_on(columns, "--budget", "60", "--cache", str(self.folder / f"{columns}.db"), rows=rows)
            self.assertTrue(shown.read(until=lambda lines: any("best" in line for line in lines)))
            progress = shown.screen.lines()[shown.screen.row]
            self.assertRegex(progress, r"^\d+/60")
            self.assertLess(len(progress), columns)

    def test_terminal_becomes_narrower(self):
        shown = self.tune_on(120, "--full")
        self.assertTrue(shown.read(until=lambda lines: any(", from" in line for line in lines)))
        shown.resize(60)
        self.assertTrue(shown.read(until=lambda lines: re.match(r"\d+/128", lines[shown.screen.row]) is not None))
        shown.resize(110)
        self.assertTrue(shown.read(until=lambda lines: any(", from" in line for line in lines)))
        self.assertEqual(sum(", from" in line for line in shown.screen.lines()), 1)

    def test_neither_dumb_nor_quiet_nor_off_a_terminal(self):
        for term, arguments in (("dumb", []), ("xterm", ["--quiet"])):
            shown = terminal.Terminal([hone.HONE, "tune", str(self.config), "--budget", "10", *arguments], 100, 30,
                                      self.folder, self.environment(TERM=term))
            self.addCleanup(shown.close)
            shown.read()
            self.assertEqual(shown.status, 0)
            self.assertNotIn("\x1b", shown.output)
        result = self.hone("tune", self.config, "--budget", "10")
        self.assertNotIn("\x1b", result.stderr)
        self.assertNotIn("\r", result.stderr)
