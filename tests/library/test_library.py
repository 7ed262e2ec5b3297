# SPDX-License-Identifier: MIT
"""libhone from a program's side: what `hone tune` left in a cache, launched by programs that know hone.h only. On the
driver double, or with HONE_GPU=1 on a GPU."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import double  # noqa: E402

PROGRAMS = pathlib.Path(os.environ.get("HONE_LIBRARY_TESTS", "bin"))


class Case(double.Case):
    """Has a cache with tunings of all configs that the programs launch."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tuned = None

    def tune_all(self):
        """Tunes once a class; composite plans once for each way, under names of their own."""
        if Case.tuned_cache is None:
            for finish in ("two_pass", "last_block"):
                config = self.write(f"sum_{finish}.yaml", (self.folder / "composite.yaml").read_text()
                                    .replace("kernel: sum", f"kernel: sum_{finish}"))
                self.hone("tune", config, "-s", f"FINISH={finish}", "--quiet")
            accumulate = self.write("accumulate.yaml", (self.folder / "accumulate.yaml").read_text()
                                    .replace(", 1073741824", ""))
            self.hone("tune", accumulate, "--quiet")
            self.hone("tune", "symbols.yaml", "-s", "MISSING=0", "--quiet")
            self.hone("tune", "scale.yaml", "--quiet")
            Case.tuned_cache = self.cache.read_bytes()
        self.cache.write_bytes(Case.tuned_cache)

    tuned_cache = None

    def run_program(self, name, *arguments, **changes):
        self.tune_all()
        settings = self.environment(HONE_TEST_CACHE=str(self.cache), HONE_COMMAND=double.hone.HONE, **changes)
        return subprocess.run([str(PROGRAMS / name), *arguments], cwd=self.folder, env=settings, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300)

    def check(self, name, *arguments, **changes):
        result = self.run_program(name, *arguments, **changes)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result


class Programs(Case):
    def test_what_the_library_does(self):
        self.check("test_library")


if __name__ == "__main__":
    double.main()
