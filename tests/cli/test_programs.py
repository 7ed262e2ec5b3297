# SPDX-License-Identifier: MIT
"""`run` of a config: what is measured is a program, which is built and run as the config says. No kernel is launched."""

import json
import os
import re
import shutil
import signal
import subprocess

import double
import hone
import pages

BENCH = """\
echo "$HONE_ITEMS items in $1"
case $HONE_FAULT in
  crash) echo "all is lost" >&2; kill -SEGV $$;;
  exit) echo "line 7: error: no such thing"; echo summary; exit 3;;
  hang) sleep 60 & wait;;
  silent) exit;;
  flood) head -c 17000000 /dev/zero;;
esac
echo result >output
echo "noise {"
echo '{"runs": [{"name": "first"}, {"time": "'$((100 + $1 * 10 + (HONE_ITEMS - 2) * (HONE_ITEMS - 2) * 100))'"}]}'
"""
CONFIG = """\
kernel: bench
template: bench.sh
problem: {SIZE: 3}
parameters:
  BLOCK: [1, 2, 4]
  ITEMS: [1, 2, 3]
  FAULT: [none, crash, exit, hang, silent, flood, wrong, broken]
defaults: {BLOCK: 4, ITEMS: 1, FAULT: none}
run:
  build: [sh, -c, 'fault=$HONE_FAULT; test "${fault}" != broken && cp "$0" bench && mkdir -p inner && touch inner/file', "${SOURCE}"]
  command: [sh, bench, "${BLOCK}"]
  time: {json: runs.1.time, unit: ns}
  check: [sh, -c, 'test "$0 $HONE_SIZE" != "wrong 3" && grep -q result output', "${FAULT}"]
metrics: {per_item: time_us / ITEMS}
"""
# A compiler that makes programs as a benchmark of CUB is one, and one that prints as examples/cub_reduce does: their times are
# distances from a point.
NVCC = """\
#!/bin/sh
for option; do case $option in -D*) eval "${option#-D}";; esac; done
test -n "$TUNE_BASE" || time=0.$((1000 + 384 - THREADS + ITEMS - VECTOR))
test "$TUNE_BASE" != 1 || TUNE_THREADS=256 TUNE_ITEMS=12
cat >bench <<END
#!/bin/sh
test "\\$1" != check || exit 0
test -z "$time" || exec echo '{"median_ms": '$time'}'
test "\\$1\\$3 \\$4" = "-a--json stdout" || exit 1
elements=\\${2#*=}
echo "# log"
echo '{"benchmarks": [{"states": [{"summaries": [{"tag": "nv/cold/sample_size", "data": [{"value": "9"}]},
  {"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "value": "'\\$((elements * $((1000 - TUNE_THREADS + TUNE_ITEMS))))'e-6"}]}]}]}]}'
END
chmod +x bench
cp bench reduce
"""
# A benchmark of CUB's kind, whose header its compiler finds.
BENCHMARK = """\
#include "nvbench_helper.cuh"
// %RANGE% TUNE_ITEMS ipt 7:24:1
// %RANGE% TUNE_THREADS tpb 128:1024:32
//%RANGE% in other words
"""


class Programs(double.Case):
    def setUp(self):
        super().setUp()
        self.write("bench.sh", BENCH)
        self.config = self.write("bench.yaml", CONFIG)
        self.fine = ("-s", "FAULT=none", "--allow-run")

    def tuned(self, *arguments, **settings):
        return self.tune("--allow-run", *arguments, **settings)[0]

    def test_the_fastest_is_found_and_kept(self):
        tuning = self.tuned("-s", "FAULT=none")
        best = tuning["best"]
        self.assertEqual(best["point"], {"BLOCK": 1, "FAULT": "none", "ITEMS": 2})
        self.assertEqual((best["timing"]["median_us"], best["verdict"]["kind"], best["metrics"]), (0.11, "verified", {"per_item": 0.055}))
        self.assertTrue(best["final"])
        self.assertGreaterEqual(len(best["timing"]["samples_us"]), 6)
        self.assertEqual(sum(tuning["outcomes"].values()), 9)
        # Nothing is left of the folders, nor run again.
        self.assertEqual(list(self.folder.glob("hone-scratch-*")), [])
        self.spoil(self.config, "parameters:", "constraints: [ITEMS > 0]\nparameters:")
        self.assertIn("9 of them from the cache", self.hone("tune", self.config, *self.fine).stdout)
        self.assertIn("L2=unknown, remarks=verified", self.hone("cache", "list").stdout)
        # Another source or another way to run it is another program.
        self.spoil(self.config, "runs.1.time", "runs.01.time")
        self.assertEqual(self.tuned("-s", "FAULT=none")["reused"], 0)
        self.spoil(self.folder / "bench.sh", "100 +", "90 +")
        self.assertEqual(self.tuned("-s", "FAULT=none")["best"]["timing"]["median_us"], 0.1)

    def test_a_failure_is_an_outcome(self):
        self.tuned("-s", "BLOCK=1,ITEMS=2", "--run-timeout", "1", "--events", self.events)
        found = {record["point"]["FAULT"]: (record["outcome"], re.sub("'/.*/hone.log'", "LOG", record.get("message") or "")) for record in self.read_events()}
        self.assertEqual(found, {
            "none": ("ok", ""),
            "crash": ("worker_crash", "killed by signal 11 (Segmentation fault); it last printed: all is lost"),
            "exit": ("worker_crash", "ended with exit status 3; it last printed: line 7: error: no such thing"),
            "hang": ("run_timeout", "did not end within 1 s"),
            "silent": ("worker_crash", "it says no time by json 'runs.1.time'; it last printed: 2 items in 1"),
            "flood": ("worker_crash", "it says no time by json 'runs.1.time'; it last printed: LOG is larger than 16777216 bytes, the most that is read"),
            "wrong": ("wrong_result", "the check: ended with exit status 1"),
            "broken": ("compile_error", "ended with exit status 1")})

    def test_the_line_that_says_why(self):
        """An option is no error, and of one that ends with a colon the reason is on the next line."""
        said = {1: r"cc -Werror a.c\na.c:7: error: no such thing\n1 error generated\n",
                2: r"CMake Error at CMakeLists.txt:2 (project):\n  No compiler could be found.\n\n-- Configuring incomplete, errors occurred!\n",
                3: r"cc -Werror a.c\nerror:"}
        cases = " ".join(f"{key}) printf '{text}';;" for key, text in said.items())
        self.write("why.yaml", f"""\
kernel: why
template: why.yaml
parameters: {{A: [1, 2, 3]}}
run: {{build: [sh, -c, "case $0 in {cases} esac; exit 1", "${{A}}"], command: ["true"], time: {{json: a}}}}
""")
        self.hone("tune", "why.yaml", "--allow-run", "--quiet", "--events", self.events, expect=3)
        self.assertEqual({record["point"]["A"]: record["message"].partition("printed: ")[2] for record in self.read_events()},
                         {1: "a.c:7: error: no such thing", 2: "CMake Error at CMakeLists.txt:2 (project):   No compiler could be found.", 3: "error:"})

    def test_what_is_not_checked_is_said_to_be(self):
        self.spoil(self.config, "  check:", "#")
        self.spoil(self.config, "time: {json: runs.1.time, unit: ns}", "time: {regex: 'time[^0-9]*([0-9]+)', unit: ms}")
        text = self.hone("tune", self.config, *self.fine).stdout
        self.assertIn("110.0 ms", text)
        self.assertIn("\n  score 0.458 of the default point\n", text)
        self.assertIn("UNVERIFIED: `run` has no `check`", text)

    def test_a_number_that_means_two_is_no_time(self):
        self.write("comma.yaml", """\
kernel: comma
template: comma.yaml
parameters: {A: [1, 2, 3, 4, 5, 6, 7]}
run: {command: [sh, -c, "case $0 in 1) echo 987us;; 2) echo 1,234us;; 4) echo 1:23us;; 5) echo 1m23us;; 6) echo 1m 23us;; 7) echo 2h 5us;; *) echo 950.5us; esac", "${A}"], time: {regex: '(.*)'}}
""")
        for before, after, found in ("", "", "worker_crash"), ("(.*)", "([0-9.]+)", "worker_crash"), ("([0-9.]+)", "([0-9.]+)[,u]", "ok"):
            self.spoil(self.folder / "comma.yaml", before, after)
            tuning, = json.loads(self.hone("tune", "comma.yaml", "--allow-run", "--quiet", "--json", "--full").stdout)
            self.assertEqual({record["point"]["A"]: record["outcome"] for record in tuning["records"]}, {1: "ok", 2: found, 3: "ok", 4: found, 5: found, 6: found, 7: found})

    def test_what_two_numbers_say_is_no_time(self):
        cases = " ".join(f"{i}) echo '{text}';;" for i, text in enumerate(("950.5 us", "1 000 us", "1_000 us", "1 s 500 ms", "1s500ms")))
        self.write("two.yaml", f"""\
kernel: two
template: two.yaml
parameters: {{A: {{range: [0, 4]}}}}
run: {{command: [sh, -c, "case $0 in {cases} esac", "${{A}}"], time: {{regex: '(.*)'}}}}
""")
        tuning, = json.loads(self.hone("tune", "two.yaml", "--allow-run", "--quiet", "--json", "--full").stdout)
        self.assertEqual({record["point"]["A"]: record["outcome"] for record in tuning["records"]}, {0: "ok", **dict.fromkeys(range(1, 5), "worker_crash")})

    def test_a_command_that_stops_its_time_limit(self):
        self.write("stop.yaml", """\
kernel: stop
template: stop.yaml
parameters: {A: [1, 2]}
run: {command: [sh, -c, "test $0 = 1 || kill -STOP $PPID; sleep $(($0 * 60 - 60)); echo $0", "${A}"], time: {regex: '(.*)'}}
""")
        tuning, = json.loads(self.hone("tune", "stop.yaml", "--allow-run", "--quiet", "--json", "--run-timeout", "1").stdout)
        self.assertEqual(tuning["outcomes"], {"ok": 1, "run_timeout": 1})

    def test_a_time_of_nothing(self):
        self.spoil(self.folder / "bench.sh", "'$((100 +", "'$((0 * (100 +")
        self.spoil(self.folder / "bench.sh", "(HONE_ITEMS - 2) * 100))", "(HONE_ITEMS - 2) * 100)))")
        text = self.hone("tune", self.config, *self.fine, expect=3).stdout
        self.assertIn("it says 0 us, which is none of a run, by json 'runs.1.time'", text)

    def test_a_unit_that_is_printed_counts(self):
        for by, printed in ("regex: 'time: ([0-9.]+)'", "time: {}"), ("json: time", '{{\\"time\\": \\"{}\\"}}'):
            printed_times = "1.2 ms", "950 us", "0.96ms", "955\u00b5s", "956", "0.031 msec, Size", "12e-6 seconds", "1.5 milliseconds", "7 nsec", "8 ecus", "9 nanoseconds", "1.1 [ms]", "1.5 min", "2 minutes", "9 min 8 max 10", "3 Seconds", "4 MS", "5 msecs", "6 secs", "7 mins", "1 hour"
            cases = " ".join(f"{i}) echo '{printed.format(time)}';;" for i, time in enumerate(printed_times))
            self.write("unit.yaml", f"""\
kernel: unit
template: unit.yaml
parameters: {{A: {{range: [0, 20]}}}}
run: {{command: [sh, -c, "case $0 in {cases} esac", "${{A}}"], time: {{{by}}}}}
""")
            tuning, = json.loads(self.hone("tune", "unit.yaml", "--allow-run", "--quiet", "--json", "--full").stdout)
            times = {record["point"]["A"]: round(record["timing"]["median_us"], 3) for record in tuning["records"]}
            self.assertEqual(times, {0: 1200, 1: 950, 2: 960, 3: 955, 4: 956, 5: 31, 6: 12, 7: 1500, 8: 0.007, 9: 8, 10: 0.009, 11: 1100, 12: 9e7, 13: 1.2e8, 14: 9, 15: 3e6, 16: 4000, 17: 5000, 18: 6e6, 19: 4.2e8, 20: 3.6e9})

    def test_a_unit_in_front_of_the_time_counts(self):
        """Where neither the config nor what follows has one; "min" is the least there."""
        for printed, time, time_us in (("Time (ms): 3.5", r"regex: '([0-9.]+)$'", 3500), ("a_ns = 8", "regex: '= ([0-9]+)'", 0.008),
                                       ("t [secs] 2", "regex: '([0-9]+)'", 2e6), ("time_min: 7", "regex: '([0-9]+)'", 7),
                                       ("Time (ms): 3 us", "regex: ': ([0-9]+)'", 3), ("Time (ms): 3", "regex: ': ([0-9]+)', unit: ns", 0.003),
                                       ('{"t_ms": 4}', "json: t_ms", 4000), ('{"t_ms": "4 us"}', "json: t_ms", 4),
                                       ('{"t_ms": 4}', "json: t_ms, unit: us", 4), ('{"items": 4}', "json: items", 4),
                                       ('{"b": [{"real_time": 5e3, "time_unit": "ns"}]}', "json: b.0.real_time", 5)):
            with self.subTest(printed, time=time):
                self.write("front.yaml", json.dumps({"kernel": "front", "template": "front.yaml", "parameters": {"A": [1]},
                                                     "run": {"command": ["echo", printed], "time": "TIME"}}).replace('"TIME"', f"{{{time}}}"))
                tuning, = json.loads(self.hone("tune", "front.yaml", "--allow-run", "--quiet", "--json").stdout)
                self.assertAlmostEqual(tuning["best"]["timing"]["median_us"], time_us)

    def test_a_time_behind_words_to_choose_from(self):
        """Groups without a digit are words; one with two numbers is no time, whatever groups are in it."""
        cases = " ".join(f"{i}) echo '{text}';;" for i, text in enumerate(("real 11", "wall 12 ms", "wall none", "real 1,234", "real13")))
        for regex, times in (("(real|(wall)) ([0-9.,]+)", {0: 11, 1: 12000, 2: None, 3: None, 4: None}),
                             ("((real|wall) ?(([0-9]+),?([0-9]*)))", dict.fromkeys(range(5))), ("(un)?(real|wall) ?([0-9]+)$", {0: 11, 1: None, 2: None, 3: None, 4: 13})):
            self.write("words.yaml", f"""\
kernel: words
template: words.yaml
parameters: {{A: {{range: [0, 4]}}}}
run: {{command: [sh, -c, "case $0 in {cases} esac", "${{A}}"], time: {{regex: '{regex}'}}}}
""")
            code = 0 if any(times.values()) else 3
            tuning, = json.loads(self.hone("tune", "words.yaml", "--allow-run", "--quiet", "--json", "--full", expect=code).stdout)
            self.assertEqual({record["point"]["A"]: record["timing"]["median_us"] if record["outcome"] == "ok" else None for record in tuning["records"]}, times)

    def test_numbers_that_json_has_not(self):
        """Python prints the deviation of one time as NaN. Where the time itself is none, it stays none."""
        texts = '{"std": NaN, "t": 17}', "[1, -Infinity]", '{"t": 18, "most": Infinity, "said": "a NaN"}', '{"t": NaN}'
        script = json.dumps("case $0 in %s esac" % " ".join(f"{i}) echo '{text}';;" for i, text in enumerate(texts)))
        self.write("nan.yaml", f"""\
kernel: nan
template: nan.yaml
parameters: {{A: {{range: [0, 3]}}}}
run: {{command: [sh, -c, {script}, "${{A}}"], time: {{json: t}}}}
""")
        tuning, = json.loads(self.hone("tune", "nan.yaml", "--allow-run", "--quiet", "--json", "--full").stdout)
        self.assertEqual({record["point"]["A"]: record["outcome"] for record in tuning["records"]}, {0: "ok", 1: "worker_crash", 2: "ok", 3: "worker_crash"})

    def test_lines_of_json(self):
        """A log may be JSON, too, and a result a list: what counts is where the time is."""
        self.write("log.yaml", """\
kernel: log
template: log.yaml
parameters: {A: [1, 2]}
run: {command: [sh, -c, "echo '{\\"event\\": \\"start\\"}'; echo '[info] loaded'; echo '[{\\"name\\": \\"k\\", \\"us\\": '$0'7}]'; echo '[{\\"us\\": 3}]'", "${A}"],
      time: {json: 0.us}}
""")
        self.assertEqual(json.loads(self.hone("tune", "log.yaml", "--allow-run", "--quiet", "--json").stdout)[0]["best"]["timing"]["median_us"], 17)

    def test_a_name_finds_nothing_in_a_list(self):
        self.write("list.yaml", """\
kernel: list
template: list.yaml
parameters: {A: [1]}
run: {command: [echo, '{"runs": [5, 7]}'], time: {json: runs.mean}}
""")
        self.assertIn("it says no time by json 'runs.mean'; it last printed: {\"runs\": [5, 7]}",
                      self.hone("tune", "list.yaml", "--allow-run", expect=3, COLUMNS="").stdout)
        self.spoil(self.folder / "list.yaml", "runs.mean", "runs.1")
        self.assertIn(" 7.000 us ", self.hone("tune", "list.yaml", "--allow-run").stdout)

    def test_builds_go_on_side_by_side_and_commands_do_not(self):
        """Each build waits for another one to be under way; a command that finds another fails."""
        self.spoil(self.config, "  build: [sh, -c, '", "  build: [sh, -c, 'touch ${CONFIG_DIR}/lane.$$; n=0; "
                   "while [ $(ls ${CONFIG_DIR}/lane.* | wc -l) -lt 2 ]; do sleep 0.01; n=$((n + 1)); test $n -lt 3000 || exit 1; done; ")
        self.spoil(self.folder / "bench.sh", "echo result", f"mkdir {self.folder}/busy || exit 1\nsleep 0.01\nrmdir {self.folder}/busy\necho result")
        self.assertEqual(set(self.tuned("-s", "FAULT=none", "--jobs", "2")["outcomes"]) - {"slower"}, {"ok"})

    def test_a_search_goes_on_beside_a_slow_build(self):
        log = self.folder / "log"
        self.config = self.write("slow.yaml", f"""\
kernel: slow
template: bench.sh
parameters: {{A: {{range: [1, 60]}}}}
defaults: {{A: 30}}
run:
  build: [sh, -c, 'test $HONE_A != 60 || {{ echo slow >>{log}; sleep 4; echo built >>{log}; }}']
  command: [sh, -c, 'echo run >>{log}; echo {{\\"time\\": $((200 - $HONE_A))}}']
  time: {{json: time}}
""")
        self.tuned("--stop-chance", "0", "--jobs", "4")
        lines = log.read_text().split()
        runs = lines[lines.index("slow"):lines.index("built")].count("run")
        self.assertGreater(runs, 12, lines)

    def test_interrupted_it_goes_on_and_nothing_is_left_running(self):
        self.spoil(self.folder / "bench.sh", "echo result", "sleep 0.31; echo result")
        for number in (signal.SIGINT, signal.SIGKILL):
            process = self.start("tune", self.config, *self.fine, "--events", self.events)
            self.wait_for_events(3, process)
            process.send_signal(number)
            process.wait()
            self.wait_for(lambda: not self.running(), "what it ran is gone")
        self.spoil(self.folder / "bench.sh", "sleep 0.31; ", "")
        self.assertEqual(self.tuned("-s", "FAULT=none")["finished"], 9)

    def test_a_source_that_is_edited_meanwhile(self):
        self.spoil(self.config, "&& mkdir -p inner", "&& echo >>${SOURCE} && mkdir -p inner")
        self.assertEqual(self.hone("tune", self.config, *self.fine, "--quiet", expect=1).stderr,
                         f"hone: {self.folder}/bench.sh changed while variants were compiled from it; run again\n")

    def running(self):
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/environ") as file:
                    found += [entry] if f"HONE_CONFIG_DIR={self.folder}" in file.read() else []
            except OSError:
                continue
        return found

    def test_it_runs_only_where_the_command_line_says_so(self):
        self.fails(2, f"hone: {self.config} runs commands (`run`): if you trust it, add --allow-run", "tune", self.config)
        for option in ("--workers=local", "--counters", "--energy", "--regime=warm", "--capture=x", "--reference=y=x.npy"):
            self.fails(2, "hone: --allow-run runs programs on this machine, and takes their time alone: leave "
                       f"{option.split('=')[0]} out", "tune", self.config, *self.fine, option)
        self.hone("tune", self.config, *self.fine, "--quiet")
        for command in ("run", "compile", "inputs", "replay"):
            options = ("-o", "x") if command == "inputs" else ()
            result = self.hone(command, self.config, *options, expect=2)
            self.assertEqual(result.stderr, f"hone: {self.config} measures a program, and `hone {command}` is of kernels\n")
        # Nothing that is kept says what was run.
        self.assertNotIn(b"HONE_SIZE", self.cache.read_bytes())
        for form in ("header", "source", "patch", "cubin-header"):
            self.fails(2, "hone: 'bench' is a program, which has no kernel to export: expected --format json, or --template",
                       "export", "bench", "--format", form)
        best, = json.loads(self.hone("export", "bench", "--json").stdout)["configurations"]
        self.assertEqual(best["parameters"]["ITEMS"], 2)
        self.hone("explain", self.config)
        self.hone("report", "-o", "report.html")

    def compiler(self):
        self.write("nvcc", NVCC).chmod(0o755)
        return {"PATH": f"{self.folder}:{os.environ['PATH']}"}

    def test_the_page(self):
        """A benchmark of CUB's kind, whose draft is changed as the page says, is tuned beside CUB's own tuning."""
        self.write("sum.cu", BENCHMARK)
        self.write("table.in", "{@{TUNE_THREADS}, @{TUNE_ITEMS}}@{,}\n")
        init, tune, export = [line.split()[1:] for line in pages.lines("docs/how-to.md", "A program in place of a kernel")]
        edited, = (body for title, kind, body in pages.blocks("docs/how-to.md") if title == "A program in place of a kernel" and kind == "yaml")
        self.hone(*init)
        draft = self.folder / "sum.yaml"
        self.assertIn("523 valid points ", self.hone("space", draft).stdout)
        # As it stands it is tuned for one size.
        tuning = json.loads(self.hone("tune", draft, "--allow-run", "--budget", "1", "--json", "--quiet", **self.compiler()).stdout)[0]
        self.assertEqual((tuning["best"]["point"]["TUNE_BASE"], tuning["best"]["timing"]["median_us"]), (1, 28 * 756))
        draft.write_text(re.sub(r"^  command:.*\n", lambda _: edited, draft.read_text(), count=1, flags=re.M))
        less = ("-s", "TUNE_THREADS=128,256,512", "-s", "TUNE_ITEMS=7,12")
        text = self.hone(*tune, *less, **self.compiler()).stdout
        self.assertRegex(text, r"workload +default +best  ratio\n  large +21.17 ms  13.86 ms  0.655\n  small +12.10 ms  7.920 ms  0.655\n")
        self.assertIn("\n  7 ok", text)
        self.hone(*export)
        self.assertEqual((self.folder / "table.h").read_text(), "{512, 7}\n")

    def test_the_example(self):
        for path in (hone.SOURCE / "examples" / "cub_reduce").iterdir():
            shutil.copy(path, self.folder)
        self.hone("tune", "reduce.yaml", "--allow-run", "-s", "THREADS=256,384", "-s", "ITEMS=15,16", "-s", "VECTOR=2,4", **self.compiler())
        best, = json.loads(self.hone("export", "cub_reduce", "--json").stdout)["configurations"]
        self.assertEqual(best["parameters"], {"THREADS": 384, "ITEMS": 15, "VECTOR": 4})

    def test_what_a_program_prints_stays_as_it_is(self):
        self.spoil(self.config, "[sh, bench, \"${BLOCK}\"]", "[sh, -c, 'printf \"‘bench’ \\007is away\"; exit 1']")
        result = self.hone("tune", self.config, *self.fine, expect=3)
        self.assertIn("ended with exit status 1; it last printed: ‘bench’ ?is away\n", result.stdout)
        self.assertIn("\n  worker_crash: ended its process, or told no time; see docs/outcomes.md\n", result.stdout)

    def test_what_is_advised_runs_as_it_stands(self):
        self.hone("tune", self.config, *self.fine, "-s", "BLOCK=1")
        text = self.hone("explain", self.config).stdout
        self.assertIn(f"`hone tune {self.config} -p SIZE=3 --allow-run --full`", text)
        self.assertNotIn("--counters", text)

    def test_a_full_disk_costs_no_point(self):
        """What fails there, while it is built and while it is run, is nobody's result."""
        (self.folder / "small").mkdir()
        fill = "head -c 200000 /dev/zero >big"
        for name, run in (("built", {"build": ["sh", "-c", fill], "command": ["echo", "5 us"]}), ("run", {"command": ["sh", "-c", f"{fill} && echo 5 us"]})):
            self.write(f"{name}.yaml", json.dumps({"kernel": name, "template": "bench.sh", "parameters": {"A": [1, 2]},
                                                   "run": {**run, "time": {"regex": "([0-9]+)"}}}))
            words = [hone.HONE, "tune", f"{name}.yaml", "--allow-run", "--quiet"]
            result = subprocess.run(["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=100k none small && exec "$@"', "sh", *words], cwd=self.folder,
                                    env=self.environment(TMPDIR=str(self.folder / "small")), stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if "mount" in result.stderr or "unshare" in result.stderr:
                self.skipTest(result.stderr)
            self.assertRegex(result.stderr, r"^hone: a command failed in \S+/small/hone-scratch-\w+, where there is no room: set TMPDIR to a folder with room\n$")
            self.assertEqual(result.returncode, 1)
            tuning, = json.loads(self.hone(*words[1:], "--json", "--full").stdout)
            self.assertEqual((tuning["outcomes"], tuning["reused"]), ({"ok": 2}, 0))

    def test_a_table_without_a_metric(self):
        self.assertRegex(self.hone("tune", self.config, *self.fine).stdout, "±95%  per_item  regs")
        self.spoil(self.config, "metrics:", "#")
        self.assertRegex(self.hone("tune", self.config, *self.fine).stdout, "±95%  regs")

    def workloads(self):
        self.write("bench.sh", 'time=$(($1 * $2))\ntest $HONE_WORKLOAD = long && time=$(($1 * time))\ntest "$HONE_FAULT $3" != "crash long" && '
                   'echo time $time\n')
        before = CONFIG.split("run:")[0]
        return self.write("bench.yaml", before + """\
run:
  build: [cp, "${SOURCE}", bench]
  command: [sh, bench, "${BLOCK}", "${HUNDREDS}00", "${WORKLOAD}"]
  time: {regex: 'time ([0-9]+)'}
  check: [sh, -c, 'test "$HONE_FAULT $0 $HONE_HUNDREDS" != "wrong long 10"', "${WORKLOAD}"]
  workloads:
    short: {HUNDREDS: 1}
    long: {HUNDREDS: 10, weight: 3}
""")

    def test_workloads_are_scored_together(self):
        """Of BLOCK 4 to 1: a fourth of the short one's time, a sixteenth of the long one's, which counts three times."""
        self.workloads()
        text = self.hone("tune", self.config, *self.fine, "-s", "ITEMS=1").stdout
        self.assertIn("\n  workload   default      best  ratio\n"
                      "  long      16.00 ms  1.000 ms  0.062\n"
                      "  short     400.0 us  100.0 us  0.250\n"
                      "  score 0.088 of the default point: ", text)
        tuning = self.tuned("-s", "FAULT=none", "-s", "ITEMS=1")
        best = tuning["best"]
        self.assertEqual(tuning["reused"], 3)
        self.assertEqual((best["point"]["BLOCK"], best["verdict"]["kind"], best["workloads"]), (1, "verified", {"long": 1000, "short": 100}))
        self.assertAlmostEqual(best["timing"]["median_us"], (100 * 1000 ** 3) ** 0.25)
        self.assertAlmostEqual(tuning["score"], 4 ** -1.75)
        # The default point is not among these; else it is measured, however many others are. Another weight is another score.
        self.assertRegex(self.hone("tune", self.config, *self.fine, "-s", "ITEMS=1", "-s", "BLOCK=1,2").stdout, "\n  short +- +100.0 us +-\n")
        self.spoil(self.config, "weight: 3", "weight: 1")
        for options in ((), ("--budget", "1", "--strategy", "random")):
            self.cache.unlink()
            tuning = self.tuned("-s", "FAULT=none", "-s", "ITEMS=1", *options)
            self.assertEqual((tuning["reused"], round(tuning["score"], 9)), (0, 1 if options else 0.125))

    def test_a_workload_that_fails_is_told(self):
        self.workloads()
        self.tuned("-s", "BLOCK=1,ITEMS=2", "-s", "FAULT=none,crash,wrong", "--events", self.events)
        self.assertEqual({record["point"]["FAULT"]: (record["outcome"], record.get("message")) for record in self.read_events()}, {
            "none": ("ok", None),
            "crash": ("worker_crash", "workload long: ended with exit status 1"),
            "wrong": ("wrong_result", "workload long: the check: ended with exit status 1")})

    def test_mistakes_in_workloads(self):
        text = self.workloads().read_text()
        for old, new, message in (
                ("long:", "short:", "16:5: key 'short' is given twice"),
                ("long:", "a b:", "16:5: found 'a b', expected a name ([A-Za-z_][A-Za-z0-9_]*)"),
                ("weight: 3", "weight: none", "16:34: found 'none', expected a number above 0, 1e9 at most"),
                ("weight: 3", "weight: 1e308", "16:34: found '1e308', expected a number above 0, 1e9 at most"),
                ("weight: 3", "weight: 1e400", "16:34: number 1e400 is beyond a double"),
                ("weight: 3", "weight: 3 ms", "16:34: '3 ms' is not a value; expected a finite number"),
                ("weight: 3", "weight: []", "16:34: found an empty list, expected a value"),
                ("HUNDREDS: 10", "HUNDRED: 10", "11:36: unknown name 'HUNDREDS'; nearest is 'HUNDRED'"),
                ("{HUNDREDS: 1}", "[HUNDREDS]", "15:12: found a list, expected a mapping of names to values"),
                ("HUNDREDS: 1}", "SIZE: 1}", "15:13: 'SIZE' is a name already"),
                ("SIZE: 3", "WORKLOAD: 3", "10:3: 'WORKLOAD' is a value, and what commands are told beside it; name it otherwise"),
                ("HUNDREDS: 1}", "a b: 1}", "15:13: found 'a b', expected a name ([A-Za-z_][A-Za-z0-9_]*)"),
                ('cp, "${SOURCE}", bench', 'cp, "${SOURCE}", "${WORKLOAD}"', "10:28: unknown name 'WORKLOAD'; there are BUILD_DIR, ")):
            with self.subTest(new=new):
                self.write("wrong.yaml", text.replace(old, new, 1))
                self.assertIn(f"wrong.yaml:{message}", self.hone("space", "wrong.yaml", expect=2).stderr)
        self.write("wrong.yaml", text.split("    short")[0])
        self.assertIn("14:13: found nothing, expected a mapping of names to workloads, as {small: {SIZE: 1024}}", self.hone("space", "wrong.yaml", expect=2).stderr)

    def test_mistakes(self):
        for old, new, message in (
                ("json: runs.1.time, ", "", "12:9: found a mapping, expected either 'json' or 'regex'"),
                ("  command:", "  commands:", "11:3: unknown key 'commands'; nearest is 'command'"),
                ("sh, bench, \"${BLOCK}\"", "", "11:12: found an empty list, expected a list of a program and its arguments"),
                ("\"${BLOCK}\"]", "\"-DBLOCK=${BLOK}\"]", "11:24: unknown name 'BLOK'; nearest is 'BLOCK'"),
                ("\"${SOURCE}\"", "\"${FILE}\"", "10:122: unknown name 'FILE'; there are BUILD_DIR, CONFIG_DIR, SOURCE, BLOCK, FAULT, ITEMS, SIZE"),
                ("json: runs.1.time", "regex: 'time (\\d+)'", "12:17: found 'time (\\d+)', expected a regular expression of POSIX with a group, as 'time: ([0-9.]+)'"),
                ("json: runs.1.time", "regex: 'time [0-9]+'", "12:17: found 'time [0-9]+', expected a regular expression of POSIX with a group, as 'time: ([0-9.]+)'"),
                ("SIZE: 3", "SOURCE: 3", "10:3: 'SOURCE' is a value, and what commands are told beside it; name it otherwise"),
                ("metrics:", "launch: {grid: 1, block: 1}\nmetrics:", "14:1: unknown key 'launch'"),
                ("template: bench.sh", "", "1:1: key 'template' is missing: 'run' on line 9 needs it")):
            with self.subTest(new=new):
                self.write("wrong.yaml", CONFIG.replace(old, new, 1))
                self.assertIn(f"wrong.yaml:{message}", self.hone("space", "wrong.yaml", expect=2).stderr)
        self.write("wrong.yaml", CONFIG.replace("json: runs.1.time", "regex: '('", 1))
        self.assertIn("run: regex '(': Unmatched (", self.hone("tune", "wrong.yaml", "--allow-run", expect=2).stderr)


if __name__ == "__main__":
    double.unittest.main()
