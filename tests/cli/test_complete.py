# SPDX-License-Identifier: MIT
"""`hone cache import --config`: recordings without plan and template take those of the config that they were tuned with."""

import gzip
import json
import unittest

import double
import hone


class Complete(double.Case):
    def setUp(self):
        """A recording of scale as Hone once wrote them: without plan and template."""
        super().setUp()
        self.tune("-s", "BLOCK=64,128")
        self.whole = self.folder / "whole.json"
        self.bare = self.folder / "bare.json"
        self.hone("cache", "export", "scale", self.whole)
        document = json.loads(self.whole.read_text())
        del document["hone"]["source"]
        self.bare.write_text(json.dumps(document))
        self.cache = self.folder / "imported.db"

    def load(self, *arguments, **settings):
        return self.hone("cache", "import", self.bare, *arguments, **settings)

    def export(self):
        path = self.folder / "again.json"
        path.unlink(missing_ok=True)
        self.hone("cache", "export", "scale", path, "--quiet")
        return path

    def rows(self, path):
        return path.read_bytes().split(b'"cache": {')[1]

    def test_takes_plan_and_template(self):
        self.assertEqual(self.load("--config", self.config).stdout,
                         f"{self.bare}: 8 records, 0 images; plan and template taken from the config\n")
        again = self.export()
        self.assertEqual(self.rows(again), self.rows(self.whole))
        heads = [json.loads(path.read_text())["hone"] for path in (again, self.whole)]
        for head in heads:
            del head["date"]
        self.assertEqual(*heads)

    def test_completes_what_was_imported_before(self):
        self.load()
        self.assertIn("no plan and template", self.hone("export", "scale", expect=3).stderr)
        self.assertEqual(self.load("--config", self.config).stdout,
                         f"{self.bare}: all of it was there already; plan and template taken from the config\n")
        self.assertIn((self.folder / "scale.cu").read_text(), self.hone("export", "scale", "--format", "source").stdout)
        self.assertEqual(self.rows(self.export()), self.rows(self.whole))

    def test_a_whole_recording_completes_too(self):
        self.load()
        self.hone("cache", "import", self.whole)
        self.hone("export", "scale", "--format", "source")

    def test_export_of_recordings_needs_no_config(self):
        self.assertIn("--config", self.hone("export", "scale", "--recorded", self.bare, expect=3).stderr)
        bare = self.hone("export", "scale", "--recorded", self.bare, "--config", self.config).stdout
        self.assertEqual(self.hone("export", "scale", "--recorded", self.whole).stdout, bare.replace("bare.json", "whole.json"))

    def not_taken(self, reason, *files, config=None):
        config = config or self.config
        result = self.hone("cache", "import", self.bare, *files, "--config", config, "--json")
        self.assertEqual(result.stderr, f"hone: warning: '{self.bare}' takes no plan and template of '{config}': {reason}\n")
        self.assertEqual(json.loads(result.stdout)["files"][0],
                         {"file": str(self.bare), "records": 8, "images": 0, "known": False, "kernel_tuner": False,
                          "completed": False})
        self.assertNotIn("source", json.loads(self.export().read_text())["hone"])
        self.cache.unlink()

    def test_another_state_of_the_config(self):
        for path, old, new, part in ((self.folder / "scale.cu", "\n", "\n\n", "template"),
                                     (self.folder / "scale_reference.cu", "\n", "\n\n", "plan"),
                                     (self.config, "relative: 1.0e-6", "relative: 1.0e-5", "plan"),
                                     (self.config, "launch:\n", "compile: {options: [-lineinfo]}\nlaunch:\n", "options")):
            text = path.read_text()
            path.write_text(text.replace(old, new, 1))
            self.not_taken(f"it was tuned with another state of {part}")
            path.write_text(text)
        self.spoil(self.config, "gbps: bytes", "rate: bytes")
        self.assertIn("taken from the config", self.load("--config", self.config).stdout)

    def test_another_kernel(self):
        self.not_taken("it is of kernel 'scale', not 'saxpy'", config=hone.DATA / "saxpy.yaml")

    def test_what_can_not_be_completed(self):
        self.load()
        other, self.cache = self.cache, self.folder / "other.db"
        self.assertIn(f"'{other}' is a cache, which brings its plans along",
                      self.hone("cache", "import", other, "--config", self.config, expect=2).stderr)
        kernel_tuner = hone.SOURCE / "tests/data/kernel_tuner/conv6-a6000.json.gz"
        self.assertIn("Kernel Tuner measured it", self.hone("cache", "import", kernel_tuner, "--config", self.config).stderr)
        self.assertIn("nowhere.yaml", self.load("--config", "nowhere.yaml", expect=2).stderr)

    def test_all_shipped_recordings_are_whole(self):
        """libhone and `hone export --recorded` need nothing else."""
        for path in sorted((hone.SOURCE / "cache/recorded/nvidia-h200").glob("*.json.gz")):
            with gzip.open(path, "rt") as file:
                head = next(line for line in file if line.startswith('"hone": '))
            self.assertTrue(json.loads(head[8:].rstrip(",\n"))["source"]["files"], path.name)


if __name__ == "__main__":
    unittest.main()
