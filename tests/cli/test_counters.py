# SPDX-License-Identifier: MIT
"""Counters, as a double of CUPTI makes them up: read, kept, shown, and what is said where there are none."""

import json

import double
import hone

CUPTI = f"{double.DOUBLE}/cupti/libcupti.so.13"
# What 32 threads on 32 banks, all of them the same, would give.
CONFLICTS = ",".join(f"{name}={value}" for name, value in {
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 32000,
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": 31000,
    "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active": 95}.items())


class Counters(double.Case):
    def counted(self, *arguments, **settings):
        """What `hone run` says of the default point."""
        settings = {"HONE_CUPTI": CUPTI, **settings}
        result = self.hone("run", self.config, "--counters", "--json", *arguments, **settings)
        return json.loads(result.stdout)["problems"][0]

    def test_one_launch_is_counted_in_every_lap(self):
        counters = self.counted()["record"]["counters"]
        self.assertEqual(counters["instructions"], 1000)
        self.assertEqual(counters["dram_read_bytes"], 4e6)
        self.assertNotIn("stall_tex_throttle", counters, "this chip has no such counter")

    def test_a_fault_is_named_with_its_counters(self):
        findings = self.counted(HONE_DOUBLE_COUNTERS=CONFLICTS)["record"]["counted"]["findings"]
        self.assertEqual(findings[0]["kind"], "conflicts")
        self.assertIn("3.1e+04 conflicts of 3.2e+04 wavefronts", findings[0]["counted"])

    def test_a_warm_launch_is_counted_behind_another(self):
        self.assertEqual(self.counted("--regime", "warm")["record"]["counters"]["instructions"], 1000)

    def test_clocks_are_observed_by_name(self):
        clocks = json.loads(self.hone("run", self.config, "--observe", "clocks", "--json").stdout)["problems"][0]["record"]["clocks"]
        self.assertTrue(0 < clocks["sm_min_mhz"] <= clocks["sm_median_mhz"] <= clocks["sm_max_mhz"], clocks)
        self.assertRegex(self.hone("run", self.config, "--observe", "clocks").stdout, r"\n  clocks\.sm_median_mhz +\d")
        self.assertNotIn("sm_min_mhz", self.hone("run", self.config, "--json").stdout)
        self.assertIn("--observe: found 'clock', expected a list of audit, energy, staging, counters, conditions, clocks",
                      self.hone("run", self.config, "--observe", "clock", expect=2).stderr)

    def test_finalists_keep_theirs_in_the_cache(self):
        (tuning,) = self.tune("-s", "ITEMS=1,2", "--counters", HONE_CUPTI=CUPTI)
        raced = [record for record in tuning["records"] if record["final"]]
        self.assertTrue(all("counters" in record for record in raced[:5]), raced)
        self.assertAlmostEqual(tuning["best"]["counted"]["dram_gb_per_s"], 6e6 / tuning["best"]["timing"]["median_us"] / 1e3)
        explained = self.hone("explain", self.config).stdout
        self.assertIn("(counted: 80% of the warps wait for a load", " ".join(explained.split()))
        self.hone("report", "scale", "-o", self.folder / "page.html")
        page = (self.folder / "page.html").read_text()
        (shown,) = hone.report_document(page)["tunings"]
        self.assertEqual(shown["counted"]["levels"], {"DRAM": 6e6, "L2": 6e6, "L1": 6e6})

    def test_an_earlier_tuning_is_counted_later_and_not_measured_again(self):
        (before,) = self.tune("-s", "ITEMS=1")
        self.assertNotIn("counters", before["best"])
        self.assertIn("inferred from metrics", self.hone("explain", self.config).stdout)
        explained = self.hone("explain", self.config, "--counters", "--json", HONE_CUPTI=CUPTI)
        (explanation,) = json.loads(explained.stdout)
        self.assertEqual(explanation["bounds"]["counted"]["findings"][0]["kind"], "loads")
        (after,) = self.tune("-s", "ITEMS=1")
        self.assertIn("counters", after["best"])
        self.assertEqual(after["best"]["timing"], before["best"]["timing"])

    def test_what_is_missing_is_told_in_one_line_and_all_else_goes_on(self):
        for why, settings in (("CUPTI of CUDA 12.6 or later", {"HONE_CUPTI": "/nowhere/libcupti.so"}),
                              ("version 23, expected", {"HONE_DOUBLE_CUPTI_VERSION": "23"}),
                              ("NVreg_RestrictProfilingToAdminUsers=0", {"HONE_DOUBLE_CUPTI_FAIL": "cuptiProfilerGetCounterAvailability=35"}),
                              ("NVreg_RestrictProfilingToAdminUsers=0", {"HONE_DOUBLE_CUPTI_FAIL": "cuptiRangeProfilerStart=35"}),
                              ("another profiler", {"HONE_DOUBLE_CUPTI_FAIL": "cuptiRangeProfilerEnable=26"}),
                              ("error 999, message 999", {"HONE_DOUBLE_CUPTI_FAIL": "cuptiRangeProfilerDecodeData=999"})):
            with self.subTest(why=settings):
                problem = self.counted(**settings)
                self.assertEqual(problem["outcome"], "ok")
                self.assertIn(why, problem["no_counters"])
                self.assertNotIn("counters", problem["record"])

    def test_a_tune_without_permission_says_so_once(self):
        result = self.hone("tune", self.config, "-s", "ITEMS=1,2", "--counters", "--quiet", HONE_CUPTI=CUPTI,
                           HONE_DOUBLE_CUPTI_FAIL="cuptiRangeProfilerStart=35")
        self.assertEqual(result.stdout.count("no counters: "), 1)

    def test_a_recording_has_no_gpu(self):
        self.fails(2, "hone: beside --simulate leave --counters out",
                     "explain", self.config, "--counters", "--simulate", "x.json")
        for other in ("--family", "--simulate=x.json"):
            self.fails(2, "hone: --counters reads what a GPU counts of one problem's finalists: leave "
                          f"{other.split('=')[0]} out", "tune", self.config, "--counters", other)
