# SPDX-License-Identifier: MIT
"""Recordings that somebody made to deceive or to break: they are refused as a whole, and nothing of them is used."""

import copy
import gzip
import json

import hone

EXAMPLE = json.loads((hone.SOURCE / "tests/data/recording/example.json").read_text())


class Strangers(hone.Case):
    def altered(self, change, document=EXAMPLE):
        document = copy.deepcopy(document)
        change(document)
        # The export looks for the plan in a line of its own.
        return self.write("stranger.json", json.dumps(document).replace('"hone": {"', '\n"hone": {"', 1))

    def refused(self, message, change, kernel="example"):
        """By everything that reads recordings; the cache stays as it was."""
        path = self.altered(change)
        commands = [["cache", "import", path], ["report", path]]
        for command in commands + [["export", kernel, "--recorded", path]] * (kernel is not None):
            result = self.hone(*command, expect=1)
            self.assertIn(message, result.stderr)
            self.assertIn(str(path), result.stderr)
            self.assertEqual(result.stdout, "")
        self.assertEqual(self.hone("cache", "list").stdout, "")

    @staticmethod
    def best(document):
        return document["cache"]["16,1"]

    def test_impossible_times(self):
        for time in (0, -1, 1e-320, 1e300):
            def change(document):
                self.best(document).update(time=time, times=[])
                self.best(document)["hone"]["timing"].update(
                    dict.fromkeys(("median_us", "low_us", "high_us"), time * 1000))
                self.best(document)["hone"]["objective"] = time * 1000
            with self.subTest(time=time):
                self.refused("row '16,1': the time is ", change)

    def test_a_time_that_overflows(self):
        self.refused("row '16,1': ", lambda document: self.best(document).update(time=1e308))
        self.assertNotIn("memory", self.hone("report", self.folder / "stranger.json", expect=1).stderr)

    def test_objective_that_is_not_the_time(self):
        self.refused("row '16,1': the objective (time) is -5, expected 2500",
                     lambda document: self.best(document)["hone"].update(objective=-5))

    def test_time_that_is_not_the_median(self):
        self.refused("row '16,1': 'time' is 0.0025 ms, 'median_us' is 2500 us", lambda document: (
            self.best(document).update(time=0.0025), self.best(document)["hone"]["timing"].update(median_us=2500)))

    def test_interval_elsewhere(self):
        self.refused("row '16,1': the interval is 1 to 2 us",
                     lambda document: self.best(document)["hone"]["timing"].update(low_us=1, high_us=2))

    def test_of_the_future(self):
        path = self.altered(lambda document: self.best(document)["hone"].update(time=3976000000))
        result = self.hone("cache", "import", path, expect=1)
        self.assertIn(f"'{path}': its date is 3976000000 seconds since 1970, which is in the future", result.stderr)
        self.assertEqual(self.hone("cache", "list").stdout, "")

    def test_cache_of_the_future(self):
        self.hone("cache", "import", self.altered(lambda document: None))
        other = self.folder / "other.db"
        self.cache.rename(other)
        self.cache, own = other, self.cache
        self.forge("UPDATE session SET started = 3976000000.0")
        self.cache = own
        result = self.hone("cache", "import", other, expect=1)
        self.assertIn(f"cache '{other}': its date is 3976000000 seconds since 1970", result.stderr)

    def test_a_template_whose_name_has_a_line_break(self):
        """In a cache, whose rows somebody changed, and whose header would not compile."""
        self.tune_simulated()
        self.forge("UPDATE plan SET json = json_set(json, '$.plan.template', 'a.cu' || char(10) || '#error b.cu')")
        result = self.hone("export", "saxpy", expect=1)
        self.assertIn("the name of a template has a control character (0x0a)", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_names(self):
        for name in ("k */ #error evil /*", "k\033[2J", "", "k" * 300):
            with self.subTest(name=name):
                self.refused("the kernel is named", lambda document: document.update(kernel_name=name), None)
        self.refused("expected a word", lambda document: document["hone"]["problem"].update({"a\nb": 1}))
        self.refused("the device's name has a control character",
                     lambda document: document["hone"]["device"].update(name="H200\033[2J"))
        self.refused("command has a control character",
                     lambda document: document["hone"].update(command="hone\n#error"))

    def test_many_names(self):
        self.refused("more than 1024 names",
                     lambda document: document["hone"]["problem"].update({f"N{i}": i for i in range(2000)}))

    def test_plan_without_its_parts(self):
        """Of a shipped recording, so that the plan is one that can be exported."""
        path = next((hone.SOURCE / "cache/recorded/nvidia-h200").glob("transpose-*.json.gz"))
        document = json.loads(gzip.decompress(path.read_bytes()))
        document["cache"] = dict(list(document["cache"].items())[:20])
        kernel = document["kernel_name"]
        plan = document["hone"]["source"]["plan"]
        self.hone("export", kernel, "--recorded", self.altered(lambda document: None, document))
        for part in ("template", "kernel", "steps", "arguments", "format"):
            with self.subTest(part=part):
                self.assertIn(part, plan)
                changed = self.altered(lambda document: document["hone"]["source"]["plan"].pop(part), document)
                result = self.hone("export", kernel, "--recorded", changed, expect=3 if part == "kernel" else 1)
                self.assertNotIn("#define", result.stdout)

    def test_small_files_do_not_fill_the_memory(self):
        """Each unpacks to tens of megabytes of the smallest values that JSON has."""
        row = '{"A": 1, "time": 1}'
        texts = {
            "numbers": '{"kernel_name": "k", "cache": [' + "1," * 30000000 + "1]}",
            "objects": '{"kernel_name": "k", "cache": [' + "{}," * 10000000 + "{}]}",
            "rows": '{"kernel_name": "k", "device_name": "d", "tune_params_keys": ["A"], "cache": {'
                    + ",".join(f'"{i}":{row}' for i in range(1500000)) + "}}",
        }
        for name, text in texts.items():
            path = self.folder / f"{name}.json.gz"
            with gzip.open(path, "wb", 1) as file:
                file.write(text.encode())
            with self.subTest(name=name):
                result = self.hone("cache", "import", path, expect=1)
                self.assertRegex(result.stderr, "more than 8000000 values|more than 200 times its size")
