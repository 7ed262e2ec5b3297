# SPDX-License-Identifier: MIT
"""The shipped configs for Blackwell: whole spaces of at most HONE_POINTS points (100), of larger ones the default point."""

import json
import os
import shutil
import subprocess
import unittest

import hone

NVCC = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")

MOST = int(os.environ.get("HONE_POINTS", 100))
# Their products are wgmma; unit/templates looks at what they say.
FOR_HOPPER = {"attention", "bgemm"}
# Counted for half a minute.
LARGE = {"sgemm", "sgemm_blas"}


class Architectures(hone.Case):
    @unittest.skipUnless(NVCC, "there is no nvcc")
    def test_a_tuning_of_cub_compiles(self):
        source = hone.SOURCE / "examples" / "cub_reduce" / "reduce.cu"
        subprocess.run([NVCC, "-arch=sm_90", "-std=c++17", "-DTHREADS=192", "-DITEMS=7", "-DVECTOR=1", "-o", self.folder / "reduce", source],
                       check=True)

    def test_spaces_compile(self):
        for config in sorted((hone.SOURCE / "configs").glob("*.yaml")):
            if config.stem in FOR_HOPPER:
                continue
            [first, *_] = json.loads(self.hone("compile", config, "--arch", "sm_100a", "--json").stdout)
            problem = [word for name, value in first["problem"].items() for word in ("-p", f"{name}={value}")]
            valid = None
            if config.stem not in LARGE:
                valid = json.loads(self.hone("space", config, *problem, "--count", "--json").stdout)["problems"][0]["valid"]
            whole = valid is not None and valid <= MOST
            for architecture in ("sm_100a", "sm_103a", "sm_120a", "sm_121a"):
                with self.subTest(config=config.stem, architecture=architecture):
                    result = self.hone("compile", config, *problem, *(["--all"] if whole else []), "--arch", architecture, "--json")
                    points = json.loads(result.stdout)
                    self.assertEqual(len(points), valid if whole else 1)
                    # What a block of this architecture cannot have is no matter of the compiler.
                    self.assertEqual({point["outcome"] for point in points} - {"invalid_launch"}, {"ok"})
