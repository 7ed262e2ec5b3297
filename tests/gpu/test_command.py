# SPDX-License-Identifier: MIT
"""The main job on a GPU, as a user does it: tune, tune again, export, replay, and what goes wrong on the way."""

import json
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import hone  # noqa: E402

SAXPY = hone.DATA / "saxpy.yaml"
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")

FAULTS_CU = """\
extern "C" __global__ void faults(const float *x, float *y, int n)
{
    const int i = blockIdx.x * 128 + threadIdx.x;
#if FAULT == FAULT_syntax
    this does not compile
#elif FAULT == FAULT_illegal
    *(volatile int *)8 = 1;
#elif FAULT == FAULT_hang
    while (*(volatile const float *)x < 100) {
    }
#elif FAULT == FAULT_beyond
    if (i == 0)
        y[n] = 1;
#endif
    if (i < n)
        y[i] = (FAULT == FAULT_wrong ? 3 : 2) * x[i];
}
"""

FAULTS_YAML = """\
hone: 1
kernel: faults
template: faults.cu
entry: faults
problem: {SIZE: 1000000}
parameters: {FAULT: [none, syntax, illegal, hang, wrong, beyond]}
arguments:
  - {name: x, type: float32, count: SIZE, fill: "uniform(-1, 1)"}
  - {name: y, type: float32, count: SIZE, role: output}
  - {name: n, type: int32, value: SIZE}
launch: {block: 128, grid: "ceil_div(SIZE, 128)"}
"""


class MainJob(hone.Case):
    def test_tune_export_replay(self):
        first = self.hone("tune", SAXPY, "--strategy", "exhaustive", "--quiet")
        self.assertIn("(16 of 16 points)", first.stdout)
        again = self.hone("tune", SAXPY, "--strategy", "exhaustive", "--quiet")
        self.assertIn("(16 of 16 points, 16 of them from the cache)", again.stdout)
        self.hone("replay", SAXPY, "--max-slowdown", "50%")
        best = json.loads(self.hone("export", "saxpy", "--json").stdout)["configurations"][0]
        self.assertFalse(best["simulated"])
        self.assertEqual(best["verification"], "self-verified")
        self.assertLess(best["time_us"]["low"], best["time_us"]["high"])
        self.hone("export", "saxpy", "--format", "cubin", "-o", "best.cubin")
        self.assertEqual((self.folder / "best.cubin").read_bytes()[:4], b"\x7fELF")

    def test_run_one_point(self):
        result = self.hone("run", SAXPY, "-s", "BLOCK=256,ITEMS=2", "--verify-only")
        self.assertIn("outcome      ok", result.stdout)

    @unittest.skipUnless(NVCC, "there is no nvcc")
    def test_example_program(self):
        """The exported header and the template, compiled by nvcc, compute the right product."""
        config = hone.SOURCE / "configs" / "matmul.yaml"
        problem = ["-p", "M=500", "-p", "N=700", "-p", "K=96"]
        points = ["-s", "VARIANT=tile_ab,TILE_WIDTH=16,32,PAD=1,LOAD=plain,ASYNC_BYTES=0,UNROLL=4,MAX_REGISTERS=0"]
        self.hone("tune", config, *problem, *points, "--quiet")
        self.hone("export", "matmul", "-o", "matmul_tuned.h")
        device = json.loads(self.hone("export", "matmul", "--json").stdout)["configurations"][0]["device"]
        compiled = subprocess.run(
            [NVCC, "-std=c++17", f"-arch=sm_{device['capability']}", "-I.", f"-I{hone.SOURCE}/templates", "-o", "matmul",
             f"{hone.SOURCE}/examples/matmul/main.cu"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        ran = subprocess.run(["./matmul"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("right", ran.stdout)


class Device(hone.Case):
    def test_what_a_device_can_do(self):
        device = json.loads(self.hone("device", "--measure", "--json").stdout)["devices"][0]
        roofs = device["roofs"]
        print(roofs)
        for name in ("copy_gb_per_s", "l2_gb_per_s", "fp32_gflops", "launch_us"):
            self.assertGreater(roofs[name], 0)


class Failures(hone.Case):
    def test_faulting_variants(self):
        """Each planted fault is a row in the results; the one variant that works wins."""
        self.write("faults.cu", FAULTS_CU)
        config = self.write("faults.yaml", FAULTS_YAML)
        result = self.hone("tune", config, "--strategy", "exhaustive", "--quiet", "--run-timeout", "3")
        for outcome in ("ok", "compile_error", "device_fault", "run_timeout", "wrong_result", "out_of_bounds"):
            self.assertRegex(result.stdout, rf"\b1 {outcome}\b")
        best = json.loads(self.hone("export", "faults", "--json").stdout)["configurations"][0]
        self.assertEqual(best["parameters"], {"FAULT": "none"})

    def test_nothing_compiles(self):
        """The template is its own reference, so the run fails; the compiler's first error once, with its line."""
        config = self.copy_config()
        self.spoil(self.folder / "saxpy.cu", "extern \"C\"", "broken extern \"C\"")
        result = self.hone("tune", config, "--quiet", expect=1)
        everything = result.stdout + result.stderr
        self.assertEqual(everything.count("saxpy.cu(15): error"), 1, everything)

    def test_no_such_device(self):
        result = self.hone("run", SAXPY, "--device", "99", expect=2)
        self.assertTrue(result.stderr.startswith("hone: no such device: '99'; expected one of:"), result.stderr)

    def test_buffers_larger_than_memory(self):
        for command in ("run", "tune"):
            with self.subTest(command):
                result = self.hone(command, hone.SOURCE / "configs" / "copy.yaml", "-p",
                                   "SIZE=40000000000,PATTERN=plain,SIDE=load,OFFSET=0,STRIDE=1", expect=1)
                self.assertIn("the buffers do not fit: ", result.stderr)
