# SPDX-License-Identifier: MIT
"""Words in tables are explained: in a line below them, and all of them in docs/outcomes.md."""

import re

import hone

PAGE = (hone.SOURCE / "docs" / "outcomes.md").read_text()
OUTCOMES = dict(re.findall(r'X\(HN_OUTCOME_\w+, "(\w+)", "([^"]+)"\)', re.sub(r"\s*\\\n\s*", " ", (
    hone.SOURCE / "cache" / "record" / "record.h").read_text())))


class Outcomes(hone.Case):
    def test_the_page_defines_each(self):
        rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE, re.M))
        self.assertEqual(list(rows), list(OUTCOMES))
        for name, meaning in OUTCOMES.items():
            self.assertTrue(set(meaning.split()) & set(rows[name].split()) - {"a", "the", "or", "it"}, name)
        for heading in ("Ladder", "Regime", "Lower bound", "Best, tied"):
            self.assertIn(f"## {heading}\n", PAGE)

    def explained(self, text, names):
        line = " ".join(text.split())
        for name in names:
            self.assertIn(f"{name}: {OUTCOMES[name]}", line)
        self.assertIn("see docs/outcomes.md", line)

    def test_the_summary_explains_what_it_shows(self):
        recording = self.record(time_us=lambda BLOCK, ITEMS, LOAD: 10 + BLOCK / 64 + ITEMS)
        text = self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", recording, "--quiet", "--strategy", "auto").stdout
        self.assertIn("16 ok", text)
        self.assertNotIn("outcomes.md", text)
        ladder = self.hone("tune", hone.SOURCE / "configs" / "matmul.yaml", "--simulate",
                           hone.SOURCE / "cache" / "recorded" / "nvidia-h200", "-p", "K=32", "--quiet").stdout
        self.explained(ladder, ["skipped"])
        self.assertIn("ladder: the config's own points, always measured in full", ladder)

    def test_cache_show_explains_what_it_shows(self):
        self.hone("cache", "import", hone.SOURCE / "tests/data/recording/example.json")
        self.explained(self.hone("cache", "show", "example").stdout, ["invalid_launch", "compile_error", "wrong_result"])

    def test_compile_explains_what_it_shows(self):
        config = self.copy_config()
        self.spoil(self.folder / "saxpy.cu", "{", "{ nonsense;")
        self.explained(self.hone("compile", config, "--arch", "sm_90", expect=3).stdout, ["compile_error"])
