# SPDX-License-Identifier: MIT
"""The commands that begin README.md and CONTRIBUTING.md, in a fresh clone: from nothing to a tuned header, an installation and a package.
All that scripts/deps looks for has to be here: it may install nothing."""

import os
import shutil
import subprocess
import unittest

import hone
import pages

TOOLKIT = any(os.path.exists(f"{folder}/include/nvrtc.h") for folder in (os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", "/opt/cuda"))


@unittest.skipUnless(TOOLKIT and shutil.which("git") and shutil.which("dpkg-shlibdeps"), "there is no CUDA toolkit, git or dpkg-dev")
class Quickstart(hone.Case):
    def follow(self, page, heading, cwd, *left_out):
        """The section's commands in one shell."""
        binaries = self.folder / "bin"
        binaries.mkdir(exist_ok=True)
        for name in ("apt-get", "sudo"):
            (binaries / name).write_text("#!/bin/sh\necho a test installs nothing >&2; exit 1\n")
            (binaries / name).chmod(0o755)
        script = "\n".join(line for line in pages.lines(page, heading) if line not in left_out)
        launchers = {f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache" for language in ("C", "CXX") if shutil.which("ccache")}
        settings = {**os.environ, **launchers, "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache"),
                    "PATH": f"{binaries}:{os.environ['PATH']}", "CCACHE_DIR": os.environ.get("CCACHE_DIR", os.path.expanduser("~/.cache/ccache"))}
        for name in ("HONE_NVRTC", "LD_LIBRARY_PATH"):
            settings.pop(name, None)
        result = subprocess.run(["bash", "-e"], input=script.replace("<this repository>", str(hone.SOURCE)), cwd=cwd, env=settings, text=True,
                                capture_output=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_from_a_clone_to_a_package(self):
        """But for `scripts/test`, of which this is a part."""
        said = self.follow("README.md", "Hone", self.folder, "scripts/test")
        clone = self.folder / "hone"
        self.assertIn("== The tuned header is build/matmul_tuned.h", said)
        self.assertIn("HONE_MATMUL_TILE_WIDTH", (clone / "build" / "matmul_tuned.h").read_text())
        self.follow("CONTRIBUTING.md", "Build", clone)
        self.assertEqual(subprocess.run([self.folder / ".local" / "bin" / "hone", "--version"]).returncode, 0)
        self.assertEqual(len(list((clone / "build-package").glob("*.deb"))), 1)
