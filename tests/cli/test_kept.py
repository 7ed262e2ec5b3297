# SPDX-License-Identifier: MIT
"""What older versions wrote, as they wrote it (tests/data/kept): a cache with its plan, and a recording. Each is read by this Hone; what a newer one
will write is refused with one line that says what to do."""

import gzip
import json

import hone

# A folder a version, of `hone tune` of tests/data/double/scale.yaml and `hone cache export`; with the times that this version measured.
KEPT = hone.SOURCE / "tests" / "data" / "kept"
BEST_US = {"0.1.0": 51.008}
NEWER = "use the newer Hone"


class Kept(hone.Case):
    def setUp(self):
        super().setUp()
        self.assertEqual({folder.name for folder in KEPT.iterdir()}, set(BEST_US))

    def take(self, version):
        """The files of a version in the test's folder."""
        self.cache.write_bytes(gzip.decompress((KEPT / version / "cache.db.gz").read_bytes()))
        self.recording = self.folder / "recording.json"
        self.recording.write_bytes(gzip.decompress((KEPT / version / "recording.json.gz").read_bytes()))

    def check_best(self, version, *arguments):
        best, = json.loads(self.hone("export", "scale", "--format", "json", *arguments).stdout)["configurations"]
        self.assertEqual((best["problem"], best["parameters"]), ({"n": 65536}, {"BLOCK": 256, "ITEMS": 4, "FAULT": 0}))
        self.assertAlmostEqual(best["time_us"]["median"], BEST_US[version], 2)

    def test_caches_are_read(self):
        for version in BEST_US:
            with self.subTest(version):
                self.take(version)
                self.hone("cache", "check")
                tuning, = json.loads(self.hone("cache", "show", "scale", "--json").stdout)["tunings"]
                self.assertEqual([record["outcome"] for record in tuning["records"]], ["ok"] * 4)
                self.check_best(version)
                self.hone("cache", "export", "scale", self.folder / "again.json")
                self.assertEqual(json.loads((self.folder / "again.json").read_text())["cache"], json.loads(self.recording.read_text())["cache"])

    def test_their_plans_and_sources_are_read(self):
        """The header is made of the plan's expressions, the source of the template that the cache keeps."""
        for version in BEST_US:
            with self.subTest(version):
                self.take(version)
                header = self.hone("export", "scale", "--format", "header").stdout
                self.assertIn("#define HONE_SCALE_BLOCK 256\n", header)
                self.assertIn("hone_scale_step", header)
                self.assertIn('extern "C" __global__', self.hone("export", "scale", "--format", "source").stdout)

    def test_recordings_are_read(self):
        for version in BEST_US:
            with self.subTest(version):
                self.take(version)
                self.check_best(version, "--recorded", self.recording)
                self.cache.unlink()
                self.hone("cache", "import", self.recording)
                self.check_best(version)

    def test_newer_ones_are_refused(self):
        self.take("0.1.0")
        kept = self.cache.read_bytes()
        self.cache.unlink()
        document = json.loads(self.recording.read_text())
        document["hone"]["source"]["plan"]["format"] = 99
        self.hone("cache", "import", self.write("newer.json", json.dumps(document)))  # its times are of use
        self.fails(1, f"hone: plan: format 99 is newer than this Hone, which knows 3: {NEWER}", "export", "scale")
        document["hone"]["format"] = 99
        path = self.write("newer.json", json.dumps(document))
        self.fails(1, f"hone: '{path}': it has format 99, this Hone knows up to 1: {NEWER}", "cache", "import", path)
        self.cache.write_bytes(kept)
        self.sql("PRAGMA user_version = 99")
        error = self.hone("cache", "list", expect=1).stderr
        self.assertRegex(error, rf"^hone: cache '\S+' has format 99, this Hone knows up to \d+; it was not touched: {NEWER}, or another cache")
