# SPDX-License-Identifier: MIT
"""`hone capture`: programs that know nothing of Hone run on the driver double, and what they launch is tuned."""

import json
import os
import shutil
import struct
import subprocess
import sys
import unittest
import unittest.mock
import zlib

import double
import hone
import pages

LAUNCHER = os.environ.get("HONE_LAUNCHER", str(double.hone.SOURCE / "build" / "tests" / "launcher"))
N = 5000
NUMBERS = [float(i % 1000) for i in range(N)]


def read(path):
    """What a capture says of itself, and its parts as numbers by list and name."""
    data = path.read_bytes()
    size = int.from_bytes(data[-16:-8], "little")
    head = json.loads(data[-16 - size:-16])
    parts = {(which, part["name"]): zlib.decompress(data[part["offset"]:part["offset"] + part["packed"]])
             for which in ("inputs", "expected") for part in head[which]}
    return head, {key: list(struct.unpack(f"{len(value) // 4}f", value)) for key, value in parts.items()}


def forge(path, kernel, grid, block, parameters, shared_bytes=0):
    """Writes a capture of parameters: numbers, bytes, or a buffer before and after the launch."""
    head = {"format": 1, "kernel": kernel, "positional": True, "problem": {}, "grid": grid, "block": block,
            "shared_bytes": shared_bytes, "scalars": {}, "inputs": [], "expected": []}
    data = b"HONECAP1"
    for place, parameter in enumerate(parameters):
        if isinstance(parameter, int):
            head["scalars"][f"p{place}"] = parameter
            continue
        if isinstance(parameter, bytes) and len(parameter) <= 8:  # a structure, or a number
            head["scalars"][f"p{place}"] = int.from_bytes(parameter, "little", signed=len(parameter) == 8)
        for which, value in zip(("inputs", "expected"), (parameter,) if isinstance(parameter, bytes) else parameter):
            packed = zlib.compress(value)
            head[which].append({"name": f"p{place}", "bytes": len(value), "offset": len(data), "packed": len(packed)})
            data += packed
    text = json.dumps(head).encode()
    path.write_bytes(data + text + len(text).to_bytes(8, "little") + b"HONECAP1")


def floats(*numbers):
    return struct.pack(f"{len(numbers)}f", *numbers)


HEAT_CU = """\
#define BLOCK_X 16
#define BLOCK_Y 16
__global__ void heat(const float *in, float *out, const float *mask, int width, int height, float alpha)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x;
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (x < width && y < height && (mask == nullptr || mask[x] > 0))
        out[y * width + x] = alpha * in[y * width + x];
}
"""
SUM_CU = """\
extern "C" __global__ void sum(const float *in, float *out, long long n)
{
    extern __shared__ float part[];
    part[threadIdx.x] = 0;
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        part[threadIdx.x] += in[i];
    out[blockIdx.x] = part[0];
}
"""
RISE_CU = """\
extern "C" __global__ void rise(float *values, float *totals, int n)
{
    extern __shared__ float part[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] += 1;
    totals[blockIdx.x] = 1;
}
"""
MOVE_CU = """\
namespace {
struct Box { short low, high; };
struct View { const float *first; };
enum class Mode { Wrap = 0, Clamp = 1 };
__global__ void move_particles(float2 *position, float2 wind, Box box, Mode mode, View view)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    position[i].x += wind.x + box.low + (mode == Mode::Clamp) + view.first[0];
}
}
"""


@unittest.skipIf(hone.why_no_sources(), hone.why_no_sources())
class Drafts(hone.Case):
    """`hone init --capture`: what was captured stands in the config, and nothing is left to do."""

    def draft(self, source, kernel, *launch, **settings):
        self.write("source.cu", source)
        forge(self.folder / "a.honecap", kernel, *launch, **settings)
        told = self.hone("init", "--capture", "a.honecap", "source.cu", "-o", "drafted.yaml").stdout
        self.assertEqual(told, "wrote drafted.yaml\nnext: `hone tune drafted.yaml`\n")
        self.hone("space", "drafted.yaml")
        return (self.folder / "drafted.yaml").read_text()

    def test_numbers_and_buffers(self):
        before, after = floats(*range(800)), floats(*range(1, 801))
        text = self.draft(HEAT_CU, "_Z4heatPKfPfS0_iif", [2, 3, 1], [16, 16, 1], [before, (bytes(3200), after), 0, 20, 40, 0x3f000000])
        self.assertNotIn("TODO", text)
        for line in ("problem: {width: 20, height: 40}", "defaults: {BLOCK_X: 16, BLOCK_Y: 16}",
                     "  - {name: in, type: float32, count: width * height, file: drafted-in.bin}",
                     "  - {name: out, type: float32, count: width * height, role: output}",
                     "  - {name: mask, type: uint64, value: 0}", "  - {name: alpha, type: float32, value: 0.5}",
                     '  grid: ["ceil_div(width, BLOCK_X)", "ceil_div(height, BLOCK_Y)"]',
                     "reference: {files: {out: drafted-out-expected.bin}}"):
            self.assertIn(line + "\n", text)
        self.assertEqual((self.folder / "drafted-in.bin").read_bytes(), before)
        self.assertEqual((self.folder / "drafted-out-expected.bin").read_bytes(), after)
        self.assertFalse((self.folder / "drafted-out.bin").exists())

    def test_what_the_source_does_not_tell(self):
        """Larger allocations, a block of the launch alone, more blocks than elements, dynamic shared memory."""
        text = self.draft(RISE_CU, "rise", [9, 1, 1], [96, 1, 1], [(floats(*range(512)),) * 2, (bytes(400), floats(*[1] * 9, *[0] * 91)), 500],
                          shared_bytes=384)
        for line in ("  - {name: values, type: float32, count: 512, role: inout, file: drafted-values.bin}"
                     "  # TODO: the launch changed nothing, so that nothing is checked: another one?",
                     "  - {name: totals, type: float32, count: 100, role: output}", "  BLOCK: [64, 96, 128, 256, 512, 1024]  # of the launch alone",
                     "defaults: {BLOCK: 96}",
                     '  grid: ["ceil_div(9 * 96, BLOCK)"]', "  shared_bytes: 4 * BLOCK"):
            self.assertIn(line + "\n", text)

    def test_blocks_that_go_on_by_the_grid(self):
        """As many as there were, whatever the block, which has a number of shared memory for each thread."""
        text = self.draft(SUM_CU, "sum", [8, 1, 1], [256, 1, 1], [floats(*range(4096)), (bytes(32), floats(*range(8))), 4096], shared_bytes=1024)
        for line in ("  block: [BLOCK]", "  grid: [8]", "  shared_bytes: 4 * BLOCK"):
            self.assertIn(line + "\n", text)

    def test_the_one_that_was_launched(self):
        """Of several kernels of a name, and of a template's types, those that the driver names."""
        source = ("__global__ void add(float *x, int n) { x[threadIdx.x] += n; }\n__global__ void add(double *x, int n) { x[threadIdx.x] += n; }\n"
                  "namespace own { template <int N, typename A> __global__ void more(A *x, int n) { x[threadIdx.x] += n + N; }\n"
                  "template <typename A, typename B, int N> __global__ void sum(const A *x, B *y) { y[threadIdx.x] += x[threadIdx.x] + N; } }\n"
                  "void f(float *x, double *y) { own::sum<float, double, 4><<<1, 64>>>(x, y); own::more<4, float><<<1, 64>>>(x, 4); }\n")
        numbers = struct.pack("64d", *range(64)), struct.pack("64d", *range(1, 65))
        text = self.draft(source, "_Z3addPdi", [1, 1, 1], [64, 1, 1], [numbers, 1])
        self.assertIn('entry: "(void (*)(double *, int))&add"\n', text)
        self.assertIn("{name: x, type: float64, count: ", text)
        for kernel, entry, types in (("_ZN3own3sumIidLi4EEEvPKT_PT0_", "own::sum<int, double, TUNE_N>", ("int32", "float64")),
                                     ("_ZN3own3sumIjfLi4EEEvPKT_PT0_", "own::sum<unsigned, float, TUNE_N>", ("uint32", "float32")),
                                     ("_ZN3own3sumI6__halfdLi4EEEvPKT_PT0_", "own::sum<float, double, TUNE_N>", ("float32", "float64"))):
            (self.folder / "drafted.yaml").unlink()
            text = self.draft(source, kernel, [1, 1, 1], [64, 1, 1], [floats(*range(64)), numbers])
            self.assertIn(f'entry: "{entry}"', text)
            for name, type_name in zip("xy", types):
                self.assertIn(f"{{name: {name}, type: {type_name}, count: ", text)
        (self.folder / "drafted.yaml").unlink()
        self.assertIn('entry: "own::more<TUNE_N, float>"\n', self.draft(source, "_ZN3own4moreILi4EfEEvPT0_i", [1, 1, 1], [64, 1, 1], [numbers, 1]))

    def test_a_part_that_is_left_as_it_was(self):
        """What the kernel leaves alone has to be there, where it is not most of the buffer."""
        text = self.draft(HEAT_CU, "heat", [2, 3, 1], [16, 16, 1], [bytes(3200), (bytes(3200), bytes(80) + floats(*[1] * 780)), 0, 20, 40, 0])
        self.assertIn("count: width * height, role: inout, file: drafted-out.bin}\n", text)
        self.assertIn("  bytes: sizeof(float32) * (width * height) + sizeof(float32) * (width * height)\n", text)

    def test_small_structures_and_enumerations(self):
        """What a parameter of at most eight bytes is, the source tells; enumerators of a class are no numbers."""
        text = self.draft(MOVE_CU, "_ZN33_GLOBAL__N__839b2a6f_5_p6_cu_main14move_particlesEP6float26float2NS_3BoxENS_4ModeENS_4ViewE", [1, 1, 1], [64, 1, 1],
                          [(floats(*range(128)), floats(*range(1, 129))), floats(0.5, -1), bytes([3, 0, 0, 0]), 1, (floats(1, 2, 3),) * 2])
        for line in ("  - {name: wind_data, type: float32, count: 2, file: drafted-wind_data.bin}", "  - {name: mode, type: int32, value: mode}",
                     "problem: {mode: 1}", "  - {name: box_data, type: int16, count: 2, file: drafted-box_data.bin}"):
            self.assertIn(line + "\n", text)
        self.assertIn("{name: view_data, type: uint8, count: 8}  # TODO: which contents", text)
        self.assertNotIn("Clamp", text)
        self.assertEqual((self.folder / "drafted-wind_data.bin").read_bytes(), floats(0.5, -1))
        self.assertEqual((self.folder / "drafted-box_data.bin").read_bytes(), bytes([3, 0, 0, 0]))

    def test_what_is_refused(self):
        self.draft(HEAT_CU, "heat", [2, 3, 1], [16, 16, 1], [bytes(3200), (bytes(3200),) * 2, 0, 20, 40, 0])
        kept = (self.folder / "drafted-in.bin").read_bytes()
        forge(self.folder / "b.honecap", "heat", [1, 1, 1], [16, 16, 1], [floats(1, 2, 3), (bytes(4),) * 2, 0, 1])
        init = ("init", "--capture", "b.honecap", "source.cu", "-o")
        self.assertIn("drafted.yaml is there already", self.hone(*init, "drafted.yaml", expect=2).stderr)
        self.assertEqual((self.folder / "drafted-in.bin").read_bytes(), kept)
        self.assertEqual(self.hone(*init, "b.yaml", expect=2).stderr, "hone: 'b.honecap' has no parameter p4, which is 'height' in the source\n")
        self.assertFalse((self.folder / "b.yaml").exists())
        forge(self.folder / "b.honecap", "heat", [1, 1, 1], [16, 16, 1], [floats(1, 2, 3), 1 << 40, 0, 1, 1, 0])
        self.assertEqual(self.hone(*init, "b.yaml", expect=2).stderr,
                         "hone: 'b.honecap' has no memory of the device for p1, which is 'out' in the source\n")
        forge(self.folder / "b.honecap", "_Z5otheri", [1, 1, 1], [1, 1, 1], [1])
        self.assertIn("--capture: source.cu has no kernel '_Z5otheri'; there are: heat", self.hone(*init, "b.yaml", expect=2).stderr)
        self.assertIn("expected the path", self.hone("init", "--capture", "b.honecap", expect=2).stderr)
        self.assertIn("'c.honecap' cannot be read: No such", self.hone("init", "--capture", "c.honecap", "source.cu", expect=1).stderr)
        self.misused("--capture is for CUDA sources; a tuning problem names its kernel", "init", "rows.json", "--capture", "b.honecap")


class Captures(double.Case):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "launch.honecap"
        self.hone("tune", self.config, "-s", "BLOCK=128,ITEMS=1", "--quiet")
        self.hone("export", "scale", "--format", "cubin", "-o", "scale.cubin")

    def capture(self, *options, program=LAUNCHER, how="array", expect=0, **settings):
        return self.hone("capture", *options, "--", program, "scale.cubin", how, expect=expect, **settings)

    def test_any_way_to_launch(self):
        for program, how in ((LAUNCHER, "array"), (LAUNCHER, "packed"), (f"{LAUNCHER}_runtime", "array"),
                             (f"{LAUNCHER}_runtime", "packed"), (f"{LAUNCHER}_runtime", "thread")):
            with self.subTest(program=program, how=how):
                result = self.capture("--kernel", "scale", "--launch", "2", program=program, how=how)
                self.assertEqual(result.stdout, "the last is 4995\n")
                self.assertEqual(result.stderr, "hone: p0 points 256 bytes into its memory, which are not captured\n"
                                 f"hone: launch 2 of scale is in {self.file}\n")
                head, parts = read(self.file)
                self.assertEqual((head["kernel"], head["grid"], head["block"], head["shared_bytes"]),
                                 ("scale", [40, 1, 1], [128, 1, 1], 0))
                self.assertEqual(head["scalars"], {"p2": struct.unpack("I", struct.pack("f", 4))[0], "p3": N})
                self.assertEqual(parts["inputs", "p0"], NUMBERS)
                self.assertEqual(parts["inputs", "p2"], [4])  # it may be a structure
                self.assertEqual(parts["expected", "p0"], NUMBERS)
                self.assertEqual(parts["inputs", "p1"], [3 * number for number in NUMBERS])
                self.assertEqual(parts["expected", "p1"], [4 * number for number in NUMBERS])
                self.file.unlink()

    def test_pointers_in_a_structure(self):
        self.hone("tune", "params.yaml", "-s", "BLOCK=128,BIAS=1", "--quiet")
        self.hone("export", "params", "--format", "cubin", "-o", "scale.cubin")
        result = self.capture(how="structure")
        self.assertEqual(result.stderr, 3 * "hone: p0 has a pointer, whose memory is not captured\n" + f"hone: launch 1 of apply is in {self.file}\n")
        self.assertEqual(len(read(self.file)[1]["inputs", "p0"]), 14)

    def test_clusters(self):
        self.assertIn("hone: its clusters are not captured: the config's launch needs them\n", self.capture(how="clusters").stderr)

    def test_a_launch_is_tuned(self):
        self.capture()
        tuning, = json.loads(self.hone("tune", self.config, "--capture", self.file, "--json", "--quiet").stdout)
        self.assertEqual(tuning["problem"], {"n": N})
        self.assertEqual(tuning["best"]["verdict"]["kind"], "verified")
        # What was captured is the reference: a kernel that computes something else is wrong.
        self.spoil(self.config, "FAULT: [0]", "FAULT: [4]")
        self.spoil(self.config, "FAULT: 0}", "FAULT: 4}")
        tuning, = json.loads(self.hone("tune", self.config, "--capture", self.file, "--json", "--quiet", expect=3).stdout)
        self.assertEqual(list(tuning["outcomes"]), ["wrong_result"])

    def test_what_is_tuned_with_a_launch_is_current(self):
        """Its data is not the config's, and yet nothing has changed since: what comes next says so, until something has."""
        self.capture()
        told = self.hone("tune", "scale.yaml", "--capture", "launch.honecap").stderr
        export, explain = [line.split("hone ")[1].split() for line in told.split("next: ")[1].splitlines()]
        self.assertEqual((export, explain), (["export", "scale", "-p", f"n={N}", "-o", "scale_tuned.h"],
                                             ["explain", "scale.yaml", "-p", f"n={N}"]))

        def stale():
            exported = self.hone(*export)
            [listed] = [row for row in json.loads(self.hone("cache", "list", "--json").stdout)["tunings"] if row["problem"] == {"n": N}]
            self.hone("report", "scale", "-p", f"n={N}", "-o", "a.html")
            [reported] = hone.report_document((self.folder / "a.html").read_text())["tunings"]
            explained = self.hone(*explain).stdout
            return [" stale " in exported.stderr, "STALE" in (self.folder / "scale_tuned.h").read_text(),
                    "stale" in self.hone(*export, "--config", "scale.yaml").stderr, listed["stale"], reported["stale"],
                    "stale:" in explained]

        self.assertEqual(stale(), [False] * 6)
        # Also where the capture is no longer there, but not where it measures something else.
        self.file.rename(self.folder / "kept.honecap")
        self.assertEqual(stale(), [False] * 6)
        self.spoil(self.config, "{name: a, type: float32, value: ", "{name: a, type: float32, value: 1 + ")
        self.assertEqual(stale(), [False] * 6)
        self.spoil(self.config, "count: n, role: output", "count: n + 0, role: output")
        self.assertEqual(stale(), [True] * 6)

    def test_a_replay_takes_the_capture(self):
        self.capture()
        self.hone("tune", self.config, "--capture", self.file, "--quiet")
        replay = ("replay", "scale.yaml", "-p", f"n={N}", "--max-slowdown", "100%")
        self.assertNotIn("stale", self.hone("replay", "scale.yaml", "--capture", self.file, "--max-slowdown", "100%").stdout)
        self.assertIn("another version: plan (--capture or --reference gave its data)\n", self.hone(*replay).stdout)
        # Another driver makes a tuning stale that is raced again, but not on other data than it was tuned for.
        for table in "session", "image":
            self.forge(f"UPDATE {table} SET version = json_set(version, '$.driver', '1.0')")
        self.assertIn("looked at 2 tunings: 1 raced again, 0 up to date already, 1 of another device, of other arguments or data",
                      self.hone("replay", "--all", "scale.yaml").stdout)
        for other in "--all", "--family":
            self.fails(2, f"hone: --capture is of one tuning: leave {other} out", "replay", other, "scale.yaml", "--capture", "a.honecap")

    def test_a_kernel_that_is_launched_less_often(self):
        """Others are named where it is not launched at all: they are no help where its launches are too few."""
        sys.path.insert(0, str(hone.SOURCE / "bench" / "launch"))
        import captured as bench
        for name, helps in (('"other"', True), ('asked++ ? "other" : "scale"', False)):
            with unittest.mock.patch.object(bench, "STUB", "static int asked;\n" + bench.STUB.replace('"other"', name)):
                program = bench.build(self.folder)
            told = subprocess.run([hone.HONE, "capture", "--kernel", "scale", "--launch", "2", "--", program], cwd=self.folder, text=True,
                                  capture_output=True, env=self.environment(LD_LIBRARY_PATH=str(self.folder)))
            self.assertIn("made no launch 2 of scale", told.stderr)
            self.assertEqual("hone: it launched other\n" in told.stderr, helps)

    def test_others_are_looked_at_once(self):
        """A kernel that is not wanted costs a comparison, however many there are: the driver tells the name of each once."""
        sys.path.insert(0, str(hone.SOURCE / "bench" / "launch"))
        import captured as bench
        asked = 'asked++; *name = "other"'
        stub = ("#include <stdio.h>\nstatic int asked;\n__attribute__((destructor)) static void tell(void) { printf(\"%%d\", asked); }\n"
                + bench.STUB.replace('*name = "other"', asked))
        with unittest.mock.patch.object(bench, "STUB", stub):
            program = bench.build(self.folder)
        for kernels in 1, 100, 1000:
            told = subprocess.run([hone.HONE, "capture", "--kernel", "scale", "--", program, str(kernels)], cwd=self.folder, text=True,
                                  capture_output=True, env=self.environment(LD_LIBRARY_PATH=str(self.folder)))
            self.assertIn("nothing was captured", told.stderr)
            self.assertEqual(told.stdout.splitlines()[1], str(kernels))

    @unittest.skipIf(hone.why_no_sources(), hone.why_no_sources())
    def test_the_page(self):
        """A program captured and its kernel replaced: from its launch to a header, and no line is written."""
        capture, init, tune, export = [line.split()[1:] for line in pages.lines("docs/how-to.md", "A program captured, its kernel replaced")]
        self.capture(*capture[1:])
        self.hone(*init)
        tuning, = json.loads(self.hone(*tune, "--json", "--quiet").stdout)
        self.assertEqual(tuning["problem"], {"n": N})
        self.assertEqual(tuning["best"]["verdict"]["kind"], "verified")
        self.hone(*export)
        header = (self.folder / "scale_tuned.h").read_text()
        for word in ("HONE_SCALE_APPLY", "define BLOCK ", "define ITEMS ", "hone_scale_step"):
            self.assertIn(word, header)
        # A kernel that makes something else of what the program had is wrong.
        expected = self.folder / "launch-y-expected.bin"
        expected.write_bytes(floats(*NUMBERS))
        tuning, = json.loads(self.hone("tune", "launch.yaml", "--json", "--quiet", expect=3).stdout)
        self.assertEqual(set(tuning["outcomes"]), {"wrong_result", "invalid_launch"})

    def test_what_is_not_captured(self):
        for options, words in ((("--kernel", "other"), "made no launch 1 of other"), (("--launch", "4"), "made no launch 4 of a kernel; those in graphs are not captured")):
            result = self.capture(*options, expect=3)
            self.assertEqual(result.stdout, "the last is 4995\n")
            self.assertIn(words, result.stderr)
            self.assertEqual("hone: it launched scale\n" in result.stderr, "other" in options)
            self.assertFalse(self.file.exists())
        self.assertIn("cannot be started: No such file", self.hone("capture", "--", "./nothing", expect=1).stderr)
        # The variable that names it has blanks and colons between its libraries.
        (self.folder / "a b").mkdir()
        own = shutil.copy(hone.HONE, self.folder / "a b" / "hone")
        told = subprocess.run([own, "capture", "--", LAUNCHER], cwd=self.folder, text=True, capture_output=True, env=self.environment())
        self.assertEqual((told.returncode, told.stdout), (1, ""))
        self.assertIn("libhone_interposer.so' cannot be loaded: no blank or colon may be in its path; install Hone again", told.stderr)
        blocked = self.capture("-o", "nowhere/launch.honecap", expect=1)
        self.assertEqual(blocked.stdout, "")  # the program, which may take hours, was not started
        self.assertIn("/nowhere/launch.honecap' cannot be written: No such file or directory\n", blocked.stderr)
        full = subprocess.run(["prlimit", "--fsize=100", hone.HONE, "capture", "-o", self.file, "--", "sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh", LAUNCHER, "scale.cubin", "array"],
                              cwd=self.folder, text=True, capture_output=True, env=self.environment())
        self.assertIn("scale was launched, but not captured: ", full.stderr)
        self.assertEqual(list(self.folder.glob("*.honecap*")), [])
        # What is there is replaced by a capture alone, and no pipe or device at all.
        self.file.write_text("of another day")
        self.capture("--launch", "4", expect=3)
        self.hone("capture", "--", "./nothing", expect=1)
        self.assertEqual(self.file.read_text(), "of another day")
        os.mkfifo(self.folder / "pipe")
        self.assertIn("/pipe' cannot be written: it is no regular file\n", self.capture("-o", "pipe", expect=1).stderr)
        self.assertTrue((self.folder / "pipe").is_fifo())
        self.capture()
        self.assertEqual(read(self.file)[0]["kernel"], "scale")

    def test_a_capture_that_does_not_fit(self):
        self.capture()
        self.write("longer.yaml", self.config.read_text().replace("{name: x, type: float32, count: n", "{name: x, type: float32, count: 2 * n"))
        self.assertIn("argument 'x': data file",
                      self.hone("tune", "longer.yaml", "--capture", "launch.honecap", expect=2).stderr)
        self.assertIn("is of kernel 'scale', and composite.yaml is of 'sum'",
                      self.hone("tune", "composite.yaml", "--capture", self.file, expect=2).stderr)
        forge(self.folder / "params.honecap", "apply", [40, 1, 1], [128, 1, 1], [bytes(56)])
        self.assertIn("has 0 of the 1 results that the config compares: it was captured with another one, or they lie behind pointers in "
                      "structures\n", self.hone("tune", "params.yaml", "--capture", "params.honecap", expect=2).stderr)
        self.assertIn("-p: 'launch.honecap' was captured with ",
                      self.hone("tune", self.config, "-p", f"n={N + 1}", "--capture", "launch.honecap", expect=2).stderr)
        self.assertIn("name the config", self.hone("tune", "--capture", self.file, expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
