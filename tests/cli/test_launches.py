# SPDX-License-Identifier: MIT
"""What a config can say of arguments and launches, through the command, its workers and the cache."""

import json
import os
import re
import struct
import subprocess
import unittest.mock

import double
import hone


class Launches(double.Case):
    def outcomes(self, config, *arguments):
        self.config = self.folder / config
        tuned, = self.tune(*arguments)
        return {double.name(record["point"]): record["outcome"] for record in tuned["records"]}

    def test_symbols(self):
        found = self.outcomes("symbols.yaml")
        self.assertEqual(found["MEMORY=constant,MISSING=0"], "ok")
        self.assertEqual({found[f"MEMORY={memory},MISSING={missing}"]
                          for memory in ("constant", "global") for missing in (1, 2)}, {"launch_error"})
        result = self.hone("run", self.config, "-s", "MEMORY=global", "--json")
        record = json.loads(result.stdout)["problems"][0]["record"]
        self.assertEqual((record["outcome"], record["verdict"]["kind"]), ("ok", "verified"))
        self.hone("replay", self.config, "--max-slowdown", "50%")

    def test_results_of_some_length(self):
        found = self.outcomes("keep.yaml")
        right = {point for point, outcome in found.items() if outcome in ("ok", "duplicate", "slower")}
        self.assertEqual(right, {"FAULT=0,ORDER=backward", "FAULT=0,ORDER=forward"})
        header = self.hone("export", "keep").stdout
        self.assertIn("keep<<<s.grid, s.block, s.shared_bytes>>>(", header)
        for threshold, said in (("0.5", self.assertNotIn), ("9.5", self.assertIn)):
            said("\n  partly verified: of an output zeros, NaN or what it held would pass, by the reference, `length` or tolerance; ",
                 self.hone("tune", self.config, "-p", f"threshold={threshold}", "--quiet").stdout)

    def test_zeros_tell_little(self):
        """Of a variant that computes something else of zeros; whatever is compared with. So does a tolerance that is too large."""
        for old, new in (("", ""), ("uniform(-1, 1)", "constant(0)"), ("reference:", "# reference:"), ("constant(0)", "constant(1)"),
                         ("relative: 1.0e-6", "absolute: 2.5")):
            self.spoil(self.config, old, new)
            said = self.assertNotIn if new in ("", "constant(1)") else self.assertIn
            said("\n  partly verified: of an output zeros, NaN or what it held would pass, ",
                 self.hone("tune", self.config, "--quiet", "--budget", "2").stdout)
            said("partly verified", self.hone("cache", "list").stdout)
            said("\n *              partly: of an output zeros, NaN or what it held would pass\n", self.hone("export", "scale").stdout)

    def test_so_few_numbers_may_all_differ(self):
        config = self.folder / "border.yaml"
        self.spoil(config, "{name: x, type: float32, count: n}", "{name: x, type: float32, count: n, fill: 'skewed(2, 0.98)'}")
        for old, allowed, said in (("100000", "4", self.assertNotIn), ("4", "1000", self.assertIn)):
            self.spoil(config, f"ALLOWED: [0, 3, {old}]", f"ALLOWED: [0, 3, {allowed}]")
            said("zeros, NaN or what it held would pass", self.hone("tune", config, "--quiet", "-s", f"FAULT=3,ALLOWED={allowed}").stdout)

    def test_what_is_left_as_it_was_tells_little(self):
        """A kernel that adds nothing to what it found is as right as one that does nothing."""
        config = self.folder / "accumulate.yaml"
        for old, new, said in (("", "", self.assertNotIn), ("uniform(-1, 1)", "constant(0)", self.assertIn), ("role: inout", "role: inout, align: 4", self.assertIn)):
            self.spoil(config, old, new)
            said("what it held would pass", self.hone("tune", config, "--quiet").stdout)

    def test_what_only_changes_places_tells_nothing_in_any_order(self):
        """0, 1, 0, 1, ... becomes 1, 0, 1, 0, ...: nothing that was left out is missed."""
        config = self.folder / "accumulate.yaml"
        for name, fill, values in (("x", "uniform(-1, 1)", (1, -1)), ("y", "normal(0, 1)", (0, 1))):
            (self.folder / f"{name}.bin").write_bytes(struct.pack("<2f", *values) * 500)
            self.spoil(config, f'fill: "{fill}"', f"file: {name}.bin")
        for old, new, said in (("", "", self.assertNotIn), ("mode: max_norm, relative: 1.0e-6", "mode: multiset", self.assertIn)):
            self.spoil(config, old, new)
            said("what it held would pass", self.hone("tune", config, "--quiet").stdout)

    def test_a_parameter_called_as_what_a_row_of_a_recording_has(self):
        """Its values would be times for whoever reads the recording."""
        self.spoil(self.config, "FAULT: [0]", "FAULT: [0]\n  times: [1]")
        self.spoil(self.config, "FAULT: 0}", "FAULT: 0, times: 1}")
        self.hone("tune", self.config, "--quiet", "--budget", "2")
        self.fails(2, "hone: a recording has a 'times' of its own in each row, where the parameter of that name would be: "
                   "expected --format t4, or another name", "cache", "export", "scale", "r.json")
        self.hone("cache", "export", "scale", "r.json", "--format", "t4")

    def test_outputs_that_are_written_in_part(self):
        self.config = self.folder / "border.yaml"
        record, = self.tune("-s", "ALLOWED=3", "-s", "FAULT=3")
        verdict = record["best"]["verdict"]
        self.assertEqual((verdict["compared"], verdict["differed"], verdict["seeds"]), (4094 + 2048, 3, 2))
        shown = self.hone("tune", self.config, "-s", "ALLOWED=3", "-s", "FAULT=3", "--quiet").stdout
        self.assertIn("  3 of 6142 elements of the best's outputs differ by more than the tolerance", shown)
        self.assertIn(" 3 of 6142 elements differ by more, as the config allows\n", self.hone("export", "border").stdout)
        found = self.outcomes("border.yaml", "--full")
        right = {point for point, outcome in found.items() if outcome in ("ok", "duplicate")}
        self.assertEqual(right, {*(f"ALLOWED={allowed},FAULT={fault}" for allowed in (0, 3, 100000) for fault in (0, 1)),
                                 "ALLOWED=3,FAULT=3", "ALLOWED=100000,FAULT=3"})
        self.config.write_text(self.config.read_text().replace("partial: true, ", ""))
        result = self.hone("tune", self.config, "--quiet", expect=1)
        self.assertIn("the reference failed: wrong_result: y[0] is never written; expected ", result.stderr)
        self.assertIn("where it leaves elements unwritten on purpose: compare: {partial: true}", result.stderr)

    def test_a_problem_that_cannot_be_tuned(self):
        """The others are tuned all the same, but where it is the same with two."""
        self.spoil(self.config, "n: 24576", "n: [1073741824, 4096, 536870912, 64]")
        result = self.hone("tune", self.config, "--json", "--quiet", "--budget", "3", expect=1)
        self.assertEqual([(found["problem"]["n"], found["best"] is None) for found in json.loads(result.stdout)],
                         [(1073741824, True), (4096, False), (536870912, True), (64, False)])
        for n in (1073741824, 536870912):
            self.assertIn(f"hone: n={n}: the buffers do not fit: ", result.stderr)
        self.assertTrue(result.stderr.endswith("\nhone: not every problem could be tuned, as is told above\n"), result.stderr)
        missing = str(self.folder / "missing.cu")
        self.spoil(self.config, "scale_reference.cu", missing)
        said = self.hone("tune", self.config, "--quiet", expect=2).stderr
        self.assertEqual(said.count(missing), 2, said)

    def test_a_problem_without_a_valid_point(self):
        """The others are tuned; where there are no defaults, the first may be the one."""
        text = self.config.read_text().replace("defaults:", "constraints: [BLOCK * ITEMS <= n]\n# ")
        for sizes, empty, tuned in (("16, 4096, 8", (16, 8), [4096]), ("4096, 16, 64", (16,), [4096, 64])):
            self.config.write_text(text.replace("n: 24576", f"n: [{sizes}]"))
            result = self.hone("tune", self.config, "--json", "--quiet", "-s", "BLOCK=32,64", expect=3)
            self.assertEqual([found["problem"]["n"] for found in json.loads(result.stdout) if found["best"]], tuned)
            why = f"{self.config}:12:15: no point is valid: the constraint 'BLOCK * ITEMS <= n' rejects most, 8 of 8 combinations\n"
            self.assertEqual(result.stderr, "".join(f"hone: n={n}: {why}" for n in empty) +
                             "hone: not every problem could be tuned, as is told above\n")

    def test_words_in_another_order(self):
        """A template that reads their numbers is another program then; one that reads their names is the same."""
        self.spoil(self.config, "  FAULT: [0]\n", "  FAULT: [0]\n  SHAPE: [slim, wide]\n")
        self.spoil(self.config, "FAULT: 0}", "FAULT: 0, SHAPE: slim}")
        template = self.folder / "scale.cu"
        for is_wide, then_wide, known in (("SHAPE == 2", "slim", 0), ("SHAPE == SHAPE_wide", "wide", 2)):
            self.spoil(template, "= {BLOCK,", "= {%s ? BLOCK : 32," % is_wide)
            for order, wide, reused in (("slim, wide", "wide", 0), ("wide, slim", then_wide, known)):
                self.spoil(self.config, "[slim, wide]", f"[{order}]")
                found, = self.tune("-s", "BLOCK=256", "-s", "ITEMS=4")
                self.assertEqual((found["best"]["point"]["SHAPE"], found["reused"]), (wide, reused))
            self.spoil(self.config, "[wide, slim]", "[slim, wide]")
            self.spoil(template, "= {%s ? BLOCK : 32," % is_wide, "= {BLOCK,")

    def test_results_that_are_no_numbers_verify_nothing(self):
        self.spoil(self.config, "value: 2.5", "value: 3e38")
        self.spoil(self.config, "uniform(-1, 1)", "uniform(2, 3)")
        told = (" failed: wrong_result: 'y' is nothing but NaN and infinities, which tell no two variants apart: choose fills and "
                "values for which it has numbers")
        result = self.hone("tune", self.config, "--quiet", "--budget", "1", expect=1)
        self.assertEqual(result.stderr, f"hone: the reference{told}\n")
        self.config.write_text(re.sub("\nreference: .*", "", self.config.read_text()))
        self.fails(1, f"hone: the default point, which is the reference,{told}", "run", self.config, "-s", "ITEMS=2")
        self.config = self.folder / "border.yaml"  # whose other output are numbers
        self.spoil(self.config, "{name: x, type: float32, count: n", "{name: x, type: float32, count: n, fill: constant(3e38)")
        self.assertEqual(self.hone("tune", self.config, "--quiet", "--budget", "1", expect=1).stderr, f"hone: the reference{told}\n")

    def test_results_that_are_no_numbers_for_some_inputs(self):
        """As a single sum that overflows now and then: finalists are verified on inputs that nobody chose."""
        for old, new in (("n: 24576", "n: 1"), ("value: 2.5", "value: 3e38"), ("uniform(-1, 1)", "uniform(-2, 2)")):
            self.spoil(self.config, old, new)
        for seed in (1, 2, 5):
            self.hone("tune", self.config, "--quiet", "--seed", seed, "--cache", f"{seed}.db")

    def test_an_output_that_is_added_to(self):
        self.config = self.folder / "accumulate.yaml"
        self.spoil(self.config, 'role: inout, fill: "normal(0, 1)"', "role: output")
        advice = "; two runs of it differ: what it adds to is role: inout"
        for partial, more in (("", "; where it leaves elements unwritten on purpose: compare: {partial: true}"), ("partial: true, ", "")):
            self.spoil(self.config, "compare: {", "compare: {" + partial)
            said = self.hone("tune", self.config, "--quiet", expect=1).stderr
            self.assertIn("hone: the default point, which is the reference, failed: wrong_result: y[0] is ", said)
            self.assertTrue(said.endswith(advice + more + "\n"), said)

    def test_runs_that_differ(self):
        """As sums in any order do, from a count that goes on."""
        self.config = self.folder / "accumulate.yaml"
        self.spoil(self.config, "role: counter", "role: scratch")
        said = self.hone("tune", self.config, "--quiet", expect=1).stderr
        self.assertIn(" elements differ; two runs of it differ: ", said)
        self.assertTrue(said.endswith("; what adds in any order needs a tolerance\n"), said)

    def test_a_kernel_of_ones_own_does_not_compile(self):
        self.config = self.folder / "accumulate.yaml"
        self.spoil(self.folder / "accumulate.cu", "int start", "it start")
        self.assertIn("hone: the default point, which is the reference, does not compile: ",
                      self.hone("tune", self.config, "--quiet", expect=1).stderr)

    def test_a_default_point_that_crashes(self):
        text = re.sub("\nreference: .*", "", self.config.read_text())
        self.config.write_text(text.replace("FAULT: [0]", "FAULT: [0, 9]").replace("FAULT: 0}", "FAULT: 9}"))
        self.assertRegex(self.hone("tune", self.config, "--quiet", expect=1).stderr,
                         r"^hone: the GPU worker died twice while it was set up \('reference'\): killed by signal")
        self.config.write_text(text.replace("FAULT: [0]", "FAULT: [0, 5]").replace("FAULT: 0}", "FAULT: 5}"))
        self.assertRegex(self.hone("tune", self.config, "--quiet", expect=1).stderr,
                         "^hone: the default point, which is the reference, failed: out_of_bounds: wrote at byte ")

    def test_a_default_point_that_nobody_agrees_with(self):
        text = self.config.read_text()
        text = re.sub("reference: .*", "constraints: [FAULT == 0 or ITEMS == 1]", text).replace("FAULT: 0}", "FAULT: 4}")
        hint = "most points computed something else than the default point: is that the wrong one?"
        self.config.write_text(text.replace("FAULT: [0]", "FAULT: [0, 4]"))
        self.assertIn(hint, self.hone("tune", self.config, "--quiet").stdout)
        self.config.write_text(text.replace("FAULT: [0]", "FAULT: [4]"))
        self.assertNotIn(hint, self.hone("tune", self.config, "--quiet").stdout)

    def write_floats(self, name, numbers):
        (self.folder / name).write_bytes(struct.pack(f"<{len(numbers)}f", *numbers))

    def test_a_reference_of_files(self):
        """One a problem; what is right for other inputs is not known."""
        text = self.config.read_text().replace('fill: "uniform(-1, 1)"', 'file: "x-{n}.bin"').replace("n: 24576", "n: [256, 512]")
        start, end = text.index("reference:"), text.index("compare:")
        self.config.write_text(text[:start] + 'reference: {files: {y: "y-{n}.bin"}}\n' + text[end:])
        for n in (256, 512):
            self.write_floats(f"x-{n}.bin", range(n))
            self.write_floats(f"y-{n}.bin", [2.5 * i for i in range(n)])
        small, large = self.tune()
        for tuned in (small, large):
            verdict = tuned["best"]["verdict"]
            self.assertEqual((verdict["kind"], verdict["seeds"], verdict["max_error"]), ("verified", 1, 0))
        self.assertEqual((small["best"]["verdict"]["compared"], large["best"]["verdict"]["compared"]), (256, 512))
        self.assertEqual([tuned["reused"] > 0 for tuned in self.tune()], [True, True])
        shown = self.hone("tune", self.config, "-p", "n=256").stdout
        self.assertIn("  verified on one seed: what is right for other inputs is in no file\n", shown)
        judged, = json.loads(self.hone("run", self.config, "-p", "n=256", "--json").stdout)["problems"]
        self.assertEqual((judged["verified"]["seeds"], judged["speedup"]), (1, None))
        self.hone("replay", self.config, "-p", "n=512", "--max-slowdown", "50%")

        self.write_floats("y-256.bin", [2.5 * i + (i == 7) for i in range(256)])
        result = self.hone("run", self.config, "-p", "n=256", expect=3)
        self.assertIn("y[7] is 17.5; expected 18.5", result.stdout + result.stderr)
        result = self.hone("tune", self.config, "-p", "n=256", expect=3)
        self.assertIn("computed from the same inputs, which `hone inputs` writes, by a launch that does what the config's does\n", result.stdout)
        for nans, said in ((5, self.assertNotIn), (6, self.assertIn)): # of 512
            for name, factor in (("x-512.bin", 1), ("y-512.bin", 2.5)):
                self.write_floats(name, [float("nan") if i < nans else factor * i for i in range(512)])
            said("partly verified: of an output zeros, NaN or ", self.hone("tune", self.config, "-p", "n=512", "--quiet").stdout)
        (self.folder / "y-512.bin").unlink()
        result = self.hone("tune", self.config, "-p", "n=512", expect=2)
        self.assertIn("scale.yaml: argument 'y': data file ", result.stderr)
        self.assertIn("y-512.bin: ", result.stderr)

    def test_data_files(self):
        """Other contents are another problem: what was measured before does not count."""
        self.config = self.folder / "inputs.yaml"
        first, = self.tune()
        self.assertEqual((first["best"]["verdict"]["kind"], first["reused"]), ("verified", 0))
        again, = self.tune()
        self.assertEqual(again["reused"], 2)
        data = self.folder / "inputs.bin"
        data.write_bytes(bytes(range(8)))
        other, = self.tune()
        self.assertEqual((other["best"]["verdict"]["kind"], other["reused"]), ("verified", 0))
        data.write_bytes(bytes(range(9)))
        result = self.hone("tune", self.config, "--quiet", expect=2)
        self.assertIn("inputs.yaml: argument 'bytes': data file ", result.stderr)
        self.assertIn("found 9 bytes of data, expected 8 (4 elements of int16)", result.stderr)

    def test_points_that_launch_another_step(self):
        """The same program with the same grid, but other arguments: it is no duplicate, and here it is wrong."""
        text = self.config.read_text().replace("  FAULT: [0]\n", "  FAULT: [0]\n  STEP: [0, 1]\n").replace("FAULT: 0}", "FAULT: 0, STEP: 0}")
        text = text.replace("  - {name: n, ", "  - {name: other, type: float32, value: 7}\n  - {name: n, ")
        text = text.replace('launch:\n  block: BLOCK\n  grid: "ceil_div(n, BLOCK * ITEMS)"\n', "launch:\n" + "".join(
            f'  - {{block: BLOCK, grid: "ceil_div(n, BLOCK * ITEMS)", arguments: [x, y, {factor}, n], if: STEP == {step}}}\n'
            for step, factor in enumerate(("a", "other"))))
        self.config.write_text(text.replace('grid: "ceil_div(n, 256)"}', 'grid: "ceil_div(n, 256)", arguments: [x, y, a, n]}'))
        tuning = self.tune("--full", "-s", "BLOCK=128,ITEMS=1")[0]
        self.assertEqual({record["point"]["STEP"]: record["outcome"] for record in tuning["records"]}, {0: "ok", 1: "wrong_result"})

    def test_steps_that_some_points_launch(self):
        found = self.outcomes("composite.yaml")
        self.assertEqual({point for point, outcome in found.items() if outcome == "invalid_launch"},
                         {"BLOCKS=4,FINISH=none", "BLOCKS=8,FINISH=none"})
        self.assertEqual(found["BLOCKS=8,FINISH=last_block"], "ok")
        header = self.hone("export", "sum").stdout
        self.assertIn("s = hone_sum_step(HONE_SUM_CONFIG, 0, problem);\n *     sum_blocks<<<s.grid, ", header)
        self.assertNotIn("sum_partial<<<", header)
        self.assertIn("done: 1 elements of uint32_t (counter: zero before every call)", header)
        self.hone("compile", self.config, "-s", "FINISH=last_block")
        self.hone("tune", "composite.yaml", "-s", "FINISH=two_pass", "--cache", "two.db")
        self.assertIn("hone: cubin for sm_90, entry sum_blocks sum_partial\n",
                      self.hone("export", "sum", "--cache", "two.db", "--format", "cubin", "-o", "sum.cubin").stderr)

    def test_rows_and_textures(self):
        found = self.outcomes("field.yaml", "-s", "FAULT=0,PAD=0")
        self.assertEqual(set(found.values()), {"ok"})
        header = self.hone("export", "field").stdout
        self.assertIn("line: a cudaTextureObject_t over in, of cudaResourceTypeLinear, read as element", header)
        self.assertRegex(header, r"struct hone_field_sizes {\n    int64_t in_pitch[,;]")

    def test_between_rows_nothing_is_written(self):
        """But where the rows are the device's own, whose padding is nobody's."""
        fault = ("-s", "PATH=global", "-s", "PAD=0", "-s", "FAULT=0,1", "--full", "--events", self.events, "--retry-failed")
        for old, new in (("", ""), ("float32x2", "float32x2"), ("role: output", "role: inout"), ("8 * (WIDTH + 3)", "device")):
            self.spoil(self.folder / "field.yaml", old, new)
            for regime in ("cold", "stream", "graph"):
                self.outcomes("field.yaml", *fault, "--regime", regime)
                found = {(record["point"]["FAULT"], record["outcome"], record.get("message")) for record in self.read_events()}
                stray = (1, "out_of_bounds", "wrote at byte 800 of 'out', between two of its rows")
                self.assertEqual(found, {(0, "ok", None), stray if new != "device" else (1, "ok", None)})

    def test_a_padded_input_is_cut_into_chunks(self):
        found = self.outcomes("padded.yaml", "--full")
        self.assertEqual(len(found), 96)
        self.assertLessEqual(set(found.values()), {"ok", "duplicate"})
        self.assertIn("padded: x", self.hone("export", "windows_of_rows").stdout)

    def test_what_the_compiler_warns_of(self):
        """It stands beside the point, and a config can refuse it."""
        self.config = self.folder / "scale.yaml"
        self.spoil(self.folder / "scale.cu", "    int first",
                   '#if ITEMS == 4\n    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");\n#endif\n    int first')
        text = self.config.read_text()
        points = ("-s", "BLOCK=128,256", "-s", "ITEMS=4,8", "--full")
        self.config.write_text(text + "compile: {arch_specific: true}\n")
        tuned, = self.tune(*points)
        self.assertEqual({(record["point"]["ITEMS"], *record["resources"].get("warnings", [])) for record in tuned["records"]},
                         {(4, "setmaxnreg_ignored"), (8,)})
        summary = self.hone("tune", self.config, *points, "--quiet").stdout
        self.assertRegex(summary, r"  warnings\n[\s\S]*#  BLOCK  ITEMS\n")
        self.assertIn("setmaxnreg_ignored", summary)
        explained = self.hone("explain", self.config).stdout
        self.assertIn("2 with the compiler's warning setmaxnreg_ignored: setmaxnreg has no effect", explained)
        self.assertIn("give the kernel __launch_bounds__ with its threads and 1", " ".join(explained.split()))
        self.config.write_text(text + "compile: {arch_specific: true, refuse: [setmaxnreg_ignored]}\n")
        refused, = self.tune(*points)
        self.assertEqual({(record["point"]["ITEMS"], record["outcome"]) for record in refused["records"]},
                         {(4, "skipped"), (8, "ok")})
        self.assertIn("2 of them skipped, as the config refuses it", self.hone("explain", self.config).stdout)

    def test_attributes_of_a_launch(self):
        found = self.outcomes("attributes.yaml", "-s", "SHARED=1024,CARVEOUT=100")
        self.assertEqual(found["CARVEOUT=100,CLUSTER=16,COOPERATIVE=True,SHARED=1024"], "ok")
        self.assertEqual(found["CARVEOUT=100,CLUSTER=3,COOPERATIVE=True,SHARED=1024"], "invalid_launch")
        self.assertEqual(set(found.values()), {"ok", "invalid_launch"})

    @unittest.mock.patch.dict(os.environ, HONE_DOUBLE_OPTIMIZE="1")
    def test_shared_memory_of_a_block_is_static_and_dynamic(self):
        """Every view says so, also of records that were made before they kept the dynamic part."""
        self.config = self.folder / "attributes.yaml"
        points = ("-s", "SHARED=1024,65536,CARVEOUT=100,CLUSTER=1,COOPERATIVE=false")
        tuned, = self.tune(*points)
        dynamic = {record["point"]["SHARED"]: record["resources"]["dynamic_shared_bytes"] for record in tuned["records"]}
        self.assertEqual(dynamic, {1024: 1024, 65536: 65536})
        run = self.hone("run", self.config, "-s", "SHARED=65536,CARVEOUT=100").stdout
        self.assertIn(" registers, 65536 B shared, ", run)
        rows = [line.split() for line in self.hone("compile", self.config, "-s", "SHARED=65536").stdout.splitlines()]
        self.assertEqual([row[2] for row in rows if row[:1] == ["1"]], ["65536"])
        resources = json.loads(self.hone("compile", self.config, "-s", "SHARED=65536", "--json").stdout)[0]["resources"]
        self.assertEqual((resources["shared_bytes"], resources["dynamic_shared_bytes"]), (0, 65536))
        for kept in (True, False):
            if not kept:
                self.forge("UPDATE record SET json = json_remove(json, '$.resources.dynamic_shared_bytes')")
            self.assertEqual(self.sql("SELECT DISTINCT json LIKE '%dynamic_shared%' FROM record"), [(int(kept),)])
            for command in (("tune", self.config, "--quiet", *points), ("cache", "show", "attributes")):
                shown = self.hone(*command).stdout
                self.assertRegex(shown, r" 64\.0 KiB .* 65536(?m:$)")
                self.assertRegex(shown, r" 1\.0 KiB .* 1024(?m:$)")
            page = self.hone("report", "attributes").stdout
            tuning, = hone.report_document(page)["tunings"]
            used = [row["resources"] for row in tuning["rows"]]
            self.assertEqual(sorted(one["shared_bytes"] + one.get("dynamic_shared_bytes", 0) for one in used), [1024, 65536])

    def test_metric_arguments(self):
        """`hone run` evaluates metrics as `hone tune` does: from the means of what the kernel wrote."""
        self.config = self.folder / "accumulate.yaml"
        self.config.write_text(self.config.read_text() + "objective: doubled\ndirection: minimize\n")
        tuned, = self.tune()
        record = json.loads(self.hone("run", self.config, "--json").stdout)["problems"][0]["record"]
        for found in (tuned["best"], record):
            self.assertEqual((found["outcome"], found["metrics"], found["objective"]),
                             ("ok", {"doubled": 3, "mean": 1.5, "metric": 1.5}, 3))

    def test_windows_of_the_cache(self):
        found = self.outcomes("windows.yaml", "-s", "HIT=persisting,MISS=streaming", "--full")
        point = "HIT=persisting,HIT_PERCENT={},MISS=streaming,SET_ASIDE={},WINDOW_BYTES={}"
        for percent in (50, 100):
            self.assertEqual(found[point.format(percent, 65536, 16384)], "ok")
            self.assertEqual(found[point.format(percent, 1 << 30, 16384)], "invalid_launch")
        self.assertEqual(found[point.format(101, 0, 16384)], "invalid_launch")
        header = self.hone("export", "windows").stdout
        self.assertIn("attributes[launch.numAttrs++].val.accessPolicyWindow = {x, s.window_bytes,", header)

    def test_pipelines(self):
        """The parts of the best are measured alone, kept with it, and shown by whatever shows the record."""
        points = ("-s", "FAULT=0,GRANULE=256,PIECES=1,STAGES_ON=device,CHUNKS=1,8,50,STREAMS=1,2,ORDER=depth_first,"
                  "HOST_MEMORY=pageable,pinned,registered")
        self.config = self.folder / "pipeline.yaml"
        tuned, = self.tune(*points)
        outcomes = {double.name(record["point"]): record["outcome"] for record in tuned["records"]}
        self.assertEqual({outcome for point, outcome in outcomes.items() if "CHUNKS=50" in point}, {"invalid_launch"})
        self.assertIn("ok", outcomes.values())
        for record in tuned["records"]:
            if record["outcome"] == "ok":
                self.assertGreater(record["timing"]["host_us"], 0)
                self.assertEqual(record["staging"]["chunks"], record["point"]["CHUNKS"])
        parts = tuned["best"]["staging"]
        self.assertAlmostEqual(parts["kernels_us"], 210, delta=3)
        self.assertAlmostEqual(parts["sequential_us"], parts["kernels_us"] + parts["upload_us"] + parts["download_us"],
                               delta=3)
        self.assertEqual(parts["limit_us"], max(parts["kernels_us"], parts["upload_us"], parts["download_us"]))
        summary = self.hone("tune", self.config, "--quiet", *points).stdout
        self.assertRegex(summary, r"pipeline  alone: kernels tE 2\d\d\.\d us, transfers tT \d\.\d+ us up and ")
        self.assertRegex(summary, r"pipeline  measured: .* of the limit; ")
        shown = self.hone("run", self.config, "-s", "CHUNKS=8,STREAMS=2,HOST_MEMORY=registered").stdout
        self.assertRegex(shown, r"pipeline     8 chunks in 2 streams; .* by the host's clock.* registering its host memory")
        self.assertIn("estimates: tE + tT/8", shown)
        self.hone("replay", self.config, "--max-slowdown", "50%")
        self.hone("compile", self.config, "-s", "CHUNKS=8,STREAMS=2,FAULT=0")
        refused = self.hone("compile", self.config, "-s", "CHUNKS=50,STREAMS=2,FAULT=0,GRANULE=256", expect=3)
        self.assertIn("first failure: 50 chunks of an extent of 10000, which has 40 granules of 256", refused.stdout)
        header = self.hone("export", "smooth").stdout
        self.assertIn("gather, grid ceil_div(chunk_count, 128), block 128: x, sums, radius, begin, count, size", header)
        self.assertRegex(header, r"#define HONE_SMOOTH_PIPELINE_CHUNKS \d+\n")
        self.assertNotIn("hone_smooth_step", header)
        program = "#define HONE_SMOOTH_APPLY\n#include \"tuned.h\"\nint x = CHUNKS + HONE_SMOOTH_PIPELINE_STREAMS;\n"
        (self.folder / "tuned.h").write_text(header)
        subprocess.run(["cc", "-fsyntax-only", "-Wall", "-Werror", "-xc", "-"], input=program, text=True, check=True,
                       cwd=self.folder)
        refused = self.hone("export", "smooth", "--format", "cubin-header", expect=2)
        self.assertIn("the pipeline of 'smooth' spans host and device", refused.stderr)

    def test_options_and_tolerances_of_a_parameter(self):
        """One element is off by 1 where |y| is up to 2.5: too much but where a parameter widens the tolerance."""
        config = self.folder / "scale.yaml"
        self.spoil(config, "  FAULT: [0]\n", "  FAULT: [0, 4]\n  FAST: [false, true]\n"
                   "  L1: [ca, cg]\n")
        self.spoil(config, "ITEMS: 1, FAULT: 0}\n", "ITEMS: 1, FAULT: 0, FAST: false, L1: ca}\n"
                   "compile:\n  options:\n    - {if: FAST, option: --use_fast_math}\n"
                   "    - \"--maxrregcount={32 if FAST else 64}\"\n    - \"--ptxas-options=-dlcm={L1}\"\n")
        self.spoil(config, "relative: 1.0e-6", "relative: 0.5 if FAST else 1.0e-6")
        found = self.outcomes("scale.yaml", "-s", "BLOCK=256,ITEMS=4")
        for cache in ("ca", "cg"):
            self.assertEqual(found[f"BLOCK=256,FAST=False,FAULT=4,ITEMS=4,L1={cache}"], "wrong_result")
            self.assertIn(found[f"BLOCK=256,FAST=True,FAULT=4,ITEMS=4,L1={cache}"], ("ok", "slower", "duplicate"))
