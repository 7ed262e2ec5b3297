# SPDX-License-Identifier: MIT
"""libhone from a program's side: what `hone tune` left in a cache, launched by programs that know hone.h only. On the
driver double, or with HONE_GPU=1 on a GPU."""

import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import double  # noqa: E402
import locales  # noqa: E402

# test_library; the other programs lie beside it.
PROGRAM = pathlib.Path(os.environ.get("HONE_LIBRARY_PROGRAM", "bin/test_library_gpu"))
TUNED = "tuned.db"
SHIPPED = double.hone.SOURCE / "cache" / "recorded" / "nvidia-h200"
# Configs of which one point is enough.
ONE_POINT = {
    "attributes": "CLUSTER=2 COOPERATIVE=true SHARED=65536 CARVEOUT=100",
    "clusters": "CLUSTER=4 SPARED=1 COOPERATIVE=true SHARED=1024",
    "windows": "WINDOW_BYTES=4096 SET_ASIDE=0 HIT_PERCENT=50 HIT=persisting MISS=streaming",
    "inputs": "BLOCK=128",
    "params": "BLOCK=128 BIAS=2",
    "tensor": "BOX=32 SWIZZLE=128 PROMOTION=0 FAULT=0",
    "pipeline": "CHUNKS=1 STREAMS=1 ORDER=depth_first HOST_MEMORY=pinned STAGES_ON=device PIECES=1 GRANULE=1 FAULT=0",
}
MAGIC = b"HONECAP1"


def with_larger_output(capture):
    """A capture whose first output is larger than the config's."""
    size = int.from_bytes(capture[-16:-8], "little")
    streams, head = capture[:-16 - size], json.loads(capture[-16 - size:-16])
    item = head["expected"][0]
    item["bytes"] *= 2
    packed = zlib.compress(bytes(item["bytes"]))
    item["offset"], item["packed"] = len(streams), len(packed)
    text = json.dumps(head).encode()
    return streams + packed + text + len(text).to_bytes(8, "little") + MAGIC


SANITIZED = os.environ.get("HONE_SANITIZE") == "1"


class Case(double.Case):
    """Has a cache with tunings of all configs that the programs launch."""

    def tune_all(self):
        """Tunes once a run, in a folder that stays; composite plans once for each way, under names of their own."""
        if Case.tuned is None:
            Case.tuned = tempfile.TemporaryDirectory(prefix="hone-library-")
            own, self.folder, self.cache = (self.folder, self.cache), pathlib.Path(Case.tuned.name), TUNED
            shutil.copytree(double.DATA, self.folder, dirs_exist_ok=True)
            for finish in ("two_pass", "last_block"):
                config = self.write(f"sum_{finish}.yaml", (self.folder / "composite.yaml").read_text()
                                    .replace("kernel: sum", f"kernel: sum_{finish}"))
                self.hone("tune", config, "-s", f"FINISH={finish}", "--quiet")
            once = self.write("sum_once.yaml", (self.folder / "composite.yaml").read_text()
                              .replace("kernel: sum", "kernel: sum_once").replace("zero: inside", "zero: once"))
            self.hone("tune", once, "-s", "FINISH=last_block,BLOCKS=4", "--quiet")
            way = "if: FINISH == two_pass{}, arguments: [x, partial, sum, partial, n], block: 32, grid: BLOCKS}}"
            long = way.format(" and n < 5000") + "\n  - {entry: sum_blocks, " + way.format(" and n >= 5000")
            text = (self.folder / "composite.yaml").read_text()
            self.assertIn(way.format(""), text)
            ways = self.write("sum_ways.yaml", text.replace("kernel: sum", "kernel: sum_ways").replace(way.format(""), long))
            self.hone("tune", ways, "-s", "FINISH=two_pass,BLOCKS=4", "--quiet")
            wide = (self.folder / "attributes.yaml").read_text()
            for old, new in (("kernel: attributes", "kernel: wide"), ("sm_count // 16 * 16", "16"), ("cluster: CLUSTER", "cluster: 1 if n < 5000 else 16"),
                             ("shared_bytes: SHARED", "shared_bytes: 65536 if n < 5000 else 1024"),
                             (wide[wide.index("symbols:"):wide.index("launch:")], "")):
                wide = wide.replace(old, new)
            self.hone("tune", self.write("wide.yaml", wide), "-s", "CLUSTER=1,COOPERATIVE=false,SHARED=1024,CARVEOUT=-1", "--quiet")
            accumulate = self.write("accumulate.yaml", (self.folder / "accumulate.yaml").read_text()
                                    .replace(", 1073741824", ""))
            self.hone("tune", accumulate, "--quiet")
            adds = self.write("adds.yaml", accumulate.read_text().replace("kernel: accumulate", "kernel: adds")
                              .replace("role: metric", "role: scratch").split("metrics:")[0])
            self.hone("tune", adds, "--quiet")
            self.hone("tune", "symbols.yaml", "-s", "MISSING=0", "--quiet")
            self.hone("tune", "scale.yaml", "--quiet")
            self.hone("tune", self.halves(), "-s", "BLOCK=256", "-s", "ITEMS=4", "--quiet")
            self.hone("tune", self.bomb(), "-s", "BLOCK=256", "-s", "ITEMS=4", "--quiet")
            for name, point in ONE_POINT.items():
                self.hone("tune", f"{name}.yaml", "--quiet", *(word for value in point.split() for word in ("-s", value)))
            Case.tuned_cache = (self.folder / TUNED).read_bytes()
            self.folder, self.cache = own
        if not self.cache.exists():
            self.cache.write_bytes(Case.tuned_cache)

    tuned = None
    tuned_cache = None

    def halves(self):
        """A config with a real parameter and decimal constants, whose template does not compile with another text of it; by nvcc
        where there is one."""
        text = (self.folder / "scale.yaml").read_text()
        for old, new in (("kernel: scale", "kernel: halves"), ("template: scale.cu", "template: halves.cu"),
                         ("  FAULT: [0]", "  FACTOR: [0.5]\n  FAULT: [0]"), ("FAULT: 0}", "FAULT: 0, FACTOR: 0.5}"),
                         ("metrics: {", "constraints: [FACTOR >= 0.25]\nmetrics: {half: FACTOR * 1.5, ")):
            self.assertIn(old, text)
            text = text.replace(old, new, 1)
        if shutil.which("nvcc"):
            text = text.replace("template: halves.cu", "template: halves.cu\ncompile: {compiler: nvcc}")
        self.write("halves.cu", (self.folder / "scale.cu").read_text() + "__device__ const float factor[] = {FACTOR, 1};\n"
                   "static_assert(sizeof factor == 2 * sizeof(float));\n")
        return self.write("halves.yaml", text)

    def bomb(self):
        """A config whose template ends the compiler for every other DEEP than that it is tuned for; with a default point of its own for
        one size."""
        text = (self.folder / "scale.yaml").read_text()
        for old, new in (("kernel: scale", "kernel: bomb"), ("template: scale.cu", "template: bomb.cu"),
                         ("problem: {n: 24576}", "problem: {n: 24576, DEEP: 0}\nfreeze: [DEEP]"),
                         ("defaults: {", "defaults:\n- {if: n == 777, BLOCK: 64}\n- {")):
            self.assertIn(old, text)
            text = text.replace(old, new, 1)
        kernel = (self.folder / "scale.cu").read_text()
        self.write("bomb.cu", kernel + "#if DEEP\nint deep = " + "(" * 200000 + "1" + ")" * 200000 + ";\n#endif\n")
        return self.write("bomb.yaml", text)

    def run_program(self, program, *arguments, before=(), **changes):
        self.tune_all()
        settings = self.environment(HONE_TEST_CACHE=str(self.cache), HONE_COMMAND=double.hone.HONE, **changes)
        return subprocess.run([*before, str(program.absolute()), *arguments], cwd=self.folder, env=settings, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=300)

    def check(self, program, *arguments, before=(), **changes):
        result = self.run_program(program, *arguments, before=before, **changes)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result


class Programs(Case):
    def test_what_the_library_does(self):
        self.tune_all()
        recordings = self.export_recordings()
        text = b"".join(gzip.decompress(path.read_bytes()) for path in recordings.iterdir()).decode()
        self.assertNotIn(str(Case.tuned.name), text)
        # A kernel that declares one parameter more for another problem than the one that was tuned.
        self.spoil(self.folder / "scale.cu", "float a, int n)\n", "float a, int n\n#if MORE\n, int more\n#endif\n)\n")
        self.spoil(self.config, "{n: 24576}", "{n: 24576, MORE: 0}\nfreeze: [MORE]")
        self.spoil(self.config, "kernel: scale", "kernel: growing")
        self.hone("tune", self.config, "-s", "BLOCK=128", "-s", "ITEMS=1", "--quiet")
        # A symbol that is smaller for another problem.
        self.spoil(self.folder / "symbols.cu", "__constant__ int scale;", "#if SMALL\n__constant__ short scale;\n#else\n__constant__ int scale;\n#endif")
        self.spoil(self.folder / "symbols.yaml", "{n: 5000}", "{n: 5000, SMALL: 0}\nfreeze: [SMALL]")
        self.spoil(self.folder / "symbols.yaml", "kernel: look_up", "kernel: narrow")
        self.hone("tune", "symbols.yaml", "-s", "MISSING=0", "-s", "MEMORY=global", "--quiet")
        self.tune_raced()
        self.hone("tune", "inputs.yaml", "-s", "BLOCK=128", "--cache", "other.db", "--quiet")
        self.check(PROGRAM, HONE_TEST_RECORDINGS=str(recordings), HONE_TEST_SHIPPED=str(SHIPPED),
                   HONE_TEST_OTHER=str(self.folder / "other.db"), HONE_TEST_GROWING="1")

    def tune_raced(self):
        """One point for each of three sizes."""
        raced = self.write("raced.yaml", (double.DATA / "scale.yaml").read_text().replace("kernel: scale", "kernel: raced")
                           .replace("scale.cu", "raced.cu"))
        shutil.copy(double.DATA / "scale.cu", self.folder / "raced.cu")
        for n, block in ((4000, 64), (6000, 256), (24576, 512)):
            self.hone("tune", raced, "-p", f"n={n}", "-s", f"BLOCK={block}", "-s", "ITEMS=4", "--quiet")

    def tune_frozen(self):
        """A point for all sizes, whose program is faster where the size is a constant of it."""
        config = (double.DATA / "scale.yaml").read_text()
        for old, new in (("kernel: scale", "kernel: frozen"), ("scale.cu", "frozen.cu"), ("{n: 24576}", "{N: 24576}"), ("count: n", "count: N"),
                         ("value: n}", "value: N}"), ("ceil_div(n,", "ceil_div(N,"), ("bytes: 8 * n", "bytes: 8 * N"),
                         ("defaults: {", "defaults: {FROZEN: 0, "),
                         ("parameters:", "freeze: {values: [N], if: FROZEN}\nparameters:\n  FROZEN: [0, 1]")):
            config = config.replace(old, new)
        source = (double.DATA / "scale.cu").read_text().replace(
            'extern "C" __device__ const int', '#if FROZEN\nextern "C" __device__ const int hone_double[] = {256, 4, 0};\n#else\n'
            'extern "C" __device__ const int').replace("FAULT};", "FAULT};\n#endif", 1)
        self.write("frozen.cu", source)
        self.hone("tune", self.write("frozen.yaml", config), *"-s FROZEN=0 -s BLOCK=128 -s ITEMS=1 --quiet".split())

    def export_recordings(self):
        recordings = self.folder / "recordings"
        for kernel in ("scale", "halves"):
            self.hone("cache", "export", kernel, f"{recordings}/")
        return recordings

    @unittest.skipIf(SANITIZED, "test_what_the_library_does runs the same without a locale")
    def test_the_locale_of_a_program_changes_nothing(self):
        self.tune_all()
        self.tune_raced()
        recordings = self.export_recordings()
        for settings in locales.make(self.folder):
            captured = self.folder / settings["LC_ALL"]
            self.check(PROGRAM, HONE_TEST_RECORDINGS=str(recordings), HONE_TEST_SHIPPED=str(SHIPPED),
                       HONE_TEST_DECIMAL_POINT=",", **settings)
            self.check(PROGRAM, "captures_*", HONE_CAPTURE=str(captured), HONE_TEST_CAPTURE="1", **settings)
            self.hone("tune", "--capture", captured / "scale-0.honecap", "--cache", "captured.db", "--quiet")

    def test_a_template_that_has_changed_since(self):
        changed = self.folder / "changed.db"
        self.hone("tune", self.config, "-s", "BLOCK=128", "-s", "ITEMS=1", "--quiet", "--cache", changed)
        self.spoil(self.folder / "scale.cu", "\n", "\n\n")
        self.check(PROGRAM, "a_changed_template_is_stale", HONE_TEST_CHANGED=str(changed))

    def test_what_a_program_captures_is_tuned(self):
        self.tune_all()
        folder = self.folder / "captured"
        folder.mkdir()
        (folder / "tensor-0.honecap").symlink_to("nowhere")  # a name that is taken, and has no contents yet
        self.check(PROGRAM, "captures_*", HONE_CAPTURE=str(folder), HONE_TEST_CAPTURE="1")
        self.assertEqual(sorted(path.name for path in folder.iterdir()),
                         ["accumulate-0.honecap", "look_up-0.honecap", "scale-0.honecap", "sum_last_block-1.honecap",
                          "sum_once-2.honecap", "sum_two_pass-0.honecap", "tensor-0.honecap", "tensor-1.honecap"])
        # 5000 numbers from 0 to 999, which pack well.
        self.assertLess((folder / "scale-0.honecap").stat().st_size, 20000)
        for name, problem in (("scale-0", "n=5000"), ("sum_two_pass-0", "n=4096"), ("accumulate-0", "n=1000"),
                              ("look_up-0", "n=5000"), ("tensor-1", "ROWS=64")):
            # Kernels that differ in nothing but their names share a plan, and so the config that it names.
            config = [pathlib.Path(Case.tuned.name) / "sum_two_pass.yaml"] if name == "sum_two_pass-0" else []
            result = self.hone("tune", *config, "--capture", folder / f"{name}.honecap", "--json", "--quiet")
            tuning, = json.loads(result.stdout)
            self.assertEqual(tuning["best"]["outcome"], "ok", name)
            self.assertEqual(tuning["best"]["verdict"]["kind"], "verified")
            self.assertIn(problem, str(tuning["problem"]).replace("': ", "=").replace("'", ""), name)
        self.assertEqual(list(self.folder.glob("hone-capture-*")), [])
        # The program has what was tuned on its data, for the scalar that it gave too.
        self.check(PROGRAM, "captured_*", HONE_TEST_CAPTURE="1")

    def test_a_wrong_capture_is_refused(self):
        self.tune_all()
        folder = self.folder / "captured"
        self.check(PROGRAM, "captures_*", HONE_CAPTURE=str(folder), HONE_TEST_CAPTURE="1")
        whole = (folder / "scale-0.honecap").read_bytes()
        self.write("empty.honecap", "")
        self.assertIn("no capture of libhone", self.hone("tune", "--capture", "empty.honecap", expect=1).stderr)
        (self.folder / "short.honecap").write_bytes(whole[:-20])
        self.assertIn("no capture of libhone", self.hone("tune", "--capture", "short.honecap", expect=1).stderr)
        spoiled = bytearray(whole)
        spoiled[40] ^= 255
        (self.folder / "spoiled.honecap").write_bytes(spoiled)
        self.assertIn("is damaged", self.hone("tune", "--capture", "spoiled.honecap", expect=1).stderr)
        (self.folder / "larger.honecap").write_bytes(with_larger_output(whole))
        larger = self.hone("tune", "--capture", "larger.honecap", expect=2)
        self.assertIn("found 40000 bytes of data, expected 20000", larger.stderr)
        self.assertIn("is of kernel 'scale'", self.hone("tune", "symbols.yaml", "--capture", folder / "scale-0.honecap",
                                                      expect=2).stderr)
        missing = self.hone("tune", "--capture", "nowhere.honecap", expect=1).stderr
        self.assertIn("'nowhere.honecap' cannot be read", missing)
        blocked = self.write("file", "")
        result = self.run_program(PROGRAM, "captures_*", HONE_CAPTURE=str(blocked), HONE_TEST_CAPTURE="1")
        self.assertIn("HONE_CAPTURE_FAILED: scale was launched, but not captured", result.stdout + result.stderr)

    def test_what_captures_do_not_hold(self):
        self.tune_all()
        result = self.run_program(PROGRAM, "structures_with_fields_are_the_callers", HONE_CAPTURE=str(self.folder / "captured"))
        self.assertIn("params was launched, but not captured: argument 'p' has fields, and captures do not hold the buffers that they "
                      "point to", result.stdout + result.stderr)
        self.assertEqual(list((self.folder / "captured").iterdir()), [])

    @unittest.skipIf(double.ON_GPU, "once is enough")
    def test_an_import_keeps_the_plan(self):
        self.tune_all()
        self.hone("cache", "export", "scale", "scale.json")
        self.cache = self.folder / "imported.db"
        self.hone("cache", "import", "scale.json")
        self.hone("export", "scale", "--format", "source", "-o", "scale_again.cu")

    @unittest.skipIf(double.ON_GPU or SANITIZED, "counts what only the double does not do")
    def test_the_way_of_a_launch(self):
        self.check(PROGRAM.parent / "test_launch_path")

    @unittest.skipIf(double.ON_GPU, "the programs are not in the bundle")
    def test_cpp(self):
        for name in ("test_cpp", "test_cpp_results"):
            if (PROGRAM.parent / name).exists():
                self.check(PROGRAM.parent / name)

    @unittest.skipUnless(double.ON_GPU and os.environ.get("HONE_RUNTIME_EXAMPLE"), "needs a GPU, and nvcc when it was built")
    def test_beside_the_runtime_api(self):
        example = pathlib.Path(os.environ["HONE_RUNTIME_EXAMPLE"]).absolute()
        for n in ("24576", "5000"):
            result = self.run_program(example, str(self.cache), n)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn(f"0 of {n} elements are wrong", result.stdout)

    @unittest.skipIf(double.ON_GPU, "only the double fails to order")
    def test_every_call_of_the_driver_may_fail(self):
        self.check(PROGRAM.parent / "test_failures", HONE_DOUBLE_STRICT="1")

    @unittest.skipIf(double.ON_GPU, "the programs are not in the bundle")
    def test_what_a_rule_of_a_family_does(self):
        self.check(PROGRAM.parent / "test_families")
        if (PROGRAM.parent / "test_families_tsan").exists():
            self.check(PROGRAM.parent / "test_families_tsan", "*threads*", TSAN_OPTIONS="halt_on_error=1")

    @unittest.skipIf(double.ON_GPU, "the programs are not in the bundle")
    def test_points_that_are_raced(self):
        self.tune_all()
        for point in ("BLOCK=32,ITEMS=1", "BLOCK=128,ITEMS=2"):  # with machine code that is kept, as the best point has
            self.hone("tune", self.config, *(word for value in point.split(",") for word in ("-s", value)), "--quiet")
        self.tune_frozen()
        tuned = self.cache.read_bytes()
        self.check(PROGRAM.parent / "test_race", HONE_DOUBLE_STRICT="1")
        self.assertNotIn("n=5002", self.hone("cache", "list").stdout)
        self.hone("cache", "merge", "raced.db")
        self.assertIn("n=5002", self.hone("cache", "list").stdout)
        self.assertIn("is whole", self.hone("cache", "check").stdout)
        if (PROGRAM.parent / "test_race_tsan").exists():
            self.cache.write_bytes(tuned)
            self.check(PROGRAM.parent / "test_race_tsan", "*threads*", TSAN_OPTIONS="halt_on_error=1")

    @unittest.skipIf(double.ON_GPU, "the programs are not in the bundle")
    def test_threads(self):
        for name in ("test_threads", "test_threads_tsan"):
            if (PROGRAM.parent / name).exists():
                self.check(PROGRAM.parent / name, TSAN_OPTIONS="halt_on_error=1")
