# SPDX-License-Identifier: MIT
"""What a device can do at best: measured once, kept in the cache, and what times are set against."""

import json

import double
import hone


class Roofs(double.Case):
    def devices(self, *arguments):
        return json.loads(self.hone("device", "--json", *arguments).stdout)["devices"]

    def assert_double(self, roofs):
        for name, expected in (("copy_gb_per_s", 4400), ("fp32_gflops", 20000), ("l2_gb_per_s", 6000), ("launch_us", 1.5)):
            self.assertAlmostEqual(roofs[name] / expected, 1, delta=0.02, msg=name)
        for name, expected in (("fp8", 800e3), ("bf16", 400e3), ("fp16", 400e3), ("tf32", 200e3)):
            self.assertAlmostEqual(roofs["tensor"][name]["gflops"] / expected, 1, delta=0.02, msg=name)
            self.assertAlmostEqual(roofs["tensor"][name]["clock_mhz"], 1500, delta=1)
        self.assertEqual((roofs["driver"], roofs["l2_bytes"]), ("CUDA 13.0", 1 << 17))

    def test_measured_when_asked(self):
        self.assertIsNone(self.devices()[0]["roofs"])
        self.assertNotIn("at best", self.hone("device").stdout)
        self.assertFalse(self.cache.exists())
        roofs = json.loads(self.with_nvml("device", "--measure", "--json").stdout)["devices"][0]["roofs"]
        self.assert_double(roofs)
        self.assertEqual(roofs["tensor"]["power_limit_w"], 700)
        self.assertEqual(self.devices()[0]["roofs"], roofs)
        self.assertRegex(self.hone("device").stdout, r"at best +copy \d{4} GB/s, L2 \d{4} GB/s, FP32 20 TFLOP/s, "
                         r"launch 1\.5 us, measured \d{4}-\d\d-\d\d with driver CUDA 13\.0\n +tensor cores at best +FP8 "
                         r"\S+ TFLOP/s at 1500 MHz, BF16 \S+ TFLOP/s at 1500 MHz, FP16 [^;]+TF32 \S+ TFLOP/s at 1500 MHz; power limit 700 W\n")

    def with_nvml(self, *arguments, **settings):
        """For as long as energy is measured the GPU is at work, and the processor may wait."""
        return hone.Case.hone(self, *arguments, **self.own_folders(), HONE_DOUBLE_NVML="90", HONE_DOUBLE_WAIT_US="3000",
                              LD_LIBRARY_PATH=f"{double.DOUBLE}/nvml:{double.DOUBLE}", **settings)

    def test_explained_as_tuned(self):
        """What a warm L2 cache serves is set against that."""
        self.spoil(self.config, "24576", "8192")
        self.hone("tune", self.config, "--quiet", "--regime", "warm", "-s", "ITEMS=1")
        explanation, = json.loads(self.hone("explain", self.config, "--regime", "warm", "--json").stdout)
        bounds = explanation["bounds"]
        self.assertAlmostEqual(bounds["bytes_share"] * explanation["roofs"]["l2_gb_per_s"] / bounds["gb_per_s"], 1, places=6)

    def test_records_say_what_held_the_clocks_down(self):
        command = ["tune", self.config, "--quiet", "-s", "ITEMS=1,2"]
        printed = self.with_nvml(*command, HONE_DOUBLE_HELD="4").stdout
        self.assertRegex(printed, r"the clocks were held down by the power cap in (\d+) of \1\s+looks,\s+and while the best "
                                  r"was measured \(1500 MHz\)")
        shown = self.with_nvml("cache", "show", "scale").stdout
        self.assertRegex(shown, r"SM at 1500 MHz at least, memory at 3201 MHz, 412 W and 54 °C at most; "
                                r"the power cap held the clocks down for (\d+) of \1 points\n")
        records = json.loads(self.with_nvml("cache", "show", "scale", "--json").stdout)["tunings"][0]["records"]
        measured = [record for record in records if "timing" in record]
        expected = {"sm_mhz": 1500, "memory_mhz": 3201, "power_w": 412.5, "temperature_c": 54, "held_down_by": ["power_cap"]}
        self.assertEqual([record["conditions"] for record in measured], [expected] * len(measured))
        self.with_nvml("cache", "export", "scale", self.folder / "scale.json")
        self.assertIn("held_down_by", (self.folder / "scale.json").read_text())

    def test_energy_of_finalists(self):
        """The double's GPU takes 400 W, whatever it does."""
        printed = self.with_nvml("tune", self.config, "--quiet", "-s", "ITEMS=4,BLOCK=256", "--energy=0.4").stdout
        self.assertRegex(printed, r"energy\n +1 .* mJ\n")
        self.assertRegex(printed, r"front of time and energy: 1; each in\s+2\s+windows")
        best = json.loads(self.with_nvml("cache", "show", "scale", "--json").stdout)["tunings"][0]["records"][0]
        energy = best["energy"]
        self.assertEqual((energy["windows"], energy["temperature_c"]), (2, 54))
        self.assertGreaterEqual(energy["seconds"], 0.8)
        self.assertAlmostEqual(energy["joules"] / (400e-6 * energy["launch_us"]), 1, delta=0.08)
        self.assertAlmostEqual(energy["launch_us"] / best["timing"]["median_us"], 1, delta=0.05)
        self.assertAlmostEqual(energy["idle_w"] / 400, 1, delta=0.08)
        self.assertRegex(self.with_nvml("run", self.config, "--energy=0.2").stdout, r"energy +\d\S* mJ ±\d\S*% a launch, at \d+ W; 2 windows")
        self.assertRegex(self.with_nvml("cache", "show", "scale").stdout, r"energy\n +1 .* mJ\n")
        for objective in ("energy", "energy_delay"):
            header = self.with_nvml("export", "scale", "--objective", objective).stdout
            self.assertRegex(header, r"energy     0\.02\d+ J a launch, at (39|40|41)\d W")

    def test_energy_as_the_objective(self):
        """Blocks of 256 are the fastest, and take 356 W; those of 128 take 228 W and 5% longer; those of 32 do not come near."""
        text = self.config.read_text().replace("ITEMS: 1", "ITEMS: 4").replace(
            "arguments:\n", 'constraints: ["ITEMS == 2 if BLOCK == 256 else ITEMS == 4"]\narguments:\n', 1)
        space = ("-s", "ITEMS=2,4", "-s", "BLOCK=32,128,256")
        self.config.write_text(text.replace("kernel: scale\n", "kernel: scale\nobjective: energy\n"))
        tuned, = json.loads(self.with_nvml("tune", self.config, "--quiet", *space, "--energy=0.2", "--json",
                                           HONE_DOUBLE_POWER_BY_BLOCK="1").stdout)
        best, second, slow = tuned["records"]
        self.assertEqual(tuned["front"], [0, 1])
        self.assertEqual((tuned["objective"], best["point"]["BLOCK"], second["point"]["BLOCK"], tuned["tied"]),
                         ("energy minimize", 128, 256, 1))
        for record, watts in (best, 228), (second, 356):
            self.assertEqual((record["objective"], record["final"]), (record["energy"]["joules"], True))
            self.assertAlmostEqual(record["energy"]["power_w"] / watts, 1, delta=0.3)
        self.assertEqual(best["estimated_w"], second["estimated_w"], "what the GPU may draw at most")
        self.assertEqual((slow["point"]["BLOCK"], "energy" in slow), (32, False))
        self.assertGreater(best["timing"]["median_us"], second["timing"]["median_us"])
        again, = json.loads(self.with_nvml("tune", self.config, "--quiet", *space, "--energy=0.2", "--json",
                                           HONE_DOUBLE_POWER_BY_BLOCK="1").stdout)
        self.assertEqual([record["energy"] for record in again["records"][:2]], [best["energy"], second["energy"]],
                         "these finals count")
        self.assertIn("objective  energy minimize", self.hone("export", "scale").stdout)
        self.assertRegex(self.hone("cache", "show", "scale").stdout, "objective energy minimize")
        self.config.write_text(text)
        self.hone("tune", self.config, "--quiet", *space)
        warned = self.hone("export", "scale")
        self.assertIn("BLOCK=256", warned.stdout)
        self.assertEqual(warned.stderr, "hone: warning: 'scale' was tuned for 'energy minimize', too: --config CONFIG says which\n")
        self.config.write_text(text.replace("kernel: scale\n", "kernel: scale\nobjective: energy\n"))
        for choice in ("--objective", "energy"), ("--config", self.config):
            chosen = self.hone("export", "scale", *choice)
            self.assertIn("BLOCK=128,", chosen.stdout)
            self.assertEqual(chosen.stderr, "")

    def test_energy_of_a_slow_kernel(self):
        """Launches of two seconds: one is a sample, and one by one they fill a window."""
        for regime, options in ("stream", ["--energy=0.2"]), ("graph", []):
            printed = self.with_nvml("run", self.config, "--json", "--regime", regime, *options, HONE_DOUBLE_SLOWNESS="40000")
            record = json.loads(printed.stdout)["problems"][0]["record"]
            timing = record["timing"]
            self.assertAlmostEqual(timing["median_us"] / 2.448e6, 1, delta=0.02)
            self.assertEqual((timing["batch"], len(timing["samples_us"])), (1, 3))
            if options:
                energy = record["energy"]
                self.assertAlmostEqual(energy["launch_us"] / timing["median_us"], 1, delta=0.02)
                self.assertAlmostEqual(energy["joules"] / (400e-6 * energy["launch_us"]), 1, delta=0.08)

    def test_energy_that_can_not_be_the_objective(self):
        text = self.config.read_text()
        self.config.write_text(text.replace("kernel: scale\n", "kernel: scale\nobjective: energy_delay\n"))
        refused = self.hone("tune", self.config, "--quiet", "-s", "ITEMS=4,BLOCK=256", expect=2).stderr
        self.assertIn("objective 'energy_delay' needs the energy counter of the GPU", refused)
        self.config.write_text(self.config.read_text().replace("role: output", "role: inout"))
        refused = self.hone("tune", self.config, "--quiet", expect=2).stderr
        self.assertIn("argument 'y' has to be restored", refused)

    def test_energy_that_can_not_be_had(self):
        printed = self.hone("tune", self.config, "--quiet", "-s", "ITEMS=4,BLOCK=256", "--energy").stdout
        self.assertIn("energy was not measured", printed)
        self.assertIn("hone tune CONFIG --energy", self.hone("export", "scale", "--objective", "energy", expect=3).stderr)
        self.assertIn("found '9', expected seconds", self.hone("tune", self.config, "--energy=9", expect=2).stderr)
        self.assertIn("--simulate", self.hone("tune", self.config, "--energy", "--simulate", "x", expect=2).stderr)

    def test_a_cache_that_can_not_be_used(self):
        broken = self.folder / "broken.db"
        broken.write_bytes(b"no cache" * 512)
        self.assertEqual(self.hone("device", "--cache", self.folder / "none.db").stderr, "")
        for arguments in ((), ("--measure",)):
            result = self.hone("device", "--cache", broken, *arguments, expect=1)
            self.assertIn("broken.db", result.stderr)

    def test_tuning_sets_times_against_them(self):
        printed = self.hone("tune", self.config, "--quiet").stdout
        self.assertRegex(printed, r"\n +# +time +±95% +gbps +of roof +regs")
        self.assertRegex(printed, r"\n  roofs: copy \d{4} GB/s")
        roofs = self.devices()[0]["roofs"]
        self.assert_double(roofs)
        tuned, = self.tune()
        self.assertEqual(tuned["roofs"], roofs)
        best = tuned["best"]
        self.assertEqual(best["roof"]["name"], "launch")
        self.assertAlmostEqual(best["roof"]["share"], roofs["launch_us"] / best["timing"]["median_us"])
        self.config.write_text(self.config.read_text().replace("{n: 24576}", "{n: 4194304}"))
        tuned, = self.tune()
        best = tuned["best"]
        self.assertEqual((best["roof"]["name"], tuned["roofs"]), ("copy", roofs))
        self.assertAlmostEqual(best["roof"]["share"],
                               8 * 4194304 / roofs["copy_gb_per_s"] / 1e3 / best["timing"]["median_us"])

    def test_little_is_not_told_as_nothing(self):
        printed = self.hone("tune", self.config, "-p", "n=64", "-s", "ITEMS=1", "--quiet").stdout
        self.assertRegex(printed, r"\n  the best moves 0\.\d+ GB/s, \d+\.\d% of a device-to-device memcpy of as much \(0\.\d+ GB/s\)\n")
        self.assertRegex(self.hone("explain", self.config, "-p", "n=64").stdout, r"\n  0\.\d+ GB/s \(0% of the roof\)\n")

    def test_a_time_that_can_not_be_is_told(self):
        self.assertNotIn("FASTER", self.hone("tune", self.config, "--quiet").stdout)
        self.assertNotIn("beyond", self.tune()[0]["best"]["roof"])
        for metric, inflated in (("bytes", "bytes: 8000000 * n"), ("flops", "bytes: 8 * n, flops: 8000000 * n")):
            text = self.config.read_text()
            self.spoil(self.config, "metrics: {bytes: 8 * n", f"metrics: {{{inflated}")
            self.cache.unlink()
            self.assertRegex(self.hone("tune", self.config, "--quiet").stdout,
                             rf"\n  FASTER THAN THE ROOF: the best cannot do what the metric `{metric}` says in \S+ us; "
                             rf"check `{metric}`")
            self.assertEqual(self.tune()[0]["best"]["roof"]["beyond"], metric)
            self.config.write_text(text)

    def test_what_tensor_cores_compute(self):
        self.spoil(self.config, "metrics: {bytes: 8 * n", "metrics: {flops_bf16: 50000 * n, bytes: 8 * n")
        self.hone("device", "--measure")
        self.forge("UPDATE roof SET json = json_remove(json, '$.tensor')")  # as where its kernels did not run
        printed = self.hone("tune", self.config, "--quiet").stdout
        self.assertRegex(printed, r"\d+% BF16 ")
        self.assertRegex(printed, r"\n  of tensor cores: FP8 .* at 1500 MHz")
        tuned, = self.tune()
        self.assertEqual(tuned["best"]["roof"]["name"], "BF16")
        self.assertIn("% of the roof)", self.hone("explain", self.config).stdout)

    def test_nothing_to_set_against_them(self):
        self.spoil(self.config, "metrics: {bytes: 8 * n, gbps: bytes / time_us / 1000}",
                   "metrics: {gbps: 8 * n / time_us / 1000}")
        self.assertNotIn("roof", self.hone("tune", self.config, "--quiet").stdout)
        tuned, = self.tune()
        self.assertIsNone(tuned["roofs"])
        self.assertIsNone(self.devices()[0]["roofs"])
