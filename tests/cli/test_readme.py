# SPDX-License-Identifier: MIT
"""The README's own example works as it is printed."""

import re
import unittest

import hone


class Readme(hone.Case):
    def setUp(self):
        super().setUp()
        section = (hone.SOURCE / "README.md").read_text().split("## Your own kernel")[1]
        self.yaml = re.search(r"```yaml\n(.*?)```", section, re.S).group(1)
        self.write("scale.yaml", self.yaml)
        self.write("scale.cu", re.search(r"```cuda\n(.*?)```", section, re.S).group(1))

    def test_ten_lines(self):
        self.assertEqual(len(self.yaml.splitlines()), 10)

    def test_space(self):
        self.assertEqual(self.hone("space", "--count", "scale.yaml").stdout, "16\n")

    def test_compiles(self):
        result = self.hone("compile", "--arch", "sm_90", "-s", "ITEMS=1,4", "--all", "scale.yaml")
        self.assertIn("\n  8 points: 8 ok\n", result.stdout)

    def test_links(self):
        """What the README points to is there."""
        for target in re.findall(r"\]\(([^)#]+)", (hone.SOURCE / "README.md").read_text()):
            self.assertTrue((hone.SOURCE / target).exists(), target)


if __name__ == "__main__":
    unittest.main()
