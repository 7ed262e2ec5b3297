# SPDX-License-Identifier: MIT
"""The programs of examples/ that use exported headers, built and run on a GPU. What they print is shown."""

import ctypes
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import hone  # noqa: E402

EXAMPLES = hone.SOURCE / "examples"
RECORDED = hone.SOURCE / "cache" / "recorded" / "nvidia-h200"
CC = shutil.which("gcc") or shutil.which("cc")
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")


class Case(hone.Case):
    """What it takes to build a program for the GPU that is here."""

    def setUp(self):
        super().setUp()
        text = self.hone("device").stdout
        found = re.search(r"CUDA headers: (\S+)", text)
        if found is None:
            self.skipTest("there are no CUDA headers")
        self.include = pathlib.Path(found.group(1))
        self.capability = "sm_" + "".join(re.search(r"compute capability +(\d+)\.(\d)", text).groups())
        ctypes.CDLL("libcuda.so.1")  # where it lies is in the list of what is loaded
        self.driver = next(path for path in (line.split()[-1] for line in open("/proc/self/maps") if "libcuda.so" in line))

    def run_one(self, *command):
        done = subprocess.run([str(part) for part in command], cwd=self.folder, text=True, capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


class Examples(Case):
    def export(self, kernel, *arguments):
        self.hone("export", kernel, "--config", hone.SOURCE / "configs" / f"{kernel}.yaml", "--recorded", RECORDED, "--device-name",
                  "H200", "--quiet", *arguments)

    def sum_up(self):
        for count in (1, 1000, 1 << 20, 100000007):
            text = self.run_one("./sum", count)
            print(f"sum {count}: {text.strip()}")
            self.assertIn(": right\n", text)
            self.assertNotIn("WRONG", text)

    @unittest.skipUnless(CC, "there is no C compiler")
    def test_embedded_cubin(self):
        self.export("reduce", "--format", "cubin-header", "--arch", self.capability, "-o", self.folder / "reduce_embedded.h")
        self.run_one(CC, "-std=c11", "-O2", "-Wall", "-Werror", "-I.", "-isystem", self.include, "-o", "sum",
                     EXAMPLES / "embedded_cubin" / "main.c", self.driver)
        self.sum_up()

    @unittest.skipUnless(NVCC, "there is no nvcc")
    def test_header_only(self):
        self.export("reduce", "-o", self.folder / "reduce_tuned.h")
        self.run_one(NVCC, f"-arch={self.capability}", "-O3", "-std=c++17", "-I.", f"-I{hone.SOURCE}/templates", "-o", "sum",
                     EXAMPLES / "header_only" / "main.cu")
        self.sum_up()

    @unittest.skipUnless(CC, "there is no C compiler")
    def test_bgemm(self):
        if self.capability != "sm_90":
            self.skipTest("the kernel is for compute capability 9.0")
        self.hone("export", "bgemm", "--config", hone.SOURCE / "configs" / "bgemm.yaml", "--defaults", "--format", "cubin-header", "--arch",
                  "sm_90", "--quiet", "-o", self.folder / "bgemm_embedded.h")
        self.run_one(CC, "-std=c11", "-O2", "-Wall", "-Werror", "-I.", "-isystem", self.include, "-o", "bgemm",
                     *(EXAMPLES / path for path in ("bgemm/main.c", "bgemm/cublaslt.c", "sgemm/gpu.c")), self.driver, "-ldl", "-lm")
        for shape in ((1024, 1024, 1024), (511, 1023, 2047), (1, 1, 1)):
            text = self.run_one("./bgemm", *shape)
            print(f"bgemm {'x'.join(map(str, shape))}: {text.strip()}")
            self.assertIn(": right\n", text)
