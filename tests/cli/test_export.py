# SPDX-License-Identifier: MIT
"""hone export, from a cache that was filled by a simulated search."""

import json
import shutil
import subprocess
import unittest

import hone

A100 = {"name": "NVIDIA A100-SXM4-80GB", "capability": 80, "sm_count": 108, "mig_profile": ""}


class Export(hone.Case):
    def setUp(self):
        super().setUp()
        self.tune_simulated()

    def compile(self, *sources):
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", *sources, "-o",
                        "program"], cwd=self.folder, check=True)
        subprocess.run(["./program"], cwd=self.folder, check=True)

    def test_an_entry_of_a_kernel_by_its_address(self):
        config = self.copy_config()
        self.spoil(config, "entry: saxpy", 'entry: "&saxpy"')
        header = self.hone("export", "saxpy", "--config", config, "--defaults").stdout
        self.assertIn("\n *     saxpy<<<s.grid, s.block, s.shared_bytes>>>(a, x, y, n);\n", header)

    def test_header_to_file(self):
        result = self.hone("export", "saxpy", "-o", "saxpy_tuned.h")
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr, """\
wrote saxpy_tuned.h
  for NVIDIA H200, SIZE=1048576: 10 us (SIMULATED: recorded, not measured here)
use it in a CUDA source, before the template's code:
    #define HONE_SAXPY_APPLY
    #include "saxpy_tuned.h"
""")
        self.write("main.c", """\
#define HONE_SAXPY_APPLY
#include "saxpy_tuned.h"
#define STEP(size) hone_saxpy_step(HONE_SAXPY_CONFIG, 0, (struct hone_saxpy_problem){.SIZE = size})
int main(void) { return BLOCK != 128 || ITEMS != 2 || LOAD != LOAD_ldg || STEP(1000).grid.x != 4; }
""")
        self.compile("main.c")

    def test_what_it_is_made_from_is_not_overwritten(self):
        config = self.copy_config()
        (self.folder / "link.h").symlink_to("saxpy.cu")
        table = self.write("table.in", "@{BLOCK}\n")
        self.fails(2, f"hone: -o: '{self.cache}' is a cache, and is not overwritten; `hone cache merge` brings caches together",
                   "export", "saxpy", "-o", self.cache)
        for output, options in ((config, ()), ("saxpy.cu", ("--format", "source")), ("link.h", ()), (table, ("--template", table))):
            before = (self.folder / output).read_bytes()
            self.fails(2, f"hone: -o: '{output}' is read by this command, and is not overwritten; name another file",
                       "export", "saxpy", "--config", config, "-o", output, *options)
            self.assertEqual((self.folder / output).read_bytes(), before)

    def test_header_under_nvrtc(self):
        """NVRTC has no standard headers: there the header is its constants."""
        config = self.copy_config()
        self.hone("export", "saxpy", "-o", "saxpy_tuned.h")
        self.spoil(self.folder / "saxpy.cu", "#ifndef BLOCK",
                   '#include "saxpy_tuned.h"\nstatic_assert(HONE_SAXPY_LOAD == HONE_SAXPY_LOAD_ldg, "");\n#ifndef BLOCK')
        self.assertRegex(self.hone("compile", "--arch", "sm_90", config).stdout, r"\bok\b")

    def test_header_to_stdout(self):
        self.hone("export", "saxpy", "--quiet", "-o", "a.h")
        result = self.hone("export", "saxpy")
        self.assertEqual(result.stdout, (self.folder / "a.h").read_text())
        self.assertEqual(result.stderr, "")

    def test_quiet(self):
        self.assertEqual(self.hone("export", "saxpy", "--quiet", "-o", "a.h").stderr, "")

    def test_prefix(self):
        text = self.hone("export", "saxpy", "--prefix", "my_axpy").stdout
        self.assertIn("#define MY_AXPY_BLOCK 128\n", text)
        self.assertIn("my_axpy_step(", text)
        self.assertNotIn("SAXPY_", text.replace("MY_AXPY", ""))

    def test_the_comment_names_no_tuned_value(self):
        """What it shows of a launch is copied into programs, which outlive the values."""
        self.cache.unlink()
        config = self.copy_config()
        self.spoil(config, "entry: saxpy", 'entry: "demo::saxpy<ITEMS, BLOCK, float>"')
        self.hone("tune", config, "--simulate", self.record(), "--quiet")
        self.assertIn(" *     demo::saxpy<HONE_SAXPY_ITEMS, HONE_SAXPY_BLOCK, float><<<s.grid, s.block, s.shared_bytes>>>(",
                      self.hone("export", "saxpy").stdout)

    def test_a_problem_of_which_an_argument_is_no_integer(self):
        config = self.copy_config()
        self.spoil(config, "int32, value: SIZE", "int64, value: SIZE / 4")
        self.spoil(config, "count: SIZE, fill", "count: SIZE / 8, fill")
        self.cache.unlink()
        self.hone("tune", config, "--simulate", self.record(), "--quiet")
        self.hone("export", "saxpy", "-o", "saxpy.h")
        self.write("main.c", '''#include "saxpy.h"
int main(void)
{
    struct hone_saxpy_problem whole = {4096}, half = {4098}, odd = {4100};
    return hone_saxpy_usable(0, 90, whole) != 1 || hone_saxpy_usable(0, 90, half) != 0 || hone_saxpy_usable(0, 90, odd) != 0;
}
''')
        self.compile("main.c")

    def test_a_step_that_begins_early_is_no_first_one(self):
        config = self.copy_config()
        launch = config.read_text().split("launch:")[1].split("\n\n")[0]
        self.spoil(config, f"launch:{launch}", "launch:\n  - {if: SIZE > 100000, block: BLOCK, grid: 1}\n"
                   "  - {block: BLOCK, grid: 1, programmatic: true}")
        self.cache.unlink()
        self.hone("tune", config, "--simulate", self.record(), "--quiet")
        self.hone("export", "saxpy", "-o", "saxpy.h")
        self.write("main.c", '''#include "saxpy.h"
int main(void)
{
    struct hone_saxpy_problem two = {200000}, one = {4096};
    return hone_saxpy_usable(0, 90, two) != 1 || hone_saxpy_usable(0, 90, one) != 0 || hone_saxpy_usable(0, 80, two) != 0;
}
''')
        self.compile("main.c")

    def test_a_table_of_the_user(self):
        """Rows of C and of JSON, of two problems."""
        self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", self.record(problem={"SIZE": 1 << 22}, name="b.json"),
                  "-p", "SIZE=4194304", "--quiet")
        self.write("table.in", "struct row { long size; int block, items; const char *load; };\n"
                   "static const struct row rows[] = { // {} @ {\n"
                   "    {@{SIZE}, @{BLOCK}, @{ITEMS}, \"@{LOAD}\"}, // @{device.name}, @{time_us.median} us, @{simulated}\n};\n")
        self.assertIn("1 more result", self.hone("export", "saxpy", "--template", "table.in", "-o", "table.h").stderr)
        text = (self.folder / "table.h").read_text()
        self.assertEqual(text.count("128, 2, \"ldg\"}, // NVIDIA H200, 10.0 us, true\n"), 2, text)
        self.write("main.c", '#include "table.h"\nint main(void) { return sizeof rows / sizeof *rows != 2 || '
                   "rows[0].size + rows[1].size != 5242880; }\n")
        self.compile("main.c")
        self.write("table.in", '{"rows": [\n  {"size": @{problem.SIZE}, "point": "@{LOAD}"}@{,}\n]}')
        self.assertEqual({row["size"] for row in json.loads(self.hone("export", "saxpy", "--template", "table.in").stdout)["rows"]},
                         {1 << 20, 1 << 22})
        unknown = ("expected a parameter, a problem value, or a value of `hone export saxpy --format json`, as device.name or "
                   "time_us.median")
        for text, said in (("\n\n@{SIZE} @{BLOCKS}", f"table.in:3: found '@{{BLOCKS}}', {unknown}"),
                           ("@{device}", f"table.in:1: found '@{{device}}', {unknown}"), ("@{SIZE\n", "table.in:1: '@{' without '}'"),
                           ("{SIZE}\n", "'table.in' has no line with '@{NAME}', which stands once for each result")):
            self.write("table.in", text)
            self.fails(2, "hone: " + said, "export", "saxpy", "--template", "table.in", "-o", "left.h")
        self.assertFalse((self.folder / "left.h").exists())
        self.fails(2, "hone: --template is a format: leave --format out", "export", "saxpy", "--template", "table.in", "--format", "json")

    def test_macros_change_no_line_of_the_source(self):
        self.fails(2, "hone: 'saxpy' changes no line of its source: its parameters are macros, which the header defines; 'override' in its "
                   "config names those that the source declares", "export", "saxpy", "--format", "patch")

    def test_only_headers_have_macros(self):
        self.hone("tune", hone.DATA / "saxpy.yaml", "--simulate", self.record(problem={"SIZE": 1 << 22}, name="b.json"),
                  "-p", "SIZE=4194304", "--quiet")
        for form in ("json", "source"):
            said = self.hone("export", "saxpy", "--format", form, "-o", "saxpy.out").stderr
            self.assertIn("1 more result", said)
            self.assertNotIn("HONE_SAXPY", said)
            self.assertNotIn("hone_saxpy", said)
        self.assertIn("hone_saxpy_select", self.hone("export", "saxpy", "-o", "a.h").stderr)

    def test_json(self):
        result = self.hone("export", "saxpy", "--format", "json")
        document = json.loads(result.stdout)
        self.assertEqual(document["kernel"], "saxpy")
        best = document["configurations"][0]
        self.assertEqual(best["parameters"], {"BLOCK": 128, "ITEMS": 2, "LOAD": "ldg"})
        self.assertEqual(best["problem"], {"SIZE": 1048576})
        self.assertEqual(best["time_us"]["median"], 10)
        self.assertTrue(best["simulated"])
        self.assertEqual(self.hone("export", "saxpy", "--json").stdout, result.stdout)

    def test_source(self):
        text = self.hone("export", "saxpy", "--format", "source").stdout
        self.assertIn("#define BLOCK 128\n", text)
        self.assertRegex(text.splitlines()[0], r"^// saxpy as tuned by .* us \(simulated\), .* \(read from recording.json\)$")
        self.assertIn((hone.DATA / "saxpy.cu").read_text(), text)

    def test_no_cubin_of_a_simulation(self):
        self.fails(3, "hone: the cache keeps no image of BLOCK=128,ITEMS=2,LOAD=ldg", "export", "saxpy", "--format",
                   "cubin", "-o", "a.cubin")
        self.assertFalse((self.folder / "a.cubin").exists())

    def test_several_devices(self):
        self.tune_simulated(device=A100, time_us=lambda BLOCK, ITEMS, LOAD: 20 + BLOCK / 64)
        self.fails(2, "hone: 'saxpy' was tuned on 2 devices: NVIDIA A100-SXM4-80GB, NVIDIA H200; choose one with "
                   "--device-name", "export", "saxpy")
        text = self.hone("export", "saxpy", "--device-name", "A100").stdout
        self.assertIn("#define HONE_SAXPY_CONFIG_COUNT 2\n", text)
        self.assertIn('"NVIDIA A100-SXM4-80GB", 80, 108, 21.0)', text)
        first, second = json.loads(self.hone("export", "saxpy", "--device-name", "A100", "--json").stdout)["configurations"]
        self.assertEqual((first["device"]["name"], first["verification"], second["device"]["name"]),
                         ("NVIDIA A100-SXM4-80GB", "verified", "NVIDIA H200"))
        self.write("saxpy_tuned.h", text)
        self.write("main.c", """\
#include "saxpy_tuned.h"
int main(void)
{
    struct hone_saxpy_problem problem = {5};
    return HONE_SAXPY_BLOCK != 64 || hone_saxpy_select("NVIDIA H200", 90, 132, problem) != 1 ||
           hone_saxpy_select(NULL, 80, 0, problem);
}
""")
        self.compile("main.c")

    def test_a_device_whose_name_is_a_part_of_others(self):
        """Wherever it stands among them."""
        devices = [{**hone.H200, "name": name} for name in ("NVIDIA H200 NVL", "NVIDIA H200 Laptop", "NVIDIA H200")]
        files = [word for i, device in enumerate(devices) for word in ("--recorded", self.record(device, name=f"{i}.json"))]
        found = json.loads(self.hone("export", "saxpy", *files, "--device-name", "NVIDIA H200", "--json").stdout)
        self.assertEqual(found["configurations"][0]["device"]["name"], "NVIDIA H200")
        self.fails(3, "hone: 'saxpy' was not tuned on 'H200', or that names several; cached are: NVIDIA H200 NVL, NVIDIA H200 Laptop, NVIDIA H200",
                   "export", "saxpy", *files, "--device-name", "H200")

    def test_recordings(self):
        """Recorded results come without plan and template: the config has them."""
        (self.folder / "recorded").mkdir()
        self.record(problem={"SIZE": 1 << 20}, name="recorded/a.json")
        self.record(problem={"SIZE": 1 << 22}, name="recorded/b.json")
        self.cache.unlink()
        config = hone.DATA / "saxpy.yaml"
        self.fails(3, "hone: there is no recording of 'daxpy' in 'recorded', …", "export", "daxpy", "--recorded", "recorded",
                   "--recorded", "recorded/b.json")
        text = self.hone("export", "saxpy", "--recorded", "recorded", "--config", config).stdout
        self.assertIn("#define HONE_SAXPY_RESULT_COUNT 2\n", text)
        self.assertIn("#define HONE_SAXPY_CONFIG_COUNT 1\n", text)
        self.write("saxpy_tuned.h", text)
        self.write("main.c", """\
#include "saxpy_tuned.h"
int main(void)
{
    struct hone_saxpy_problem problem = {1 << 22};
    return hone_saxpy_lookup("NVIDIA H200", 90, 132, 1, problem).result != 1;
}
""")
        self.compile("main.c")
        result = self.hone("export", "saxpy", "--recorded", "recorded", expect=3)
        self.assertIn("name its config with --config", result.stderr)
        self.hone("export", "saxpy", "--recorded", "recorded", "--json")
        self.fails(2, "hone: a recording has no machine code; export from a cache without --recorded, or --format=cubin-header, which "
                   "compiles it", "export", "saxpy", "--recorded", "recorded", "--config", config, "--format=cubin")
        other = self.record(name="other.json")
        self.spoil(other, '"kernel_name": "saxpy"', '"kernel_name": "daxpy"')
        self.fails(2, f"hone: --config: '{config}' is of kernel 'saxpy', expected 'daxpy'", "export", "daxpy",
                   "--config", config, "--recorded", other)

    def test_recordings_of_two_templates(self):
        """One plan serves all: that of the newest, and the others are said to be stale."""
        for size, time in ((1 << 20, 1795168700), (1 << 22, 1795168800)):
            recording = self.record(problem={"SIZE": size}, name=f"{size}.json")
            recording.write_text(recording.read_text().replace('"template_hash": ""', f'"template_hash": "{size:032x}"')
                                 .replace('"time": 1795168800', f'"time": {time}'))
        result = self.hone("export", "saxpy", "--recorded", f"{1 << 20}.json", "--recorded", f"{1 << 22}.json", "--json")
        self.assertIn("warning: stale are 1 of 2 results of 'saxpy'", result.stderr)
        first, second = json.loads(result.stdout)["configurations"]
        self.assertEqual((first["problem"], first["stale"], second["stale"]), ({"SIZE": 1 << 22}, False, True))

    def test_recordings_of_other_parameters(self):
        recording = self.record(problem={"SIZE": 1 << 20})
        whole = recording.read_text()
        config = self.copy_config()
        self.spoil(config, "ITEMS: [1", "MORE: [0, 1]\n  ITEMS: [1")
        for found in ("SIZE=1048576: BLOCK=", "BLOCK="):
            result = self.hone("export", "saxpy", "--recorded", recording, "--config", config, expect=3)
            self.assertIn("nothing of 'saxpy' was tuned with the parameters and problem values of its config; found " + found, result.stderr)
            recording.write_text(whole.replace('{"SIZE": 1048576}', "{}"))

    def test_stale_results_stand_behind_others(self):
        """What was tuned with the grid of now is launched by it, whatever grid a lesser problem was tuned with before."""
        config, self.cache = self.copy_config(), self.folder / "own.db"
        for size, old, new in (1000, "", ""), (2000, 'grid: "', 'grid: "1 + '):
            self.spoil(config, old, new)
            self.hone("tune", config, "-p", f"SIZE={size}", "--simulate", self.record(problem={"SIZE": size}), "--quiet")
        config.unlink()
        self.assertIn("stale are 1 of 2 results", self.hone("export", "saxpy", "-o", "saxpy_tuned.h").stderr)
        self.write("main.c", """\
#include "saxpy_tuned.h"
int main(void) { return hone_saxpy_step(0, 0, (struct hone_saxpy_problem)HONE_SAXPY_TUNED_PROBLEM).grid.x != 1 + 8; }
""")
        self.compile("main.c")

    def test_nothing_of_that_name(self):
        self.fails(3, f"hone: cache '{self.cache}' has no valid result of 'daxpy'; it has: saxpy", "export", "daxpy")
        self.fails(3, "hone: 'saxpy' was not tuned for that problem; cached are: SIZE=1048576 (cold)", "export", "saxpy",
                   "-p", "SIZE=5")
        self.fails(3, "hone: 'saxpy' was not tuned for that problem in that regime; cached are: SIZE=1048576 (cold)", "export", "saxpy",
                   "--regime", "warm")
        self.fails(3, "hone: 'saxpy' was not tuned on 'V100', or that names several; cached are: NVIDIA H200", "export",
                   "saxpy", "--device-name", "V100")

    def test_unwritable_output(self):
        result = self.hone("export", "saxpy", "-o", self.folder / "nowhere" / "a.h", expect=1)
        self.assertIn(f"{self.folder}/nowhere/a.h", result.stderr)
        self.assertIn("No such file or directory", result.stderr)

    def test_names_that_are_keywords(self):
        self.write("k.cu", "__global__ void k(float *x, int n) { x[blockIdx.x * BLOCK + threadIdx.x] = n; }\n")
        for name in "default", "class", "int", "xor_eq", "co_await", "defaults":
            config = self.write("k.yaml", f"hone: 1\nkernel: k\ntemplate: k.cu\nentry: k\nproblem: {{{name}: 1024}}\nparameters: {{BLOCK: [64]}}\n"
                                f"arguments: [{{name: x, type: float32, count: {name}, role: output}}, {{name: n, type: int32, value: {name}}}]\n"
                                f'launch: {{block: BLOCK, grid: "{name} // 64"}}\n')
            result = self.hone("export", "k", "--config", config, "--defaults", expect=0 if name == "defaults" else 2)
            self.assertEqual(f"hone: problem value '{name}' is a keyword of C or C++, so that a header cannot have it; give it another name\n"
                             in result.stderr, name != "defaults")

    def test_defaults_where_nothing_is_tuned(self):
        self.cache.unlink()
        defaults = ["export", "saxpy", "--config", hone.DATA / "saxpy.yaml", "--defaults"]
        result = self.hone(*defaults, "-o", "saxpy_tuned.h", "--quiet")
        self.assertEqual(result.stderr, f"hone: warning: saxpy at the defaults of '{hone.DATA}/saxpy.yaml': there is no cache: "
                         "nothing was tuned yet\n")
        text = (self.folder / "saxpy_tuned.h").read_text()
        self.assertIn(" *   NOT TUNED: nothing was measured. ", text)
        self.assertNotIn("device     ", text)
        self.write("main.c", """\
#define HONE_SAXPY_APPLY
#include "saxpy_tuned.h"
int main(void)
{
    struct hone_saxpy_problem problem = {1000};
    int config = hone_saxpy_select("NVIDIA H200", 90, 132, problem);
    return BLOCK != 128 || ITEMS != 1 || LOAD != LOAD_plain || config != 0 || hone_saxpy_step(config, 0, problem).grid.x != 8;
}
""")
        self.compile("main.c")
        self.assertTrue(self.hone(*defaults, "--format", "source").stdout.startswith("// saxpy, NOT TUNED: "))
        self.assertIn("name it with --arch", self.hone(*defaults, "--format", "cubin-header", expect=2).stderr)

    def test_nothing_is_compiled_for_another_architecture(self):
        """But for cubin-header: what is kept is of one, and the text of all."""
        self.tune_simulated()
        for form in ("header", "cubin", "source", "json"):
            self.misused(f"--arch: {form} has what was tuned; expected --format cubin-header, which compiles", "export", "saxpy",
                         "--format", form, "--arch", "sm_80")

    def test_defaults_of_a_family(self):
        """The point that has to serve all of its sizes."""
        config = self.copy_config()
        self.write(config.name, config.read_text() + "family: {SIZE: {range: [1, 1000000]}, defaults: {BLOCK: 256}}\n")
        self.cache.unlink()
        text = self.hone("export", "saxpy", "--config", config, "--defaults").stdout
        self.assertIn("#define HONE_SAXPY_BLOCK 256\n", text)
        self.assertIn("#define HONE_SAXPY_ITEMS 1\n", text)

    def test_defaults_give_way_to_results(self):
        text = self.hone("export", "saxpy", "--config", hone.DATA / "saxpy.yaml", "--defaults").stdout
        self.assertNotIn("NOT TUNED", text)
        self.assertEqual(text, self.hone("export", "saxpy", "--config", hone.DATA / "saxpy.yaml").stdout)
        config = self.copy_config()
        self.spoil(config, "ITEMS: [1", "MORE: [0, 1]\n  ITEMS: [1")
        result = self.hone("export", "saxpy", "--config", config, "--defaults")
        self.assertIn("nothing of 'saxpy' was tuned with the parameters", result.stderr)
        self.assertIn("#define HONE_SAXPY_MORE 0\n", result.stdout)

    def test_defaults_need_a_config(self):
        self.fails(2, "hone: --defaults: name the config that has them with --config", "export", "saxpy", "--defaults")
        self.misused("--defaults: json has results only; expected header, source, patch or cubin-header", "export", "saxpy",
                     "--defaults", "--config", "saxpy.yaml", "--format", "json")

    @unittest.skipUnless(shutil.which("cmake"), "there is no cmake")
    def test_a_fresh_checkout_builds(self):
        """And is built again once something was tuned."""
        self.cache.unlink()
        self.write("main.c", '#include <stdio.h>\n#include "saxpy_tuned.h"\nint main(void) { printf("%d", HONE_SAXPY_ITEMS); }\n')
        self.write("CMakeLists.txt", f"""\
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
include({hone.SOURCE}/cmake/HoneTunedHeader.cmake)
add_executable(program main.c)
hone_tuned_header(program KERNEL saxpy CACHE {self.cache} CONFIG {hone.DATA}/saxpy.yaml)
add_executable(recorded main.c)
hone_tuned_header(recorded KERNEL saxpy CONFIG {hone.DATA}/saxpy.yaml RECORDED recorded OUTPUT recorded/saxpy_tuned.h)
""")

        def build(*commands):
            text = ""
            for command in commands:
                done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                text += done.stdout + done.stderr
            return text

        said = build(["cmake", "-S", ".", "-B", "b", f"-DHONE_EXECUTABLE={hone.HONE}"], ["cmake", "--build", "b"])
        self.assertEqual(said.count("hone: warning: saxpy at the defaults of "), 2)
        self.assertEqual(build(["b/program"], ["b/recorded"]), "11")
        self.tune_simulated()
        said = build(["cmake", "--build", "b"])
        self.assertNotIn("warning", said)
        self.assertEqual(build(["b/program"]), "2")

    @unittest.skipUnless(shutil.which("cmake"), "there is no cmake")
    def test_cmake_function(self):
        self.write("main.c", '#include "saxpy_tuned.h"\nint main(void) { return HONE_SAXPY_BLOCK != 128; }\n')
        self.write("CMakeLists.txt", f"""\
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
include({hone.SOURCE}/cmake/HoneTunedHeader.cmake)
add_executable(program main.c)
hone_tuned_header(program KERNEL saxpy CACHE {self.cache} DEVICE_NAME H200 PROBLEM SIZE=1048576)
add_executable(recorded main.c)
hone_tuned_header(recorded KERNEL saxpy CONFIG {hone.DATA}/saxpy.yaml RECORDED recording.json)
add_library(tuned INTERFACE)
hone_tuned_header(tuned KERNEL saxpy CACHE {self.cache})
file(WRITE sub/CMakeLists.txt "add_executable(other ../main.c)\ntarget_link_libraries(other tuned)\n")
add_subdirectory(sub)
""")
        for command in (["cmake", "-S", ".", "-B", "b", f"-DHONE_EXECUTABLE={hone.HONE}"], ["cmake", "--build", "b"],
                        ["b/program"], ["b/recorded"], ["b/sub/other"]):
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
