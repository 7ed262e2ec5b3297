# SPDX-License-Identifier: MIT
"""scripts/rule-picture: the picture has each choice of the rule where it is made."""

import json
import re
import subprocess

import hone

SCRIPT = hone.SOURCE / "scripts" / "rule-picture"
RULE = {
    "goal": "mean",
    "values": [{"name": "LAYOUT", "words": ["row", "column"]}, {"name": "M", "low": 1, "high": 256}, {"name": "N", "low": 1, "high": 1024}],
    "features": ["ceil_div(M, 16)", "LAYOUT == row"],
    "nodes": [{"feature": 1, "threshold": 0, "left": 1, "right": 2}, {"configuration": 2, "sure": True},
              {"feature": 0, "threshold": 1, "left": 3, "right": 4}, {"configuration": 0, "sure": True}, {"configuration": 1, "sure": False}],
    "configurations": [{"PAD": 0, "TILE": 16}, {"PAD": 0, "TILE": 32}, {"PAD": 0, "TILE": 64}],
}
FIRST, SECOND, THIRD, STRIPES = "#4477aa", "#ee6677", "#228833", "url(#stripes)"


class Picture(hone.Case):
    def draw(self, *options, document=RULE, expect=0):
        path = self.write("rule.json", json.dumps(document))
        result = subprocess.run([SCRIPT, path, *options], capture_output=True, text=True)
        self.assertEqual(result.returncode, expect, result.stderr)
        return result.stdout if expect == 0 else result.stderr

    def areas(self, picture):
        """Square pixels by colour, within the axes."""
        found = {}
        for width, height, fill in re.findall(r'<rect x="\d+" y="\d+" width="(\d+)" height="(\d+)" fill="([^"]+)"', picture):
            found[fill] = found.get(fill, 0) + int(width) * int(height) * (height == "4")
        return found

    def test_areas(self):
        areas = self.areas(self.draw("N", "M", "--fixed", "LAYOUT=row"))
        self.assertEqual(areas[FIRST] + areas[SECOND], 80 * 64 * 16)
        # Up to 31, which is rounded to 16: five of eight octaves, but for what is rounded up to 32.
        self.assertAlmostEqual(areas[FIRST] / (80 * 64 * 16), 5 / 8, delta=0.02)
        self.assertEqual(areas[STRIPES], areas[SECOND])
        self.assertEqual(self.areas(self.draw("N", "M", "--fixed", "LAYOUT=column"))[THIRD], 80 * 64 * 16)

    def test_where_there_is_no_such_problem_is_nothing(self):
        areas = self.areas(self.draw("N", "M", "--fixed", "LAYOUT=row", "--where", "N <= 64"))
        self.assertLess(areas[FIRST] + areas[SECOND], 0.7 * 80 * 64 * 16)

    def test_what_commands_print_and_the_legend(self):
        picture = self.draw("N", "M", "--fixed", "LAYOUT=row", "--title", "a < b", document=[{"kernel": "x", "family": {"rule": RULE}}])
        self.assertIn(">a &lt; b</text>", picture)
        self.assertIn(">TILE=16</text>", picture)
        self.assertIn(">TILE=32</text>", picture)
        self.assertNotIn("PAD", picture)

    def test_errors(self):
        self.assertIn("there is no value 'K'; there are LAYOUT, M, N", self.draw("K", "M", expect=1))
        self.assertIn("found no rule, expected what `hone tune --family --json` prints", self.draw("N", "M", document={}, expect=1))
