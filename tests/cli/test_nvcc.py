# SPDX-License-Identifier: MIT
"""`compile: {compiler: nvcc}`: the same limits, messages and cache as with NVRTC, for files that NVRTC refuses."""

import json
import os
import pathlib
import shutil
import time
import unittest

import double

HOST = """\
#include <vector>
static int host(int n) { return (int)std::vector<int>(n).size(); }
int main() { return host(3); }
"""


@unittest.skipIf(shutil.which("nvcc") is None and not os.path.exists("/usr/local/cuda/bin/nvcc"), "there is no nvcc")
class Nvcc(double.Case):
    def setUp(self):
        super().setUp()
        template = self.folder / "scale.cu"
        template.write_text(HOST + template.read_text())
        self.space = ("-s", "BLOCK=128,256", "-s", "ITEMS=4")

    def by_nvcc(self):
        self.spoil(self.config, "template: scale.cu", "template: scale.cu\ncompile: {compiler: nvcc}")

    def program(self, text):
        path = pathlib.Path(self.write("fake-nvcc", "#!/bin/sh\n" + text))
        path.chmod(0o755)
        return path

    def test_without_it_the_message_says_so(self):
        result = self.hone("compile", "--arch", "sm_90", self.config, expect=3)
        self.assertIn("scale.cu(1): catastrophic error: cannot open source file \"vector\"; NVRTC compiles device code alone: "
                      "write what is for the host between #ifndef __CUDACC_RTC__ and #endif, or have nvcc compile it with "
                      "`compile: {compiler: nvcc}`", result.stdout)
        template = self.folder / "scale.cu"
        template.write_text(template.read_text().replace("#include <vector>", "").replace("std::vector<int>(n).size()", "n"))
        result = self.hone("compile", "--arch", "sm_90", self.config, expect=3)
        self.assertIn("host functions are not allowed in JIT mode; NVRTC compiles device code alone", result.stdout)

    def test_a_guard_is_the_other_way_out(self):
        template = self.folder / "scale.cu"
        template.write_text(template.read_text().replace(HOST, f"#ifndef __CUDACC_RTC__\n{HOST}#endif\n"))
        self.hone("compile", "--arch", "sm_90", self.config)

    def test_what_it_made_is_tuned_and_kept(self):
        self.by_nvcc()
        first, = self.tune(*self.space)
        listed, = json.loads(self.hone("cache", "list", "--json").stdout)["tunings"]
        version = listed["version"]["nvrtc"]
        self.assertRegex(version, r"^nvcc 1\d\.\d+\.\d+$")
        # Which are found slower depends on the order in which they are compiled.
        self.assertLessEqual({record["outcome"] for record in first["records"]}, {"ok", "slower"})
        again, = self.tune(*self.space, NVCC=str(self.program("exec nvcc \"$@\"")))
        self.assertEqual(again["reused"], len(first["records"]))
        result = self.hone("run", self.config, "-s", "BLOCK=256,ITEMS=4", "--json")
        self.assertEqual(json.loads(result.stdout)["versions"]["nvrtc"], version)
        self.assertEqual([path.name for path in self.folder.glob("hone-scratch-*")], [])

    def test_hosts_elsewhere_measure_what_is_compiled_here(self):
        self.by_nvcc()
        self.write("workers.yaml", "workers: [{run: env NVCC=/nowhere/nvcc, gpus: 1}]\n")
        found, = self.tune(*self.space, "--workers", self.folder / "workers.yaml")
        self.assertLessEqual({record["outcome"] for record in found["records"]}, {"ok", "slower"})

    def test_a_log_shows_that_compile_lives(self):
        """A line every five seconds, and none of a compilation that is over before."""
        self.by_nvcc()
        points = ("--all", "--jobs", "1", "-s", "BLOCK=64,128,256", "-s", "ITEMS=2,4")
        made = {seconds: self.hone("compile", "--arch", "sm_90", self.config, *points, expect=3, NVCC=str(self.program(
                    f'case "$*" in *--version*) exec nvcc --version;; esac\nsleep {seconds}\necho no\nexit 1\n'))).stderr.splitlines()
                for seconds in (0, 1)}
        self.assertRegex(made[1][0], r"^[56]/6 compiled, [01]\.\d/s$")
        self.assertEqual(made[0], made[1][1:])

    def test_a_compiler_that_hangs_costs_the_point(self):
        self.by_nvcc()
        marker = self.folder / "hung"
        fake = self.program(f"case \"$*\" in *--version*) exec nvcc --version;; esac\ntouch {marker}\nexec sleep 987\n")
        result = self.hone("compile", "--arch", "sm_90", "--compile-timeout", "2", self.config, expect=3, NVCC=str(fake))
        self.assertIn("compile_timeout", result.stdout)
        self.assertTrue(marker.exists())
        until = time.monotonic() + 10
        while still_sleeping() and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(still_sleeping(), [])
        self.hone("compile", "--arch", "sm_90", self.config)
        self.assertEqual([path.name for path in self.folder.glob("hone-scratch-*")], [])

    @unittest.skipIf(os.environ.get("HONE_SANITIZE") == "1", "sanitizers take more memory than any limit")
    def test_memory_is_limited(self):
        self.by_nvcc()
        fake = self.program("ulimit -d > limit; cat limit >&2; exit 1\n")
        result = self.hone("compile", "--arch", "sm_90", self.config, expect=3, NVCC=str(fake))
        limit = result.stdout.partition("first failure: ")[2].split()[0]
        self.assertTrue(limit.isdigit() and int(limit) <= 4 << 20, result.stdout)

    def test_a_full_disk_costs_no_point(self):
        """There nvcc cannot write why it failed; what such a run left out comes later."""
        self.by_nvcc()
        fake = self.program("case \"$*\" in *--version*) exec nvcc --version;; esac\ngrep -q 'define ITEMS 4' *.cu && exit 1\nexec nvcc \"$@\"\n")
        result = self.hone("tune", self.config, "--quiet", *self.space, expect=1, NVCC=str(fake))
        self.assertRegex(result.stderr, r"fake-nvcc failed without a word: is there no room in .*/hone-scratch-\w+\? Set TMPDIR to a folder with room\n$")
        tuning, = self.tune(*self.space, "--full")
        self.assertEqual(tuning["outcomes"], {"ok": 2})

    def test_none_is_found(self):
        self.by_nvcc()
        result = self.hone("tune", self.config, "--quiet", *self.space, expect=1, NVCC="/nowhere/nvcc")
        self.assertEqual(result.stderr, "hone: $NVCC is '/nowhere/nvcc', which is no program; expected the path of nvcc\n")


def still_sleeping():
    return [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if read(path) == b"sleep\x00987\x00"]


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""
