# SPDX-License-Identifier: MIT
"""Every command that a page shows is run as it stands: here, in a folder like a clone, or by the test that ELSEWHERE names. NOT_RUN
lists the others, each with its reason. On recordings and the driver double; where less of the same will do, LESS says what."""

import ast
import json
import os
import re
import shutil
import subprocess
import unittest

import double
import hone
import pages

NVCC = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")

# Pages, or sections of them, whose commands other tests run.
ELSEWHERE = {
    ("README.md", "Hone"): "cli/test_quickstart.py Quickstart.test_from_a_clone_to_a_package",
    ("CONTRIBUTING.md", "Build"): "cli/test_quickstart.py Quickstart.test_from_a_clone_to_a_package",
    ("README.md", "Your own kernel"): "cli/test_readme.py Readme.test_commands_and_header",
    ("docs/tutorial.md", None): "cli/test_tutorial.py Tutorial.test_a_reader_gets_there",
    ("docs/own-kernel.md", None): "cli/test_tutorial.py Tutorial.test_a_reader_with_an_own_kernel_gets_there",
    ("docs/how-to.md", "A source that declares its values"): "cli/test_override.py Override.test_the_page",
    ("docs/how-to.md", "CI without a GPU"): "cli/test_how_to.py HowTo.test_ci_without_a_gpu",
    ("docs/how-to.md", "Share a cache"): "cli/test_how_to.py HowTo.test_share_a_cache",
    ("docs/how-to.md", "A cache for a site"): "cli/test_server.py One.test_the_page_of_sites",
    ("docs/how-to.md", "After a driver update"): "cli/test_how_to.py OnTheDouble.test_commands_run",
    ("docs/how-to.md", "Limit the time of a search"): "cli/test_how_to.py HowTo.test_limits",
    ("docs/how-to.md", "Judge kernels that a program writes"): "cli/test_run.py Loop.test_a_program_proposes_and_hone_judges",
    ("docs/how-to.md", "A program captured, its kernel replaced"): "cli/test_capture.py Captures.test_the_page",
    ("docs/how-to.md", "A program in place of a kernel"): "cli/test_programs.py Programs.test_the_page",
    ("docs/how-to.md", "A variant that is wrong"): "cli/test_how_to.py OnTheDouble.test_commands_run",
    ("docs/how-to.md", "Profile a variant"): "cli/test_how_to.py OnTheDouble.test_commands_run",
    ("docs/how-to.md", "Which GPU, and MIG"): "cli/test_how_to.py OnTheDouble.test_commands_run",
    ("docs/how-to.md", "Several GPUs, other machines"): "cli/test_how_to.py OnTheDouble.test_commands_run",
    ("docs/library.md", "A complete program"): "library/test_package.py Package.test_the_manuals_lines_work_as_printed",
    ("docs/library.md", "C++"): "library/test_package.py Package.test_the_manuals_lines_work_as_printed",
    ("docs/library.md", "Building against it"): "library/test_package.py Package.test_the_manuals_lines_of_cmake_work_as_printed",
    ("docs/library.md", "Capturing what your program does"): "library/test_library.py Programs.test_what_a_program_captures_is_tuned",
    ("examples/README.md", "c_driver_api, cuda_runtime"): "library/test_package.py Package.test_a_cmake_project_finds_the_package",
}
# Indented lines that are no commands.
NO_COMMANDS = {
    ("docs/cli.md", "The command line"): "how a command looks",
    ("docs/design.md", "The way of the data"): "a diagram",
    ("docs/design.md", "Rooms"): "a diagram",
    ("docs/measuring.md", "Counters"): "what a run prints",
    ("docs/search.md", "When it stops"): "a formula",
    ("runtime/README.md", "runtime"): "a diagram",
    ("runtime/README.md", "libhone"): "a diagram",
}
GPU, NETWORK, TESTS, FUZZER = "needs a GPU", "needs a network", "runs all tests: this one is one of them", "needs libFuzzer, and minutes"
NOT_RUN = {
    "README.md": {"scripts/test": TESTS},
    "CONTRIBUTING.md": {"scripts/test": TESTS, "scripts/test --all": TESTS},
    "bench/README.md": {
        "bench/run --recorded cache/recorded/nvidia-h200": GPU, "bench/run reduce bgemm_2048x2048x2048": GPU,
        "python3 -m venv /tmp/peers": NETWORK, "bench/search/tables --peers traces.jsonl.gz": NETWORK,
        "/tmp/peers/bin/pip install kernel_tuner==1.5.0 pyatf==0.0.13 numpy scipy matplotlib": NETWORK,
        "/tmp/peers/bin/python bench/search/peers.py --runs 25 --out traces.jsonl.gz": NETWORK,
        "bench/search/tables build/search": "cli/simulate does", "bench/throughput/wheels": NETWORK,
        "python3 -m pip install -q --no-index --no-deps --target /tmp/site .whl/*.whl": NETWORK,
        "PYTHONPATH=/tmp/site bench/throughput/run": GPU},
    "docs/hone.1": {"hone replay configs/matmul.yaml": GPU, "ncu hone run configs/matmul.yaml -s TILE_WIDTH=32,PAD=1": GPU},
    "docs/python.md": {"pip install ./python": NETWORK, "scripts/wheel": "python/package does"},
    "examples/README.md": {
        "./matmul": GPU, "build/matmul": GPU, "hone tune --family ../../configs/sgemm_blas.yaml": GPU, "build/calls 10000 1": GPU,
        "build/bgemm 4096 4096 4096": GPU, "build/bgemm 511 1023 2047": GPU,
        "hone tune ../../configs/bgemm.yaml -p TRANS_B=t -p TYPE=__nv_bfloat16 -p OUT=__nv_bfloat16 -p BETA=0.0 -p BIAS=none --budget 20s": GPU,
        "cmake -S . -B build -DHONE_EXECUTABLE=$(command -v hone)": "cli/examples does, by build()", "cmake --build build": "cli/examples does, by build()",
        "pip install ../../python": NETWORK, "hone tune ../../configs/sgemm.yaml -p M=16 -p N=4096 -p K=4096 --budget 60s --cache tuned.db": GPU,
        "python3 linear.py tuned.db": GPU},
    "tests/README.md": {
        "HONE=build/tuner/hone python3 -m unittest discover -s tests/cli": TESTS,
        "HONE=build/tuner/hone python3 tests/cli/run.py tests/browser/test_report.py Recorded.test_brushing": "browser/report does",
        "python3 tests/emulator/emulate.py build/tuner/hone configs compact": "emulator/templates does",
        "cmake --preset fuzz": FUZZER, "cmake --build build-fuzz --target hone_fuzz": FUZZER, "ctest --test-dir build-fuzz": FUZZER},
}
# What is run in the place of a part of a command.
LESS = {
    "bench/search/run --strategy all": "bench/search/run --strategy random --runs 1 --look-ahead 1 --out scores bench/search/spaces/conv-mi250x.json.gz",
    "ctest --test-dir build -R": "ctest --test-dir build -N -R",
    "compile --all --arch sm_90 configs/transpose_tma.yaml": "compile --all --arch sm_90 configs/transpose_tma.yaml -s TALL=1,WIDE=1,STAGES=2",
    "compile --all --arch sm_90 configs/matmul.yaml": "compile --all --arch sm_90 configs/matmul.yaml -p K=32 -s TILE_WIDTH=32,PAD=1",
    "hone tune configs/matmul.yaml": "hone tune configs/matmul.yaml -p K=32 --quiet --simulate cache/recorded/nvidia-h200",
    "nvidia-h200 configs/matmul.yaml": "nvidia-h200 configs/matmul.yaml -p K=32 --quiet",
    "hone tune configs/transpose_tma.yaml": "hone tune configs/transpose_tma.yaml -s TALL=1,WIDE=1,STAGES=2 --quiet --simulate recorded",
    "hone tune blur.yaml": "hone tune blur.yaml --quiet --simulate recorded",
    "--budget 5m": "--budget 60 --held-out 1",
    "hone tune --family configs/transpose.yaml": "hone tune --family configs/transpose.yaml --budget 60 --held-out 1",
}


def parts(command):
    """The commands that && joins."""
    return [command] if "\n" in command else command.split(" && ")


class Listed(unittest.TestCase):
    """Nothing is left out by mistake, and no list says what is no longer there."""
    maxDiff = None

    def sections(self):
        return {(page, heading) for page in pages.all_pages() for heading, _ in pages.commands(page)}

    def test_each_is_run_or_listed(self):
        here = {section for name in dir(Commands) if (section := getattr(getattr(Commands, name), "section", None))}
        left = []
        for page, heading in sorted(self.sections() - here - set(ELSEWHERE) - set(NO_COMMANDS)):
            if (page, None) not in ELSEWHERE:
                left += [f"{page}: {part}" for line in pages.lines(page, heading) for part in parts(line) if part not in NOT_RUN.get(page, ())]
        self.assertEqual(left, [])

    def test_lists_are_of_the_pages(self):
        sections = self.sections()
        for page, heading in [*ELSEWHERE, *NO_COMMANDS]:
            self.assertTrue(any(page == at and heading in (None, title) for at, title in sections), f"{page}: {heading}")
        for page, listed in NOT_RUN.items():
            self.assertLessEqual(set(listed), {part for _, line in pages.commands(page) for part in parts(line)}, page)
        shown = "\n".join(line for page in pages.all_pages() for _, line in pages.commands(page))
        self.assertEqual([text for text in LESS if text not in shown], [])

    def test_tests_elsewhere_are_there(self):
        for (page, heading), where in ELSEWHERE.items():
            file, name = where.split()
            text = (hone.SOURCE / "tests" / file).read_text()
            known = {f"{part.name}.{test.name}" for part in ast.parse(text).body if isinstance(part, ast.ClassDef)
                     for test in part.body if isinstance(test, ast.FunctionDef)}
            self.assertIn(name, known, f"{page}: {heading}")

    def test_presets(self):
        known = set(re.findall(r'"name": "(\w+)"', (hone.SOURCE / "CMakePresets.json").read_text()))
        used = {name for page in pages.all_pages() for _, line in pages.commands(page) for name in re.findall(r"--preset (\w+)", line)}
        self.assertLessEqual(used, known)


def of(page, heading):
    """Marks the test that prepares a section and runs its commands."""
    def mark(prepare):
        def test(self):
            self.page, self.heading = page, heading
            prepare(self)
        test.section, test.__doc__ = (page, heading), f"{page}: {heading}"
        return test
    return mark


class Commands(double.Case):
    def setUp(self):
        super().setUp()
        for name in ("bench", "cache", "cmake", "configs", "templates"):
            (self.folder / name).symlink_to(hone.SOURCE / name)
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "hone").symlink_to(hone.HONE)
        self.settings = self.environment(PATH=f"{self.folder}/bin:{os.path.dirname(NVCC or '')}:{os.environ['PATH']}")

    def follow(self, *left_out):
        """The section's commands in one shell, but for those that are not run."""
        script = []
        for line in pages.lines(self.page, self.heading):
            kept = " && ".join(part for part in parts(line) if part not in {**NOT_RUN.get(self.page, {}), **dict.fromkeys(left_out)})
            for text, less in LESS.items():
                kept = kept.replace(text, less)
            script.append(kept)
        result = subprocess.run(["bash", "-ex"], input="\n".join(script), cwd=self.folder, env=self.settings, text=True, capture_output=True,
                                timeout=120)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def block(self, fence, page=None, heading=None):
        return next(body for title, kind, body in pages.blocks(page or self.page) if (title, kind) == (heading or self.heading, fence))

    def record_space(self, config, *restrictions):
        """A recording of each problem of a config, in recorded/: of all valid points, which nobody has measured."""
        space = json.loads(self.hone("space", config, "--list", "all", "--json", *restrictions).stdout)
        (self.folder / "recorded").mkdir()
        for i, found in enumerate(space["problems"]):
            document = json.loads(self.record(name="any.json").read_text())
            document["hone"]["problem"] = found["problem"]
            rows = {str(j): self.row(point, 100 + j) for j, point in enumerate(found["points"])}
            for row in rows.values():
                row["hone"]["metrics"] = {}
            names = {parameter["name"]: parameter["values"] for parameter in space["parameters"]}
            document.update(kernel_name=space["kernel"], tune_params_keys=list(names), tune_params=names, cache=rows)
            self.write(f"recorded/{i}.json", json.dumps(document))

    def family(self, config, text):
        """The double's config, under another name, with a family of sizes that it has room for; its kernel has one, n."""
        text = text.replace("N:", "n:").replace("2 ** 28", "2 ** 20")
        self.assertIn("family:\n", text)
        self.spoil(self.config, "problem: {n: 24576}", text)
        self.config.rename(self.folder / config)

    @of("cache/README.md", "Shipped recordings")
    def test_recordings(self):
        self.follow()
        self.assertIn("hone_sgemm_choose", (self.folder / "sgemm_tuned.h").read_text())

    @of("docs/header.md", "Machine code in the header")
    def test_machine_code(self):
        self.hone("cache", "import", *(hone.SOURCE / "cache" / "recorded" / "nvidia-h200").glob("matmul-*.json.gz"))
        self.follow()
        self.assertIn("hone_matmul_load", (self.folder / "matmul_embedded.h").read_text())

    @of("docs/tensor-maps.md", "Commands")
    def test_tensor_maps(self):
        self.record_space("configs/transpose_tma.yaml", "-s", "TALL=1,WIDE=1,STAGES=2")
        self.assertIn("which parameters matter", self.follow())

    @of("docs/from-kernel-tuner.md", "A script")
    def test_a_script(self):
        self.write("blur.yaml", self.block("yaml"))
        self.write("blur.cu", 'extern "C" __global__ void blur(float *out) {}\n')
        self.record_space("blur.yaml")
        self.assertIn("blur height=4096", self.follow())

    @of("docs/families.md", "In short")
    def test_a_family(self):
        """Of the double's kernel, in the place of a transpose."""
        self.family("transpose.yaml", "family:\n  n: {range: [1, 2 ** 20]}\n")
        text = (self.folder / "transpose.yaml").read_text().replace("kernel: scale", "kernel: transpose").replace(": scale", ": ../scale")
        (self.folder / "configs").unlink()
        (self.folder / "configs").mkdir()
        self.write("configs/transpose.yaml", text.replace("entry: ../", "entry: "))
        self.follow()
        self.assertIn("hone_transpose_choose(", (self.folder / "transpose_tuned.h").read_text())

    @of("docs/how-to.md", "One kernel for all sizes")
    def test_one_kernel_for_all_sizes(self):
        self.family("scale.yaml", self.block("yaml"))
        self.follow()
        self.assertIn("hone_scale_choose(", (self.folder / "scale_tuned.h").read_text())

    @of("docs/how-to.md", "Compare with what another program computes")
    def test_another_program(self):
        """Its reference is what the page's Python computes; with that the kernel is verified."""
        python = next((path for path in ("python3", "/usr/bin/python3")
                       if subprocess.run([path, "-c", "import numpy"], capture_output=True).returncode == 0), None)
        if python is None:
            self.skipTest("there is no NumPy")
        self.follow()
        subprocess.run([python, "-c", self.block("python")], cwd=self.folder, check=True)
        reference = re.search(r"^reference: .*$", self.config.read_text(), re.M)[0]
        self.spoil(self.config, reference, self.block("yaml"))
        tuned, = self.tune("-p", "n=4096", "-s", "BLOCK=128", "-s", "ITEMS=1")
        self.assertEqual((tuned["best"]["outcome"], tuned["best"]["verdict"]["kind"]), ("ok", "verified"))

    @of("examples/README.md", "matmul, header_only, embedded_cubin")
    @unittest.skipUnless(NVCC, "there is no nvcc")
    def test_examples(self):
        shutil.copytree(hone.SOURCE / "examples", self.folder / "examples")
        self.follow()
        self.assertTrue((self.folder / "examples" / "matmul" / "matmul").exists())
        self.assertIn("hone_reduce_load", (self.folder / "examples" / "embedded_cubin" / "reduce_embedded.h").read_text())

    @of("tests/README.md", "Hostile input")
    def test_a_corpus(self):
        (self.folder / "tests" / "fuzz" / "corpus").mkdir(parents=True)
        shutil.copy(hone.SOURCE / "tests" / "fuzz" / "add", self.folder / "tests" / "fuzz")
        (self.folder / "found").mkdir()
        self.write("found/an_input", "hone: 1")
        self.assertIn("config.tar.gz: 1 inputs", self.follow())

    @of("bench/README.md", "Strategies on recorded spaces")
    def test_strategies(self):
        self.assertIn("conv-mi250x", self.follow())

    @of("CONTRIBUTING.md", "Test")
    def test_what_a_change_touches(self):
        (self.folder / "build").symlink_to(os.environ.get("HONE_BUILD", hone.SOURCE / "build"))
        self.assertRegex(self.follow(), r"Total Tests: [1-9]")

    @of("docs/hone.1", "")
    def test_man(self):
        self.follow()
        self.assertIn("HONE_MATMUL_TILE_WIDTH", (self.folder / "matmul_tuned.h").read_text())
