# SPDX-License-Identifier: MIT
"""`hone cache import --config`: recordings without plan and template take those of the config that they were tuned with."""

import gzip
import json

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
        self.assertIn(f"--own: '{other}' is a cache", self.hone("cache", "import", "--own", other, expect=2).stderr)
        self.assertIn(f"--config: '{other}' is a cache, which brings plans and origins along; expected recordings",
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


class Stale(double.Case):
    """Template, options or plan have changed since: whoever shows or exports the tuning says so."""

    CHANGES = (("scale.cu", "\n", "\n\n"), ("scale_reference.cu", "\n", "\n\n"), ("scale.yaml", "relative: 1.0e-6", "relative: 1.0e-5"),
               ("scale.yaml", "launch:\n", "compile: {options: [-lineinfo]}\nlaunch:\n"))
    WARNING = "hone: warning: stale are 1 of 1 results of 'scale': "

    def setUp(self):
        super().setUp()
        self.tune("-s", "BLOCK=64,128")
        self.hone("cache", "export", "scale", "recorded/")

    def outputs(self):
        """What each command says, by its name: of the cache, and of the recording with its config."""
        said = {}
        for name, command in (
                ("list", ["cache", "list"]), ("list json", ["cache", "list", "--json"]), ("show", ["cache", "show", "scale"]),
                ("explain", ["explain", self.config]), ("explain json", ["explain", self.config, "--json"]),
                ("explain recording", ["explain", self.config, "--simulate", "recorded"]),
                ("simulated", ["tune", self.config, "-s", "BLOCK=64,128", "--simulate", "recorded", "--cache", "other.db"]),
                ("simulated json", ["tune", self.config, "-s", "BLOCK=64,128", "--simulate", "recorded", "--cache", "other.db", "--json"]),
                ("export json", ["export", "scale", "--format", "json"]),
                ("export", ["export", "scale"]), ("export to a file", ["export", "scale", "-o", "scale.h", "--quiet"]),
                ("export recording", ["export", "scale", "--recorded", "recorded", "--config", self.config]),
                ("report", ["report", "scale", "-o", "page.html"]),
                ("report recording", ["report", "recorded/", "--config", self.config, "-o", "recorded.html"])):
            result = self.hone(*command, COLUMNS="")
            said[name] = result.stdout + result.stderr
        said["report"], said["report recording"] = (hone.report_text(self.folder / name) for name in ("page.html", "recorded.html"))
        said["header"] = (self.folder / "scale.h").read_text()
        return said

    def test_it_says_so_wherever_it_is_shown(self):
        expected = {"list": "stale", "list json": '"stale": true', "show": "STALE      the config is another now",
                    "explain": "stale: template, options or plan have changed", "explain json": '"stale": true',
                    "explain recording": "stale: template, options or plan have changed", "simulated": "the recording is stale",
                    "simulated json": '"stale": true', "export json": '"stale": true',
                    "export": self.WARNING, "export to a file": self.WARNING, "export recording": self.WARNING,
                    "report": '"stale":true', "report recording": '"stale":true', "header": "STALE: the template, the config"}
        fresh = self.outputs()
        for name, text in expected.items():
            self.assertNotIn(text, fresh[name], name)
        for file, old, new in self.CHANGES:
            text = (self.folder / file).read_text()
            self.spoil(self.folder / file, old, new)
            stale = self.outputs()
            for name, words in expected.items():
                self.assertIn(words, stale[name], f"{name}, {file}")
            (self.folder / file).write_text(text)

    def test_a_point_that_the_config_excludes_since(self):
        kept = self.config.read_text()
        for old, new, stale in (("metrics", "constraints: [ITEMS != 8]\nmetrics", False), ("metrics", "constraints: [ITEMS != 4]\nmetrics", True),
                                ("[1, 2, 4, 8]", "[1, 2, 4]", False), ("[1, 2, 4, 8]", "[1, 2, 8]", True)):
            self.config.write_text(kept.replace(old, new))
            self.assertEqual("stale" in self.hone("cache", "list").stdout, stale)
            for source in [], ["--config", self.config], ["--config", self.config, "--recorded", "recorded"]:
                self.assertEqual(self.WARNING in self.hone("export", "scale", *source).stderr, stale, (new, source))

    def test_without_a_config_nothing_is_known_of_it(self):
        """The page of a recording says that nobody looked; a config that is gone is no other one."""
        self.hone("report", "recorded/", "-o", "page.html")
        self.assertIn('"config":null', hone.report_text(self.folder / "page.html"))
        self.spoil(self.folder / "scale.cu", "\n", "\n\n")
        self.config.unlink()
        self.assertNotIn("stale", self.hone("cache", "list").stdout)
        self.assertEqual(self.hone("export", "scale").stderr, "")

    def test_each_configuration_of_a_header(self):
        self.spoil(self.folder / "scale.cu", "\n", "\n\n")
        self.tune("-p", "n=128", "-s", "BLOCK=512")
        result = self.hone("export", "scale")
        self.assertIn("stale are 1 of 2 results", result.stderr)
        self.assertRegex(result.stdout, r"if HONE_SCALE_CONFIG == \d /\* n=24576; STALE \*/")
