# SPDX-License-Identifier: MIT
"""Kernels that were not written for a tuner compile as they are: the default point of each config in tests/data/foreign.txt, with
HONE_WHOLE=1 every valid one."""

import json
import os
import shutil

import hone

FOREIGN = hone.TEST_DATA / "foreign"
BY_NVCC = {"program"}
WHOLE = os.environ.get("HONE_WHOLE") == "1"
HAS_NVCC = shutil.which("nvcc") is not None or os.path.exists("/usr/local/cuda/bin/nvcc")


class Foreign(hone.Case):
    def test_each_has_a_config_and_a_line(self):
        names = sorted(path.stem for path in FOREIGN.glob("*.cu"))
        self.assertEqual(len(names), 10)
        self.assertEqual(sorted(path.stem for path in FOREIGN.glob("*.yaml")), names)
        readme = (hone.SOURCE / "tests" / "README.md").read_text()
        for name in names:
            self.assertIn(f"| `{name}.cu` |", readme)

    def test_every_source_compiles(self):
        for config in sorted(FOREIGN.glob("*.yaml")):
            if config.stem in BY_NVCC and not HAS_NVCC:
                continue
            with self.subTest(config.stem):
                self.assertEqual(self.hone("space", config).stderr, "")
                result = self.hone("compile", *(["--all", "--strict"] if WHOLE else []), "--arch", "sm_90", "--json", config)
                records = json.loads(result.stdout)
                self.assertGreaterEqual(len(records), 4 if WHOLE else 1)
                self.assertEqual({record["outcome"] for record in records}, {"ok"})

    def test_what_needs_nvcc_says_so(self):
        for name in sorted(BY_NVCC):
            text = (FOREIGN / f"{name}.yaml").read_text().replace("compile: {compiler: nvcc}\n", "")
            shutil.copy(FOREIGN / f"{name}.cu", self.folder)
            result = self.hone("compile", "--arch", "sm_90", self.write(f"{name}.yaml", text), expect=3)
            self.assertIn("or have nvcc compile it with `compile: {compiler: nvcc}`", result.stdout, name)
