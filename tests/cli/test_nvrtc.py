# SPDX-License-Identifier: MIT
"""The versions of NVRTC that are here: the default one, those that scripts/deps fetched for tests (build/nvrtc-*) and the
wheels of a folder that HONE_NVRTC_WHEELS names. Each compiles the same kernels."""

import glob
import json
import os
import pathlib
import shutil
import subprocess

import hone

BUILD = pathlib.Path(os.environ.get("HONE_BUILD", hone.SOURCE / "build"))

# What device code takes of CUB and libcu++.
KERNEL = """#include <cub/cub.cuh>
#include <cuda/std/array>
extern "C" __global__ void k(const float *x, float *y)
{
    using reduce = cub::BlockReduce<float, BLOCK>;
    __shared__ typename reduce::TempStorage storage;
    const cuda::std::array<float, 2> pair = {x[2 * (blockIdx.x * BLOCK + threadIdx.x)], x[2 * (blockIdx.x * BLOCK + threadIdx.x) + 1]};
    const float sum = reduce(storage).Sum(pair[0] + pair[1]);
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}
"""
CONFIG = """hone: 1
kernel: k
template: k.cu
entry: k
problem: {ELEMENTS: 1048576}
parameters: {BLOCK: [64, 128, 256]}
arguments: [{name: x, type: float32, count: ELEMENTS}, {name: y, type: float32, count: ELEMENTS / 128, role: output}]
launch: {block: BLOCK, grid: "ELEMENTS / (2 * BLOCK)"}
"""


def fetched():
    """The libraries of other versions than the build's."""
    folders = [*glob.glob(str(BUILD / "nvrtc-*")), *filter(None, [os.environ.get("HONE_NVRTC_WHEELS")])]
    return sorted(library for folder in folders for library in glob.glob(f"{folder}/nvidia/*/lib/libnvrtc.so.1[0-9]"))


class Versions(hone.Case):
    def compile(self, config, library, architecture):
        """The outcome of the default point of the first problem."""
        return json.loads(self.hone("compile", config, "--arch", architecture, "--json", **self.settings(library)).stdout)[0]["outcome"]

    def settings(self, library):
        return {"HONE_NVRTC": library, "XDG_CACHE_HOME": str(self.folder / "cache")}

    def version(self, library):
        shown = subprocess.run([hone.HONE, "device", "--json"], env={**os.environ, **self.settings(library)}, capture_output=True)
        return json.loads(shown.stdout)["nvrtc"]["version"]

    def test_each_compiles(self):
        self.write("k.cu", KERNEL)
        config = self.write("k.yaml", CONFIG)
        versions = {self.version(library): library for library in ["", *fetched()]}
        unpacked = self.folder / "cache" / "hone"
        for version, library in versions.items():
            with self.subTest(version):
                for other in (self.copy_config(), hone.SOURCE / "configs" / "transpose_tma.yaml"):
                    self.assertEqual(self.compile(other, library, "sm_120"), "ok")
                self.assertFalse(unpacked.exists(), "headers that nobody includes were unpacked")
                self.assertEqual(self.compile(config, library, "sm_90"), "ok")
                # A wheel alone brings them from 13.3 on.
                alone = float(version) >= 13.3 and not (pathlib.Path(library).parents[1] / "include" / "cuda_fp16.h").exists()
                self.assertEqual((unpacked / f"headers-{version}" / "cuda_fp16.h").exists(), alone)
                shutil.rmtree(unpacked, ignore_errors=True)
        if len(versions) < 2:
            self.skipTest(f"NVRTC {', '.join(versions)} alone is here; scripts/deps --tests fetches another")
