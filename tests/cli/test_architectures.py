# SPDX-License-Identifier: MIT
"""The shipped configs for Blackwell: whole spaces of at most HONE_POINTS points (100), of larger ones the default point; and tiles
of what is for Hopper."""

import json
import os
import shutil
import subprocess
import unittest

import hone

NVCC = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")

MOST = int(os.environ.get("HONE_POINTS", 100))
# Their products are wgmma; unit/templates looks at what they say.
FOR_HOPPER = {"attention", "bgemm", "grouped"}
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

    def outcomes(self, problem, *restrictions):
        """Of bgemm's points, by width and height."""
        given = f"K=4096,TRANS_B=t,TYPE=__nv_bfloat16,OUT=__nv_bfloat16,ALPHA=1.0,BETA=0.0,BIAS=none,SM_COUNT=132,{problem}"
        alike = "BK=64,STAGES=4,CLUSTER_M=1,CLUSTER_N=1,PROMOTION=128,RASTER=1,PERSISTENT=0,SPARED=0,SPLIT_K=1,C_BUFFERS=1,MIN_BLOCKS=1"
        chosen = [word for restriction in (alike, *restrictions) for word in ("-s", restriction)]
        points = json.loads(self.hone("compile", hone.SOURCE / "configs/bgemm.yaml", "-p", given, *chosen, "--all", "--arch", "sm_90a", "--json").stdout)
        return {(point["point"]["BM"], point["point"]["BN"]): point["outcome"] for point in points}

    def test_groups_of_few_stages(self):
        """Tiles of 128 x 192 would not compile, and are not in the space."""
        chosen = ("CONSUMERS=2,SCHEDULE=pingpong,EXCHANGE=1,BM=128,192,BN=128,192,BK=64,STAGES=2,C_BUFFERS=1,CLUSTER_M=1,CLUSTER_N=1", "PRODUCER_REGISTERS=40",
                  "PROMOTION=128,RASTER=1,SPARED=0,MIN_BLOCKS=1")
        points = json.loads(self.hone("compile", hone.SOURCE / "configs/grouped.yaml", "-p", "G=3,M=1500,N=2056,K=128,SM_COUNT=132",
                                      *[word for one in chosen for word in ("-s", one)], "--all", "--arch", "sm_90a", "--json").stdout)
        self.assertEqual({(point["point"]["BM"], point["point"]["BN"]): point["outcome"] for point in points}, {(128, 128): "ok"})

    def test_tiles_have_all_widths_of_products(self):
        widths = range(24, 256, 16)
        found = self.outcomes("M=64,N=16384", "CONSUMERS=1,BM=64,EXCHANGE=0,STORE=tma", "BN=" + ",".join(map(str, widths)))
        self.assertEqual(found, {(64, width): "ok" for width in widths})

    def test_consumers_share_a_tile_by_columns(self):
        found = self.outcomes("M=832,N=6144", "CONSUMERS=2,PRODUCER_REGISTERS=40,PARTS=beside,EXCHANGE=1,STORE=tma", "BM=208,BN=192")
        self.assertEqual(found, {(208, 192): "ok"})
        found = self.outcomes("M=12768,N=384", "CONSUMERS=2,PRODUCER_REGISTERS=40,PARTS=beside,EXCHANGE=1,STORE=direct", "BM=304,BN=128")
        self.assertEqual(found, {(304, 128): "ok"})
