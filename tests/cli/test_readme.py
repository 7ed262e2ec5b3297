# SPDX-License-Identifier: MIT
"""The README's own kernel, as a newcomer types it: on the driver double, and with nvcc where there is one."""

import os
import re
import shutil
import subprocess

import double
import hone
import pages

PAGE = (hone.SOURCE / "README.md").read_text()
NVCC = shutil.which("nvcc") or ("/usr/local/cuda/bin/nvcc" if os.path.exists("/usr/local/cuda/bin/nvcc") else None)


class Readme(double.Case):
    def setUp(self):
        super().setUp()
        self.section = PAGE.split("## Your own kernel")[1].split("\n## ")[0]
        self.work = self.folder / "work"
        self.work.mkdir()
        self.kernel, self.use = re.findall(r"```cuda\n(.*?)```", self.section, re.S)
        self.yaml = re.search(r"```yaml\n(.*?)```", self.section, re.S).group(1)
        # The double does not run machine code: a table tells it what the kernel computes. A smaller N spares it time.
        (self.work / "scale.cu").write_text('extern "C" __device__ const int hone_double[] = {BLOCK, ITEMS, N};\n' + self.kernel)
        (self.work / "scale.yaml").write_text(self.yaml.replace("16777216", "65536"))
        (self.work / "build" / "tuner").mkdir(parents=True)
        (self.work / "build" / "tuner" / "hone").symlink_to(hone.HONE)

    def test_ten_lines(self):
        self.assertEqual(len(self.yaml.splitlines()), 10)

    def test_commands_and_header(self):
        """All commands of the section in one shell, then the program that uses the header."""
        commands = pages.lines("README.md", "Your own kernel")
        self.assertEqual([line.split()[1] for line in commands if line.startswith("hone")], ["compile", "tune", "export"])
        result = subprocess.run(["bash", "-e"], input="\n".join(commands), cwd=self.work, env=self.environment(), capture_output=True,
                                text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("15 points: 15 ok", result.stdout)
        self.assertIn("wrote scale_tuned.h", result.stdout + result.stderr)
        if NVCC:
            (self.work / "main.cu").write_text(self.use)
            subprocess.run([NVCC, "-arch=sm_90", "-c", "main.cu"], cwd=self.work, check=True, capture_output=True, timeout=120)

    def test_counts(self):
        """Numbers of things that the manual gives are those of the things."""
        for name in ("README.md", "docs/README.md", "docs/catalogue.md"):
            for count in re.findall(r"(\d+) (?:tunable )?templates", (hone.SOURCE / name).read_text()):
                self.assertEqual(int(count), len(list((hone.SOURCE / "templates").glob("*.cu"))), name)

    def test_versions(self):
        """What it takes, as the manual says, is what the build asks for."""
        for page, said, source, asked in (("CONTRIBUTING.md", r"CMake ([\d.]+)", "CMakeLists.txt", r"cmake_minimum_required\(VERSION ([\d.]+)\)"),
                                          ("docs/python.md", r"Python ([\d.]+)", "python/pyproject.toml", r'requires-python = ">=([\d.]+)"'),
                                          ("CONTRIBUTING.md", r"clang-format (\d+)", "scripts/test", r"are formatted with (\d+)"),
                                          ("docs/measuring.md", r"CUPTI's range profiler \(CUDA ([\d.]+)", "runtime/bench/observe/counters.c",
                                           r"CUPTI of CUDA ([\d.]+) or later")):
            found = [re.search(pattern, (hone.SOURCE / path).read_text()) for path, pattern in ((page, said), (source, asked))]
            self.assertTrue(all(found), f"{page}: {said}; {source}: {asked}")
            self.assertEqual(found[0][1].rstrip("."), found[1][1], page)
