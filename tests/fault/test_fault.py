# SPDX-License-Identifier: MIT
"""One `hone tune` over a space in which every fault known to us is planted.

On the driver double where HONE_DOUBLE is its folder, else on a GPU; there is skipped (77) without one. Prints the table
of docs/reliability.md."""

import json
import os
import pathlib
import re
import resource
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "cli"), str(ROOT / "bench")]
import evidence  # noqa: E402
import hone  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
DOUBLE = os.environ.get("HONE_DOUBLE")
# On the double what never compiles ("slow_compile", the fourth word of FAULT) sleeps, and what compiles has all the
# time that a busy machine may take.
COMPILE_TIMEOUT_S = 10 if DOUBLE else 4
RUN_TIMEOUT_S = 1 if DOUBLE else 5
LAUNCH = r"fault <<<\(256, 1, 1\), \(128, 1, 1\), 0 B>>>: "

# FAULT: its outcomes, and all of its message. {device} is the name of the GPU.
EXPECTED = {
    "syntax_error": ("compile_error", r".*fault\.cu\(12\): error: expected a declaration"),
    "error_directive": ("compile_error", r".*fault\.cu\(14\): .*error: #error directive: this variant is not for this architecture"),
    "slow_compile": ("compile_timeout", rf"the compiler was stopped after {COMPILE_TIMEOUT_S} s \(--compile-timeout\)"),
    "shared_memory": ("invalid_launch", r"245760 bytes of dynamic shared memory; {device} takes 0 to \d+"),
    "static_shared_memory": ("compile_error", r"kernel 'fault' has 65536 bytes of static shared memory; the limit is 49152 .*"),
    "shared_memory_sum": ("invalid_launch", r"40960 bytes of static and 204800 of dynamic shared memory are 245760; "
                          r"{device} has \d+ for a block: \d+ too many"),
    "registers": ("invalid_launch", r"1024 threads of \d+ registers take \d+; {device} has \d+ for a block: \d+ too many"),
    "launch_bounds": ("invalid_launch", r"a block of 128 threads; the kernel is compiled for 64 at most \(__launch_bounds__\): "
                      r"64 too many"),
    "empty_grid": ("invalid_launch", r"grid 0 has 0 in x; {device} takes 1 to \d+"),
    "scratch_too_large": ("out_of_memory", r"its scratch needs 4096\.\d+ GiB, more than is free on the device"),
    "illegal_address": ("device_fault", LAUNCH + r"CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"),
    "misaligned_address": ("device_fault", LAUNCH + r"CUDA_ERROR_MISALIGNED_ADDRESS: misaligned address"),
    "device_assert": ("device_fault", LAUNCH + r"CUDA_ERROR_ASSERT: device-side assert triggered"
                      r"; it last printed: .*fault\.cu:1: .*Assertion `n > 1000000000` failed.*"),
    "trap": ("device_fault", LAUNCH + r"CUDA_ERROR_\w+: .+"),
    "wrong_element": ("wrong_result", r"y\[32768\] is \S+; expected \S+: an error of 1, more than the tolerance of 2\.5e-06; 1 of 65536 elements differs .*"),
    "unwritten_element": ("wrong_result", r"y\[65535\] is never written; expected \S+"),
    # A byte that is written may be the one that was there.
    "write_past_end": ("out_of_bounds", r"wrote at byte 26214[4-7] of 'y', which has 262144 bytes"),
    "write_before_start": ("out_of_bounds", r"wrote [1-4] bytes before the start of 'y' \(262144 bytes\)"),
    "write_far_past": ("out_of_bounds", r"wrote beyond all buffers and their guard zones, into the [\d.]+ MiB behind the last"),
    "write_input": ("out_of_bounds", r"wrote into input 'x'"),
    "endless_loop": ("run_timeout", rf"still running after {RUN_TIMEOUT_S} s \(--run-timeout\); its worker was killed"),
    "unsteady": ("wrong_result", r"in a timed launch: y\[0\] is \S+; expected \S+: an error of \S+, more than .*"),
    # Right, if slow; where printing takes so long, its time runs out.
    "printf_flood": ("ok slower" if DOUBLE else "ok slower run_timeout", r".*"),
}
GOOD = {"ok", "slower", "duplicate"}


def workers_of(cache):
    """Live workers of any hone that was given this cache."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            settings = pathlib.Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"hone", b"worker"] and f"HONE_CACHE={cache}".encode() in settings:
            found.append(entry)
    return found


def started(record):
    """When it came to the GPU, by the clock."""
    return record["time"] - (record["costs"]["verify_ms"] + record["costs"]["measure_ms"]) / 1e3


def restarts(records, outcome, begun):
    """{fault: seconds} from the end of a variant's worker to the start of the next variant on the GPU."""
    found = {}
    for before, record, after in zip(records, records[1:], records[2:]):
        if record["outcome"] == outcome and after["costs"]["verify_ms"] > 0:
            found[record["point"]["FAULT"]] = started(after) - begun(before, record)
    return found


class Faults(hone.Case):
    def tune(self, *arguments, **settings):
        if DOUBLE:
            settings = {"HONE_DOUBLE_COMPILING": "FAULT=4: 600000", "LD_LIBRARY_PATH": DOUBLE,
                        "HONE_LOCKS": str(self.folder), **settings}
        result = self.hone("tune", FOLDER / "fault.yaml", "--strategy", "exhaustive", "--json", "--quiet", "--compile-timeout", COMPILE_TIMEOUT_S,
                           "--run-timeout", RUN_TIMEOUT_S, *arguments, **settings)
        return json.loads(result.stdout)[0]

    def check_fault(self, fault, record, device):
        outcomes, pattern = EXPECTED[fault]
        self.assertIn(record["outcome"], outcomes.split(), record)
        self.assertRegex(record.get("message") or "", "^" + pattern.replace("{device}", re.escape(device)) + "$", fault)

    def check_all(self, tuning):
        points = {json.dumps(record["point"], sort_keys=True) for record in tuning["records"]}
        self.assertEqual(len(points), 39)
        self.assertEqual(len(tuning["records"]), 39)
        self.assertEqual(sum(tuning["outcomes"].values()), tuning["points"])
        planted = {}
        for record in tuning["records"]:
            fault = record["point"]["FAULT"]
            if fault == "none":
                self.assertIn(record["outcome"], GOOD, record)
            else:
                planted[fault] = record
        self.assertEqual(set(planted), set(EXPECTED))
        for fault, record in planted.items():
            with self.subTest(fault):
                self.check_fault(fault, record, tuning["device"])
        return planted

    def check_best(self, best):
        """One of the good points; with the double that which it makes the fastest."""
        self.assertEqual(best["point"]["FAULT"], "none")
        self.assertEqual(best["outcome"], "ok")
        if DOUBLE:
            self.assertEqual(best["point"], {"BLOCK": 256, "ITEMS": 4, "FAULT": "none"})

    def test_every_fault(self):
        events = self.folder / "events.jsonl"
        if DOUBLE:  # a busy machine compiles this for longer than the limit: from now on it is kept
            self.hone("compile", FOLDER / "fault.yaml", "--all", "-s", "FAULT=registers", "--arch", "sm_90", "--compile-timeout", "280", expect=3)
        begin = time.monotonic()
        # What is stopped early is compared once only; here every variant is to be looked at to the end.
        tuning = self.tune("--full", "--events", events)
        elapsed = time.monotonic() - begin
        # They end as soon as they are scheduled.
        while workers_of(self.cache):
            self.assertLess(time.monotonic() - begin - elapsed, 20, "workers outlive hone")
            time.sleep(0.01)
        planted = self.check_all(tuning)
        self.check_best(tuning["best"])
        again = self.tune()
        self.assertEqual((again["reused"], again["best"]["point"]), (39, tuning["best"]["point"]))

        lines = [json.loads(line) for line in events.read_text().splitlines()]
        rows = [line["record"] for line in lines if line["event"] == "record"]
        rows = [row for row in rows if row["outcome"] in ("device_fault", "run_timeout") or row["costs"]["verify_ms"] > 0]
        # A hung variant came to the GPU when the one before it had ended.
        killed = restarts(rows, "run_timeout", lambda before, row: before["time"] + RUN_TIMEOUT_S)
        faulted = restarts(rows, "device_fault", lambda before, row: row["time"])
        self.report(tuning, planted, elapsed, killed, faulted)
        self.assertIn("endless_loop", killed)
        self.assertGreaterEqual(len(faulted), 3)

    def test_compile_timeout_is_for_variants(self):
        """What the whole run depends on compiles all the same, and is not compiled again for its point."""
        tuning = self.tune("-s", "FAULT=none", "--compile-timeout", "0.001", HONE_DOUBLE_COMPILING="FAULT=1: 1000")
        self.assertEqual(tuning["outcomes"], {"ok": 1, "compile_timeout": 15})

    @unittest.skipIf(b"__asan_init" in pathlib.Path(hone.HONE).read_bytes(), "the sanitizer's shadow is data too")
    def test_memory_of_the_compiler(self):
        """A compilation that takes all memory it may have is an error, and its worker goes on."""
        limits = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (500 << 20, limits[1]))
        try:
            result = self.hone("compile", FOLDER / "fault.yaml", "--all", "-s", "FAULT=none,slow_compile", "--arch", "sm_90",
                               "--jobs", "1", "--compile-timeout", "280", "--json")
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, limits)
        rows = {row["point"]["FAULT"]: row for row in json.loads(result.stdout)}
        self.assertEqual(rows["slow_compile"]["outcome"], "compile_error")
        self.assertRegex(rows["slow_compile"]["message"], r"fault\.cu\(\d+\): catastrophic error: out of memory")
        self.assertEqual([row["outcome"] for row in json.loads(result.stdout)].count("ok"), 16)

    def report(self, tuning, planted, elapsed, killed, faulted):
        print(f"\n{tuning['device']}: {tuning['points']} points in {elapsed:.1f} s")
        for fault in EXPECTED:
            print(f"| `{fault}` | `{planted[fault]['outcome']}` | {planted[fault].get('message') or ''} |")
        print(f"from the kill of a hung variant's worker to the next variant: {max(killed.values()):.3f} s")
        print(f"from a device fault to the next variant: at most {max(faulted.values()):.3f} s of {len(faulted)}", flush=True)
        evidence.keep("faults", [["a hung variant's worker is killed", f"{max(killed.values()):.3f} s"], ["a device fault", f"{max(faulted.values()):.3f} s"]])
