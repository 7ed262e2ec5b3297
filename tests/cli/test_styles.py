# SPDX-License-Identifier: MIT
"""hone init on 47 sources in many styles (tests/data/styles.txt): drafts compile, and offer what can be tuned."""

import os
import re
import shutil

import hone

STYLES = hone.TEST_DATA / "styles"
HAS_NVCC = shutil.which("nvcc") is not None or os.path.exists("/usr/local/cuda/bin/nvcc")

why_not = hone.why_no_sources


def offers(draft, name):
    """Whether a parameter with several values is what the source calls so; `block` is the launch's alone."""
    listed = draft.partition("\nparameters:\n")[2].partition("\ndefaults:")[0]
    for found, values, rest in re.findall(r"^  (\w+): \[(.*?)\](.*)$", listed, re.M):
        own = found.startswith("BLOCK") if name == "block" else found == name or rest.startswith(f"  # the template's {name}")
        if own and "," in values:
            return True
    return False


class Styles(hone.Case):
    def test_all_sources(self):
        sources = sorted(STYLES.glob("*.cu"))
        self.assertEqual(len(sources), 47)
        for path in sources:
            with self.subTest(path.stem):
                first = path.read_text().partition("\n")[0]
                entry = re.search(r"; entry: (\w+)", first)
                config = self.folder / f"{path.stem}.yaml"
                self.hone("init", path, "-o", config, "--quiet", *(("--entry", entry.group(1)) if entry else ()))
                draft = config.read_text()
                names = re.match(r"// tunable: ([^;]+)", first).group(1).split()
                self.assertEqual([name for name in names if not offers(draft, name)], [])
                self.assertEqual(self.hone("space", config).stderr, "")
                if "compiler: nvcc" not in draft or HAS_NVCC:
                    self.hone("compile", config, "--arch", "sm_90")
