# SPDX-License-Identifier: MIT
"""What a file does not say is not claimed of it: files of Kernel Tuner know no template, no regime, no verification and no
resources."""

import itertools
import json

import hone

PARAMETERS = {"BLOCK": [64, 128, 256], "ITEMS": [1, 2, 4], "LOAD": ["plain", "ldg"]}


class Unknown(hone.Case):
    def kernel_tuner_file(self, kernel, slowest_us=20):
        """What Kernel Tuner would have written of saxpy's space."""
        rows = {}
        for values in itertools.product(*PARAMETERS.values()):
            point = dict(zip(PARAMETERS, values))
            time_ms = (slowest_us - values[0] / 64 - values[1]) / 1000
            rows[",".join(map(str, values))] = dict(point, time=time_ms, times=[time_ms * 0.99, time_ms * 1.01] * 4,
                                                    timestamp="2026-01-02 03:04:05+00:00")
        document = {"device_name": "NVIDIA H200", "kernel_name": kernel, "problem_size": [1048576],
                    "tune_params_keys": list(PARAMETERS), "tune_params": PARAMETERS, "objective": "time", "cache": rows}
        return self.write(f"{kernel}.json", json.dumps(document))

    def config_of(self, kernel):
        """saxpy under another name, with a template of its own."""
        text = (hone.DATA / "saxpy.cu").read_text()
        self.write(f"{kernel}.cu", text.replace("saxpy(", f"entry_{kernel}("))
        text = (hone.DATA / "saxpy.yaml").read_text()
        return self.write(f"{kernel}.yaml", text.replace("kernel: saxpy", f"kernel: {kernel}")
                          .replace("saxpy.cu", f"{kernel}.cu").replace("entry: saxpy", f"entry: entry_{kernel}"))

    def simulate(self, kernel):
        return self.hone("tune", self.config_of(kernel), "--simulate", self.kernel_tuner_file(kernel))


class Plans(Unknown):
    def test_each_kernel_has_its_own_plan(self):
        self.simulate("ka")
        self.simulate("kb")
        for kernel, other in (("ka", "kb"), ("kb", "ka")):
            header = self.hone("export", kernel, "--format", "source").stdout + self.hone("export", kernel).stdout
            self.assertIn(f"entry_{kernel}", header)
            self.assertNotIn(f"entry_{other}", header)

    def test_what_was_imported_has_none(self):
        self.hone("cache", "import", self.kernel_tuner_file("ka"))
        self.simulate("kb")
        result = self.hone("export", "ka", expect=3)
        self.assertIn("there is no plan and template of 'ka'", result.stderr)
        self.hone("export", "ka", "--json")

    def test_another_file_of_a_kernel_is_another_measurement(self):
        self.simulate("ka")
        self.kernel_tuner_file("ka", slowest_us=40)
        again, = json.loads(self.hone("tune", "ka.yaml", "--simulate", "ka.json", "--json", "--quiet").stdout)
        self.assertEqual((again["reused"], again["best"]["timing"]["median_us"]), (0, 34))
        [tuning] = json.loads(self.hone("cache", "list", "--json").stdout)["tunings"]
        self.assertEqual(tuning["best"]["timing"]["median_us"], 34)

    def test_another_state_of_the_template_does_not_replace_its_plan(self):
        """A recording is simulated with a config that has changed since: the plan in the cache stays that of the recording."""
        config = self.copy_config()
        template = self.folder / "saxpy.cu"
        recording = self.record()
        document = json.loads(recording.read_text())
        document["hone"]["version"].update(template_hash="1" * 32, options_hash="2" * 32, plan_hash="3" * 32)
        recording.write_text(json.dumps(document))
        self.spoil(template, "// y = a x + y", "// changed since")
        result = self.hone("tune", config, "--simulate", recording)
        self.assertIn("the recording is stale", result.stdout + result.stderr)
        self.assertIn("there is no plan and template of 'saxpy'", self.hone("export", "saxpy", expect=3).stderr)


class Figures(Unknown):
    """Not "cold L2", "reference: none", 0 registers, 0% occupancy."""

    def assert_nothing_claimed(self, text):
        for claim in ("cold", "warm", "UNVERIFIED", "reference: none", " 0%", " 0 SMs", "capability 0"):
            self.assertNotIn(claim, text)

    def test_a_simulated_tune(self):
        text = self.simulate("ka").stdout
        self.assert_nothing_claimed(text)
        self.assertIn(" on NVIDIA H200, L2 state not recorded, simulated from a recording", text)
        self.assertIn("verification not recorded: the file does not say", text)
        self.assertRegex(text, r"\n +1=? +\S+ us +\S+ +\S+ +- +- +- +128 +")
        tuning, = json.loads(self.hone("tune", self.config_of("kb"), "--simulate", self.kernel_tuner_file("kb"), "--json",
                                       "--quiet").stdout)
        self.assertEqual((tuning["regime"], tuning["best"]["verdict"]["kind"]), ("unknown", "not recorded"))
        self.assertNotIn("resources", tuning["best"])

    def test_the_cache(self):
        self.hone("cache", "import", self.kernel_tuner_file("ka"))
        for command in (("list",), ("show", "ka")):
            self.assert_nothing_claimed(self.hone("cache", *command).stdout)
        self.assertIn("L2=unknown,", self.hone("cache", "list").stdout)
        self.assertIn("verification not recorded, by Kernel Tuner", self.hone("cache", "list", COLUMNS="").stdout)
        out = self.folder / "again.json"
        self.hone("cache", "export", "ka", out)
        document = json.loads(out.read_text())
        self.assertEqual(document["hone"]["regime"], "unknown")
        self.assertEqual({row["hone"]["verdict"]["kind"] for row in document["cache"].values()}, {"not recorded"})
        self.hone("cache", "check")

    def test_exports(self):
        self.simulate("ka")
        header = self.hone("export", "ka").stdout.split("#define")[0]
        self.assert_nothing_claimed(header)
        self.assertIn("L2 state not recorded", header)
        self.assertIn("driver unknown, NVRTC unknown", header)
        configuration, = json.loads(self.hone("export", "ka", "--json").stdout)["configurations"]
        self.assertEqual((configuration["regime"], configuration["verification"], configuration["resources"]),
                         ("unknown", "not recorded", None))
        self.assertEqual((configuration["device"]["capability"], configuration["max_error"]), (None, None))

    def test_an_explanation(self):
        """Found whatever the regime that is asked for."""
        self.simulate("ka")
        for more in ((), ("--regime", "warm"), ("--simulate", self.folder / "ka.json")):
            text = self.hone("explain", self.folder / "ka.yaml", *more).stdout
            self.assertIn("L2 state not recorded", text)
            self.assertNotIn("cold L2", text)
            self.assertNotIn("stale", text)
        explained, = json.loads(self.hone("explain", self.folder / "ka.yaml", "--json").stdout)
        self.assertEqual((explained["regime"], explained["bounds"]["registers"]), ("unknown", None))

    def test_a_report(self):
        self.hone("cache", "import", self.kernel_tuner_file("ka"))
        page = self.hone("report", "ka").stdout
        tuning, = hone.report_document(page)["tunings"]
        self.assertEqual(tuning["regime"], "unknown")
        for row in tuning["rows"]:
            self.assertEqual((row["verdict"]["kind"], "resources" in row), ("not recorded", False))
