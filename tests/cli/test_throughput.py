# SPDX-License-Identifier: MIT
"""The throughput bench: its spaces, what `hone compile --sources` writes, and the bare loop over it."""

import json
import os
import subprocess
import sys

import hone

BENCH = hone.SOURCE / "bench" / "throughput"


class Throughput(hone.Case):
    def test_spaces_have_the_points_they_name(self):
        for space, points in (("vector_add", 1000), ("matmul", 40), ("compile_bound", 500)):
            self.assertEqual(self.hone("space", BENCH / f"{space}.yaml", "--count").stdout.strip(), str(points))

    def test_sources_are_what_nvrtc_gets(self):
        folder = self.folder / "sources"
        result = self.hone("compile", BENCH / "vector_add.yaml", "--all", "--arch", "sm_90", "-s",
                           "block_size_x=64,items=2,vector=1,load_hint=0", "--sources", folder)
        self.assertEqual(result.stdout, "")
        jobs = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
        self.assertEqual([job["text"].split("#line")[0].split() for job in jobs],
                         [["#define", "block_size_x", "64", "#define", "items", "2", "#define", "vector", "1",
                           "#define", "load_hint", "0", "#define", "store_hint", store] for store in "01"])
        self.assertEqual({(job["architecture"], *job["entries"]) for job in jobs}, {("sm_90", "vector_add")})

        kept = self.folder / "kept"
        # NVRTC itself, not what stands in for it here.
        settings = {name: value for name, value in os.environ.items() if name != "HONE_NVRTC"}
        loop = subprocess.run([sys.executable, BENCH / "bare.py", folder, "1", kept], text=True, stdout=subprocess.PIPE,
                              check=True, env=settings)
        counts = json.loads(loop.stdout)
        self.assertEqual((counts["points"], counts["good"], counts["workers"]), (2, 2, 1))
        self.assertEqual(len(list(kept.glob("*.cubin"))), 2)

    def test_sources_need_a_place(self):
        self.fails(1, f"hone: {self.folder}/no/where cannot be made: No such file or directory", "compile",
                   BENCH / "vector_add.yaml", "--arch", "sm_90", "--sources", f"{self.folder}/no/where")
