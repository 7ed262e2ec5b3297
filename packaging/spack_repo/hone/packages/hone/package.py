# SPDX-License-Identifier: MIT
# spack repo add packaging/spack_repo/hone && spack install hone
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Hone(CMakePackage):
    """Autotuner of CUDA kernels: finds the fastest variant, checks that it is right, and writes a
    C header to build with."""

    # The clone that this file is in.
    git = str(pathlib.Path(__file__).resolve().parents[5])

    license("MIT")

    version("main", branch="main")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("libyaml")
    depends_on("sqlite")
    depends_on("jansson")
    depends_on("xxhash@0.8:")
    depends_on("zlib-api")
    depends_on("cuda@12:", type=("build", "run"))

    def cmake_args(self):
        return [
            self.define("HONE_TESTS", False),
            self.define("HONE_STATIC_LIBS", "OFF"),
            self.define("HONE_CUDA_INCLUDE", self.spec["cuda"].prefix.include),
        ]

    def setup_run_environment(self, env):
        env.set("CUDA_HOME", self.spec["cuda"].prefix)

    def test_space(self):
        """the command reads an installed config"""
        hone = which(self.prefix.bin.hone)
        assert "valid points" in hone(
            "space", self.prefix.share.hone.configs.join("reduce.yaml"), output=str
        )
