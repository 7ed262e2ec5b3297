# SPDX-License-Identifier: MIT
"""hone init: what it writes is a config as it stands."""

import json
import re
import shutil

import hone

TEMPLATES = hone.SOURCE / "templates"
FOREIGN = hone.TEST_DATA / "foreign"
OWN = hone.TEST_DATA / "init"
# They compile without anything but what they define themselves.
COMPILED = ("copy", "stencil_1d", "transpose", "reduce", "heat_2d")

why_not = hone.why_no_sources


class Init(hone.Case):
    def init_all(self, path):
        """One config for each kernel of a source."""
        result = self.hone("init", path, "--entry", "no_such_kernel", "-o", self.folder / "never.yaml", expect=2)
        names = re.search(r"there are: (.*)$", result.stderr.strip()).group(1).split(", ")
        for name in names:
            config = self.folder / f"{path.stem}-{name.replace(':', '_')}.yaml"
            self.hone("init", path, "--entry", name, "-o", config, "--quiet")
            yield name, config
        self.assertFalse((self.folder / "never.yaml").exists())

    def test_every_kernel_of_the_templates(self):
        written = 0
        own = [path for path in sorted(TEMPLATES.glob("*.cu")) if "__global__" in path.read_text()]  # others include theirs
        for path in own:
            with self.subTest(path.name):
                for name, config in self.init_all(path):
                    self.hone("space", config, "--count")
                    written += 1
        self.assertGreaterEqual(written, 20)

    def test_tensor_maps_are_over_buffers(self):
        config = self.folder / "transpose_tma.yaml"
        self.hone("init", TEMPLATES / "transpose_tma.cu", "-o", config, "--quiet")
        text = config.read_text()
        self.assertIn("{name: in_map, tensor_map: in_map_data, dims: 65536, box: 32}  # TODO: dims, strides in bytes", text)
        self.assertIn("\n  arguments: [in_map, out_map, ROWS, COLUMNS]\n", text)
        compiled = self.hone("compile", config, "--arch", "sm_90", "--json")
        self.assertIn('"ok"', compiled.stdout)

    def test_compiles_as_it_stands(self):
        for name in COMPILED:
            with self.subTest(name):
                config = self.folder / f"{name}.yaml"
                self.hone("init", TEMPLATES / f"{name}.cu", "--entry", name, "-o", config, "--quiet")
                compiled = self.hone("compile", config, "--arch", "sm_90", "--json")
                self.assertIn('"ok"', compiled.stdout)
                # What is passed by value has its fields.
                self.assertEqual('fields: {"value[0]": 1, "value[1]": 1, ' in config.read_text(), name == "stencil_1d")

    def test_kernels_of_others(self):
        """What people write, none of it for a tuner. What only its author can say is asked for at its place."""
        unknown = {"transform": "pixels::curve::C, PER_THREAD>\"  # TODO: are these the types and values to instantiate it with?"}
        sources = sorted([*OWN.glob("*.cu"), *FOREIGN.glob("*.cu")])
        for path in sources:
            with self.subTest(path.name):
                config = self.folder / f"{path.parent.name}-{path.stem}.yaml"
                choice = ["--entry", "reduce"] if path == FOREIGN / "reduction.cu" else []
                self.hone("init", path, "-o", config, "--quiet", *choice)
                self.hone("space", config, "--count")
                text = config.read_text()
                if path.stem in unknown:
                    self.assertIn(unknown[path.stem], text)
                elif "compiler: nvcc" not in text or shutil.which("nvcc"):
                    self.hone("compile", config, "--arch", "sm_90")
        self.assertGreaterEqual(len(sources), 19)

    def test_parameters_of_kernels_of_others(self):
        """All that a source leaves open, and nothing else."""
        for name, expected in (("reduction", ["kThreads"]), ("sparse", ["BLOCK"]), ("gather", ["ITEMSPERTHREAD", "CHECKED", "BLOCK"]),
                               ("softmax", ["BLOCK_SIZE"]), ("scan_cub", ["TUNE_BLOCK_THREADS", "TUNE_ITEMS_PER_THREAD"]),
                               ("transpose", ["TILE_DIM", "BLOCK_ROWS"]), ("particles", ["BLOCK"]), ("count_bytes", ["SHARED", "BINS", "BLOCK"]),
                               ("blur_variants", ["use_shmem", "radius", "block_size_x", "tile_size_x"])):
            with self.subTest(name):
                text = self.hone("init", OWN / f"{name}.cu", "-o", "-").stdout
                found = re.findall(r"^  (\w+): \[", text.split("\nparameters:\n")[1].split("\ndefaults:")[0], re.M)
                self.assertEqual(found, expected)

    def test_first_config_of_a_new_kernel(self):
        source = self.write("blur.cu", """\
#ifndef BLOCK_X
#define BLOCK_X 32
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8
#endif
namespace image
{
__global__ void __launch_bounds__(BLOCK_X * BLOCK_Y) blur(const float *in, float *out, int width, int height, float gain)
{
    int x = blockIdx.x * BLOCK_X + threadIdx.x, y = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (x > 0 && x < width - 1 && y < height)
        out[y * width + x] = gain * (in[y * width + x - 1] + in[y * width + x + 1]); // "{"
}
}
""")
        result = self.hone("init", source)
        config = self.folder / "blur.yaml"
        self.assertEqual(result.stdout, f"wrote {config}\nnext: look at its lines marked TODO, then `hone space {config}`\n")
        text = config.read_text()
        self.assertIn("template: blur.cu\n", text)
        self.assertIn('entry: "&image::blur"\n', text)
        self.assertIn("  BLOCK_X: [8, 16, 32, 64, 128]\n", text)
        self.assertIn("{name: gain, type: float32, value: 1}", text)
        self.assertIn('grid: ["ceil_div(width, BLOCK_X)", "ceil_div(height, BLOCK_Y)"]', text)
        self.assertEqual(self.hone("space", "--count", config).stdout.strip(), "22")
        compiled = self.hone("compile", "--all", config, "--arch", "sm_90", "--json")
        self.assertEqual(compiled.stdout.count('"ok"'), 22)

    def test_template_is_found_from_elsewhere(self):
        (self.folder / "kernels" / "a").mkdir(parents=True)
        (self.folder / "configs").mkdir()
        source = self.folder / "kernels" / "a" / "set.cu"
        source.write_text("extern \"C\" __global__ void set(int *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = n; }\n")
        config = self.folder / "configs" / "set.yaml"
        self.hone("init", source, "-o", config, "-q")
        self.assertIn("template: ../kernels/a/set.cu\n", config.read_text())
        self.hone("compile", config, "--arch", "sm_90")
        shown = self.hone("init", "kernels/a/set.cu", "-o", "-")
        self.assertIn("template: kernels/a/set.cu\n", shown.stdout)
        source.rename(self.folder / "my set.cu")
        shown = self.hone("init", "my set.cu", "-o", "-")
        self.assertIn("# Written by `hone init 'my set.cu'`. Lines", shown.stdout)

    def test_what_needs_nvcc_is_given_to_it(self):
        kernel = "__global__ void set(int *x, int n)\n{\n    if (threadIdx.x < n)\n        x[threadIdx.x] = n;\n}\n"
        main = "int main() { set<<<1, 32>>>(nullptr, 3); }\n"
        for source, expected in (("#include <vector>\n" + kernel, "compile: {compiler: nvcc}  # NVRTC has no <vector>\n"),
                                 ("#include <thrust/sort.h>\n" + kernel, "compile: {compiler: nvcc}  # NVRTC has no <thrust/sort.h>\n"),
                                 (kernel + main, "compile: {compiler: nvcc}  # NVRTC compiles no code of the host\n"),
                                 ("#include <cmath>\n#include <cuda/std/limits>\n#include <cub/cub.cuh>\n" + kernel, None),
                                 (kernel + "#ifndef __CUDACC_RTC__\n#include <vector>\n" + main + "#endif\n", None)):
            path = self.write("set.cu", source)
            draft = self.hone("init", path, "-o", "-").stdout
            if expected is None:
                self.assertNotIn("compiler", draft)
            else:
                self.assertIn(expected, draft)
            if expected is None or shutil.which("nvcc"):
                self.hone("compile", "--arch", "sm_90", self.write("set.yaml", draft))

    def test_does_not_overwrite(self):
        config = self.write("saxpy.yaml", "mine")
        self.fails(2, f"hone: {config} is there already and is not overwritten; -o FILE writes elsewhere", "init",
                   hone.DATA / "saxpy.cu", "-o", config)
        self.assertEqual(config.read_text(), "mine")

    def test_several_kernels(self):
        source = self.write("two.cu", "__global__ void one(int *x) { *x = 1; }\n__global__ void two(int *x) { *x = 2; }\n")
        self.fails(2, f"hone: {source} has 2 kernels: one, two; --entry NAME says which", "init", source)
        self.fails(2, f"hone: --entry: {source} has no kernel 'tow'; there are: one, two", "init", source, "--entry", "tow")
        self.hone("init", source, "--entry", "two")
        self.assertTrue((self.folder / "two.yaml").exists())

    def test_no_kernel(self):
        source = self.write("none.cu", "// __global__ void one(int *x) {}\nint main() { return 0; }\n")
        self.fails(2, f"hone: {source}: found no __global__ function with a body; is it in a file that this includes? One that a macro makes cannot be read",
                   "init", source)
        self.fails(1, "hone: cannot open 'nope.cu': No such file or directory", "init", "nope.cu")

    def draft(self, source):
        return self.hone("init", self.write("k.cu", source), "-o", "-", *(["--entry", "k"] if "void other(" in source else [])).stdout

    def test_what_a_source_says(self):
        """Roles, sizes, launch and parameters: what of a source becomes which part of the config."""
        for source, *parts in (
                ("__global__ void k(const float *a, float *b, float *c, int *d, double *e, float2 *f, int n) { b[n] = a[n];"
                 " if (b == c) c[n + 1] += 1; atomicAdd(&d[0], 1); b[0] = e[n]; f[n].x = 1; }",
                 'entry: "&k"', "{name: a, type: float32, count: n}  # TODO: how many elements?\n", "{name: c, type: float32, count: n, role: inout}",
                 "{name: d, type: int32, count: n, role: inout}", "{name: e, type: float64, count: n}  # TODO: how many elements?\n",
                 "{name: f, type: float32x2, count: n, role: output}  # TODO: how many elements?\n", "{name: n, type: int32, value: n}\n",
                 'grid: ["ceil_div(n, BLOCK)"]'),
                ("#ifndef TILE_DIM\n#define TILE_DIM 32\n#endif\n#ifndef BLOCK_ROWS\n#define BLOCK_ROWS 8\n#endif\n"
                 'extern "C" __global__ void k(float *out, const float *in, int width, int height) {'
                 " out[(blockIdx.y * TILE_DIM + threadIdx.y) * width + blockIdx.x * TILE_DIM + threadIdx.x] = in[0]; }",
                 "block: [TILE_DIM, BLOCK_ROWS]\n", 'grid: ["ceil_div(width, TILE_DIM)", "ceil_div(height, TILE_DIM)"]',
                 "- TILE_DIM * BLOCK_ROWS <= 1024", "{name: out, type: float32, count: width * height, role: output}  # TODO: how many elements?\n"),
                ("template <typename T, int block, int ITEMS> __global__ void __launch_bounds__(block)"
                 " k(T *x, size_t n) { x[blockIdx.x * block * ITEMS + threadIdx.x] = n; int BLOCK = 3; }",
                 'entry: "k<float, TUNE_BLOCK, TUNE_ITEMS>"', "TUNE_BLOCK: [64, 128, 256, 512, 1024]", "block: [TUNE_BLOCK]\n",
                 'grid: ["ceil_div(n, TUNE_BLOCK * TUNE_ITEMS)"]'),
                ("#ifndef N\n#define N 1048576\n#endif\n#ifndef PAD\n#define PAD 0\n#endif\n"
                 'extern "C" __global__ void __launch_bounds__(128) k(float *x) { x[N] = PAD; }',
                 "problem: {N: 1048576}\nfreeze: [N]", "PAD: [0, 1]\n", "  BLOCK: [128]  # TODO: which block?", "  block: [BLOCK]\n"),
                # Names that nobody defines; where other files are included they may.
                ("#define SET 3\nconstexpr int KNOWN = 4; enum { A, B };\n"
                 "__global__ void k(float *C, const float *D) { float *P = C; P[0] = P + 1 != C; for (int i = 0; i < ITEMS * KNOWN; i++)"
                 " C[i * BLOCK + A] = D[N & 3] + SET + INT_MAX + CALL(1) + s.M + T::K; }",
                 "problem: {N: 4194304}\nfreeze: [N]",
                 "parameters:\n  ITEMS: [1, 2, 4]  # TODO: which values? The source defines it nowhere\n"
                 "  BLOCK: [64, 128, 256, 512, 1024]  # TODO: which values? The source defines it nowhere\n"
                 "  SET: [2, 3, 4]  # TODO: are results the same with each of these?\n"
                 "  KNOWN: [2, 4, 8]  # TODO: are results the same with each of these?\ndefaults: {ITEMS: 1, BLOCK: 256, SET: 3, KNOWN: 4}\n"
                 "override: {SET: define, KNOWN: constexpr}  # the source declares them itself\n"),
                ('#include "other.cuh"\n__global__ void k(float *x) { x[0] = ITEMS; }', "parameters:\n  BLOCK: "),
                # Names in conditions and macros.
                ("#define width (block_size_x * tile)\n#define CACHE read_only\n#define UNUSED(x) nothing\n"
                 "#if use_shmem == 1 && CACHE == 2\n#endif\n#ifdef DEBUG\n#endif\n#if defined(TRACE)\n#endif\n"
                 "__global__ void k(float *x) {\n#pragma unroll factor\n for (int i = 0; i < width; i++) x[i] = 0; }",
                 "\ndefaults: {use_shmem: 1, factor: 1, block_size_x: 256, tile: 16, read_only: 1}"),
                # What is declared is no parameter.
                ("constexpr int A = 1, B = 2; typedef double real; using byte = unsigned char;\n"
                 "#define CHECK(call) do { int status = (call); if (status != cudaSuccess) exit(status); } while (0)\n"
                 "struct Two { real one, two; }; enum Kind { First, Second };\n"
                 "int main() { int host = unknown; k<<<1, GRID>>>(0); CHECK(0); }\n"
                 "template <int N> __device__ void fill(real (&to)[N], const real *from, int n, byte b) {\n"
                 " for (int i = 0, end = n; i < end && n > A; i++) to[i] = from[i] * B + b; }\n"
                 "__global__ void k(real *out, cudaTextureObject_t image) {\n"
                 " struct { float a; } temp; union { int i; float f; } *both = 0; auto f = [](int v) { return v; };\n"
                 " float4 four = make_float4(0, 0, 0, 0); temp.a = four.x; real own[2], other = *own, more;\n"
                 " more = tex2D<float>(image, 0, 0) + (float)sizeof(float4) + INT16_MAX + FLT_MIN + First;\n"
                 " again: if (other * more > 1) goto again; out[warpSize] = f(both->i) + static_cast<uint32_t>(other); }",
                 "\ndefaults: {A: 1, B: 2, BLOCK: 256}\noverride: {A: constexpr, B: constexpr}"),
                ("template <typename T, typename Index, bool Shared, int Bins = 64, unsigned Odd>\n"
                 "__global__ void k(T *x, const Index *at) { x[at[0]] = 0; }",
                 'entry: "k<float, int, SHARED, BINS, ODD>"', "{name: at, type: int32, ", "  SHARED: [false, true]  # the template's Shared; TODO: are results the same with each of these?\n",
                 "  BINS: [16, 32, 64, 128, 256]  # the template's Bins; TODO: are results the same with each of these?\n", "  ODD: [1]  # the template's Odd; TODO: which values?\n"),
                ("constexpr int kWarp = 32, kThreads = 192;\n"
                 "__global__ void __launch_bounds__(kThreads) k(float *x) { x[blockDim.x] = 0; }",
                 "  kThreads: [128, 192, 256]\n", "override: {kThreads: constexpr}"),
                ("constexpr int BM = 64; __global__ void __launch_bounds__(BM * 2) k(float *x, int n) {"
                 " x[(blockIdx.y * BM + threadIdx.x) * n + blockIdx.x] = 0; }", "block: [BM * 2, 1]\n", '"ceil_div(n, BM)"]'),
                ("__global__ void k(float *x) { x[threadIdx.y] = 0; }", "  BLOCK_X: [32]  # TODO: which block?"),
                # A name of a type is that type, and an enumerator of one with a use is no number.
                ("typedef double real; using half = __half; enum Edge { PERIODIC, REFLECT = 3 };\n"
                 "template <typename A, typename B, Edge E> __global__ void k(A *x, const B *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                 " if (i < n) x[i] = E == REFLECT ? (A)y[i] : 0; }\n"
                 "void f(real *x, half *y, int n) { k<real, half, REFLECT><<<(n + 127) / 128, 128>>>(x, y, n); }",
                 'entry: "k<double, __half, Edge::TUNE_E>"\n', "  TUNE_E: [PERIODIC, REFLECT]  # TODO: are results the same", "\ndefaults: {TUNE_E: REFLECT, ", "{name: x, type: float64, ", "{name: y, type: float16, ", "BLOCK: 128}\n"),
                # Words that YAML has another meaning for, numbers with marks, fixed sizes, bytes of an element, a function object's own template.
                ("enum class Cache { off, on }; struct Plus { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };\n"
                 "constexpr int NX = 4'096, Q = 9; __constant__ float w[Q];\ntemplate <Cache C, class Op> __global__ void k(float *x, float *y, Op op) {\n"
                 " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < NX) x[i] = op(y[i], w[i % Q]); }\n"
                 "void f() { float *x, *y; cudaMalloc(&x, NX * sizeof *x); cudaMalloc(&y, Q * NX * sizeof(float)); k<Cache::on><<<NX / 64, 64>>>(x, y, Plus{}); }",
                 'entry: "k<Cache::TUNE_C, Plus>"', '  TUNE_C: ["off", "on"]  # TODO: are results the same', '\ndefaults: {TUNE_C: "on", BLOCK: 64}\n', "problem: {NX: 4096}\n",
                 "{name: x, type: float32, count: 4096, ", "{name: y, type: float32, count: 9 * 4096}\n", "\n# TODO: `symbols` fills"),
                # A grid with one row is of a problem with one.
                ("template <int R, int L> __global__ void k(int rows, const int *at, float *y) { int row = R * blockIdx.x + threadIdx.y; if (row < rows) y[row] = at[row]; }\n"
                 "void f(int *at, float *y, int n) { constexpr int R = 16, L = 8; const dim3 b(L, R); k<R, L><<<(n + R - 1) / R, b>>>(n, at, y); }",
                 "{name: at, type: int32, count: rows}  # TODO: may its elements be any integers, or which `fill` or `file`?  # TODO: how many elements?\n"),
                # A block of numbers that are the tile's is the tile.
                ("template <int TILE> __global__ void k(const float *in, float *out, int w, int h) { __shared__ float t[TILE][TILE];\n"
                 " int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y; t[threadIdx.y][threadIdx.x] = in[y * w + x];\n"
                 " __syncthreads(); if (x < w && y < h) out[x * h + y] = t[threadIdx.y][threadIdx.x]; }\n"
                 "void f(float *x, float *y, int w, int h) { dim3 b(16, 16), g((w + 15) / 16, (h + 15) / 16); k<16><<<g, b>>>(x, y, w, h); }",
                 "  block: [TUNE_TILE, TUNE_TILE]\n", '"ceil_div(w, TUNE_TILE)", "ceil_div(h, TUNE_TILE)"'),
                # What the host calls so does not mean that the kernel asks for its block.
                ("#define TPB 256\n__global__ void k(float *x, int n) { int i = blockIdx.x * TPB + threadIdx.x; if (i < n) x[i] = 0; }\n"
                 "void f(float *x, int n) { cudaLaunchConfig_t own = {}; own.gridDim = n / TPB; own.blockDim = TPB; cudaLaunchKernelEx(&own, k, x, n); }",
                 "  block: [TPB]\n", "  TPB: [128, 256, 512]\ndefaults: "),
                # A number that bounds the block is all that there is to tune.
                ("__global__ void __launch_bounds__(256) k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 1; }",
                 "  BLOCK: [64, 128, 256, 512, 1024]  # of the launch alone\n", "  - BLOCK <= 256\n", "  block: [BLOCK]\n"),
                # One block for each group of a batch; what is passed on may be indices.
                ("struct P { int batch, num_vertices; };\n__device__ void visit(int *at);\n__global__ void k(float *y, int *at, P p) { const int b = blockIdx.y, g = blockIdx.x; visit(at); y[b * gridDim.x + g] = threadIdx.x; }",
                 '  grid: [num_vertices, ROWS]\n', "# TODO: output, inout, scratch or counter?  # TODO: may its elements be any integers, or which `fill` or `file`?"),
                ("__global__ void k(float *x) { x[blockIdx.x * blockDim.a + blockDim.q] = 0; }", 'grid: ["ceil_div(SIZE, BLOCK)"]'),
                ("__global__ void k(float *x) { x[blockIdx.y * block_size_x + threadIdx.x] = 0; }", "  block: [block_size_x, 1]\n")):
            draft = self.draft(source)
            for part in parts:
                self.assertIn(part, draft, source)

    def test_without_libclang(self):
        nowhere = {"HONE_LIBCLANG": str(self.folder / "nowhere.so")}
        result = self.hone("init", OWN / "sparse.cu", expect=1, **nowhere)
        self.assertIn("hone: libclang, with which sources are read: no library could be loaded: ", result.stderr)
        shutil.copytree(hone.SOURCE / "tests/data/import", self.folder / "problem")
        text = self.hone("init", self.folder / "problem/rows.json", "-o", "-", **nowhere).stdout
        self.assertIn("# TODO: the source was not read: libclang, with which sources are read: no library ", text)
        self.assertIn("kernel: scale_rows\n", text)

    def test_instantiations(self):
        """What a launch, an instantiation or a default gives the template."""
        kernel = ("template <typename T, int Threads, int Items = 2, bool Checked = false>\n"
                  "__global__ void k(T *x, int n) { x[(blockIdx.x * Threads + threadIdx.x) * Items] = n; }\n")
        for given, entry, threads in (("template __global__ void k<double, 128, 4>(double *, int);", "double", "[32, 64, 128, 256, 512]"),
                                      ("void f(float *x, int n) { constexpr int t = 64; k<float, t><<<(n + 2 * t - 1) / (2 * t), t>>>(x, n); }", "float",
                                       "[16, 32, 64, 128, 256]")):
            draft = self.draft(kernel + given)
            self.assertIn(f'entry: "k<{entry}, THREADS, ITEMS, CHECKED>"\n', draft)
            self.assertIn(f"  THREADS: {threads}  # the template's Threads\n", draft)
            self.assertIn('grid: ["ceil_div(n, THREADS * ITEMS)"]', draft)

    def test_types_of_templates(self):
        """Templates within templates, types of the launch's own template, and names that host and kernel share."""
        for source, *parts in (
                ("template <typename T> struct Scale { T by; };\n"
                 "template <typename T, class Op, int B> __global__ void k(T *x, Op op) { x[blockIdx.x * B + threadIdx.x] *= op.by; }\n"
                 "template <typename U> void f(U *x) { k<U, Scale<U>, 64><<<1, 64>>>(x, Scale<U>{2}); }",
                 'entry: "k<float, Scale<float>, TUNE_B>"  # TODO: are these'),
                ("template <class T, int N> struct Pack { T at[N]; };\n"
                 "template <int B, class P> __global__ void k(float *x, P p) { x[blockIdx.x * B + threadIdx.x] = p.at[0]; }\n"
                 "void f(float *x) { Pack<float, 2> p; k<128, Pack<float, 2>><<<1, 128>>>(x, p); }", 'entry: "k<TUNE_B, Pack<float, 2>>"\n'),
                ("template <typename scalar_t> __global__ void k(scalar_t *x) { x[threadIdx.x] = 0; }\n"
                 "void f(void *x) { DISPATCH([&] { k<scalar_t><<<1, 64>>>((scalar_t *)x); }); }", 'entry: k<float>  # TODO', "{name: x, type: float32, "),
                ("template <int B> struct Traits { static constexpr int n = B; }; using Wide = Traits<64>;\ntemplate <class Wide> struct Other;\n"
                 "template <class T> __global__ void k(float *x) { x[blockIdx.x * T::n + threadIdx.x] = 0; } void f(float *x) { k<Wide><<<1, 64>>>(x); }",
                 'entry: k<Traits<TUNE_B>>\n', "  TUNE_B: [16, 32, 64, 128, 256]  # the template's B"),
                # What the launch leaves to be deduced.
                ("template <class T, class I> __global__ void k(T *x, const I *at, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = at[i] >> 3; }\n"
                 "void f(double *x, const unsigned *at, int n) { k<<<(n + 63) / 64, 64>>>(x, at, n); }", 'entry: "k<double, unsigned int>"\n', "{name: at, type: uint32, "),
                # How large an element is depends on the template.
                ("template <class T> struct C { T re, im; };\ntemplate <class T> __global__ void k(const C<T> *x, T *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i].re; }\n"
                 "template <class T> void run(T *y, int n) { C<T> *x; cudaMalloc(&x, n * sizeof(C<T>)); k<T><<<n / 64, 64>>>(x, y, n); }\nvoid f(double *y) { run(y, 4096); }",
                 "entry: k<double>\n", "bytes are random  # TODO: how many elements?\n", "{name: y, type: float64, "),
                # Which of two specializations is meant nobody says.
                ("template <class T> struct Tuning; template <> struct Tuning<float> { static constexpr int kThreads = 256; }; template <> struct Tuning<double> { static constexpr int kThreads = 128; };\n"
                 "template <class T> __global__ void k(T *x, int n) { int i = blockIdx.x * Tuning<T>::kThreads + threadIdx.x; if (i < n) x[i] = 0; }\n"
                 "void f(float *x, int n) { constexpr int threads = Tuning<float>::kThreads; k<float><<<(n + threads - 1) / threads, threads>>>(x, n); }",
                 "# TODO: is the block's size free?\n", "  BLOCK: [256]  # TODO: which block?", '  grid: ["ceil_div(n, BLOCK)"]\n'),
                # Of two that may be of one class the numbers stay.
                ("template <int M> struct Shape { static constexpr int kM = M; };\ntemplate <class A, class B> __global__ void k(float *x) { x[blockIdx.x * A::kM + threadIdx.x] = B::kM; }\n"
                 "void f(float *x) { k<Shape<64>, Shape<4>><<<9, 64>>>(x); }", 'entry: "k<Shape<64>, Shape<4>>"\n'),
                # The number of threads that nothing launches: beside the thread's index, or in whose steps it goes on.
                ("template <int NT> __global__ void k(float *x, int n) { int i = blockIdx.x * NT + threadIdx.x; if (i < n) x[i] = 0; }\n"
                 "template __global__ void k<128>(float *, int);", "  block: [TUNE_NT]\n", '  grid: ["ceil_div(n, TUNE_NT)"]\n'),
                ("template <int B, int U> __global__ void k(float *x, int n) { int i = blockIdx.x * B * U + threadIdx.x;\n"
                 "for (int u = 0; u < U; u++, i += B) if (i < n) x[i] = 0; }\n"
                 "struct { void (*k)(float *, int); int block; } const table[] = {{k<128, 2>, 128}, {k<512, 1>, 512}};",
                 "  block: [TUNE_B]\n", '  grid: ["ceil_div(n, TUNE_B * TUNE_U)"]\n'),
                ("template <int W> __global__ void k(float *x, int n) { int i = blockIdx.x * W + threadIdx.x / 32; if (i < n) x[i] = 0; }\n"
                 "template __global__ void k<4>(float *, int);", "  block: [BLOCK]\n"),
                # What is as wide as a whole block is no side; a block of numbers of the source is no other number of it.
                ("constexpr int kMaxThreadsPerBlock = 256;\n__global__ void __launch_bounds__(kMaxThreadsPerBlock) k(float *x, int n) {\n"
                 " int i = (blockIdx.x * kMaxThreadsPerBlock + threadIdx.y) * 4 + threadIdx.x; if (i < n) x[i] = 0; }\n"
                 "void f(float *x, int n) { config c; launchGpuKernel(k, c, stream, nullptr, \"k\", x, n); }", "  block: [BLOCK_X, BLOCK_Y]\n", "  - BLOCK_X * BLOCK_Y <= 1024\n"),
                ("static const int WARPS = 8, BINS = 256;\n__global__ void k(float *x) { extern __shared__ float s[]; s[threadIdx.x + WARPS] = x[blockIdx.x % BINS]; x[0] = s[0]; }\n"
                 "void f(float *x) { k<<<99, WARPS * 32, WARPS * BINS * sizeof(float)>>>(x); }", "  block: [WARPS * 32]\n", "  shared_bytes: WARPS * 256 * 4\n"),
                # Another kernel of the file is along y; a macro makes a function one of the device.
                ("template <int block_size> __global__ void k(float *x, int n) { for (int i = threadIdx.x; i < n; i += block_size) x[blockIdx.y * n + i] = 0; }\n"
                 "__global__ void other(float *x) { x[threadIdx.y] = 0; }", "  block: [BLOCK_SIZE, 1]\n"),
                ("#define DEVICE static __device__\nDEVICE int index() { return blockIdx.x * blockDim.x + threadIdx.x; }\n__global__ void k(float *x) { x[index()] = 0; }",
                 '.cu\nentry: "&k"\n'),
                # Of a view of the template's own types a pointer has the type that it is given.
                ("template <class V, class O> struct Csr { const O *rows; const V *values; O count; };\ntemplate <class T, class I> __global__ void k(Csr<T, I> a, T *y) {\n"
                 " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < a.count) y[i] = a.values[a.rows[i]]; }\ntemplate __global__ void k<double, int>(Csr<double, int>, double *);",
                 "problem: {count: 4194304}\n", "{name: a_rows, type: int32, count: count}  # TODO: may its", "{name: a_values, type: float64, count: count}  # TODO: how many", 'grid: ["ceil_div(count, BLOCK)"]\n'),
                # A function that a template is given, by a type that stands nowhere.
                ("template <typename T> __device__ T relu(const T &x) { return x; }\ntemplate <typename scalar_t, scalar_t (*F)(const scalar_t &)> __global__ void k(scalar_t *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = F(x[0]); }\n"
                 "#define LAUNCH(F) DISPATCH(type, [&] { k<scalar_t, F<scalar_t>><<<9, 64>>>(x); })\nvoid f(float *x) { LAUNCH(relu); }", 'entry: "k<float, relu<float>>"  # TODO: '),
                # A height is no guard of an inclusion.
                ("#ifndef KERNEL_H\n#define KERNEL_H 1\n#ifndef TILE_H\n#define TILE_H 8\n#endif\n#if !defined(TILE_W)\n#define TILE_W 32\n#endif\n"
                 "__global__ void k(float *x) { x[threadIdx.y * TILE_W + threadIdx.x + TILE_H] = 0; }\n#endif", "\nparameters:\n  TILE_H: [2, 4, 8, 16, 32]\n  TILE_W: [8, 16, 32, 64, 128]\n"),
                # Names of a class are no names of the kernel's.
                ("template <int B> struct Traits { static constexpr int n = B; };\ntemplate <class T> __global__ void __launch_bounds__(T::n) k(float *x) { x[blockIdx.x * T::n + threadIdx.x] = 0; }\n"
                 "class Run { using Mine = Traits<64>; void go(float *x) { k<Mine><<<1, Mine::n>>>(x); } };", 'entry: k<Traits<TUNE_B>>\n', "  block: [TUNE_B]\n"),
                # A type of the host's own function, within a namespace.
                ("namespace app { template <int T, int R> struct Policy { static constexpr int threads = T, rows = R; };\n"
                 "template <class P> __global__ void k(float *x, int n) { int i = blockIdx.x * P::rows + threadIdx.x; if (i < n) x[i] = P::rows; }\n"
                 "void f(float *x, int n) { typedef Policy<256, 16> Wide; k<Wide><<<(n + Wide::rows - 1) / Wide::rows, Wide::threads>>>(x, n); } }",
                 'entry: "app::k<app::Policy<TUNE_T, TUNE_R>>"\n', "  block: [TUNE_T]\n", '  grid: ["ceil_div(n, TUNE_R)"]\n'),
                ("#include <curand_kernel.h>\n__global__ void k(curandState *s, cuFloatComplex *z, float *x) { z[blockIdx.x * blockDim.x + threadIdx.x].x = x[0]; }\n",
                 "{name: s, type: uint8, count: 48 * SIZE", "{name: z, type: float32x2, "),
                ("__device__ int f(cg::thread_block block) { return 1; }\nnamespace cg = cooperative_groups;\n#define ITEMS 4\n"
                 "__device__ int g(cooperative_groups::thread_block_tile<32> t) { return ITEMS; }\n__global__ void k(float *x) { x[threadIdx.x] = 1; }",
                 "  ITEMS: [2, 4, 8]\n"),
                ("template <int Items> __global__ void k(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x * Items] = 0; }\n"
                 "void f(const std::vector<float> &v, thrust::device_vector<float> &put, float *x) { constexpr int items = 3; k<items><<<1, 96>>>(x); }",
                 "\ndefaults: {ITEMS: 3, BLOCK: 96}\n"),
                ("template <int BM, int TM = BM / 16> __global__ void k(float *x) { x[blockIdx.x * BM + threadIdx.x * TM] = 0; }\n"
                 "void f(float *x, int n) { const int BM = 64; k<BM><<<n / BM, 16>>>(x); }",
                 "  TUNE_BM: [16, 32, 64, 128, 256]  # the template's BM\n")):
            draft = self.draft(source)
            for part in parts:
                self.assertIn(part, draft, source)

    def test_launches(self):
        """What a launch in the file says of block, grid, sizes, values and counts."""
        for launch, *parts in (
                ("const int N = 1 << 20; float *d; cudaMalloc(&d, N * sizeof(float)); k<<<(N + 127) / 128, 128>>>(d, 2.5f, N);",
                 "problem: {n: 1048576}\n", "  BLOCK: [32, 64, 128, 256, 512]  # of the launch alone\n", "count: n, role: output}",
                 "{name: a, type: float32, value: 2.5}\n", "block: [BLOCK]\n", 'grid: ["ceil_div(n, BLOCK)"]\n'),
                ("int m = argc; auto up_div = [](int a, int b) { return (a + b - 1) / b; }; dim3 t(32, 4), g(up_div(m, t.x), 7); k<<<g, t>>>(x, 1.f, m);",
                 "block: [BLOCK_X, BLOCK_Y]\n", 'grid: ["ceil_div(n, BLOCK_X)", 7]\n', "  - BLOCK_X * BLOCK_Y <= 1024\n"),
                ("int w = 4096, more = 3; size_t size = sizeof(float) * w * more; float *d; cudaMallocManaged((void **)&d, size);"
                 " k<<<dim3(w / 64), dim3(64), 64 * sizeof(float)>>>(d, 1.f, w);",
                 "problem: {n: 4096}\n", "  grid: [n // BLOCK]\n", "count: n * 3, role: output}", "  shared_bytes: BLOCK * 4\n"),
                ("void *p[] = {&x, &a, &n}; cudaLaunchCooperativeKernel((void *)k, dim3(8), dim3(64), p, 0, 0);",
                 "  BLOCK: [16, 32, 64, 128, 256]", "# TODO: as the source launches it, whatever the sizes?\n", "  grid: [8]\n", "  cooperative: true\n"),
                ("const int W = 64; float *d; cudaMalloc(&d, sizeof(float) * W * W); k<<<(W * W + 255) / 256, 256>>>(d, 1, W * W);",
                 "problem: {n: 4096}\n", "count: 64 * 64, role: output}", 'grid: ["ceil_div(64 * 64, BLOCK)"]\n'),
                ("k<<<dim3(4, 5, n), dim3(8, 2)>>>(x, 1, n);", "  block: [BLOCK_X, BLOCK_Y, 1]\n", "  grid: [4, 5, n]\n"),
                # No block that is known, that there can be, that leaves something to tune: none of the launch is taken.
                *((f"k<<<dim3(4, 5, n), {block}>>>(x, 1, n);", "  BLOCK: [64, 128, 256, 512, 1024]", "block: [BLOCK]\n", "ceil_div(n, BLOCK)")
                  for block in ("unknown", "2048", "1")),
                ("cudaLaunchConfig_t c = {}; cudaLaunchKernelEx(&c, k, x, a, n);", "  BLOCK: [64, 128, 256, 512, 1024]", 'grid: ["ceil_div(n, BLOCK)"]\n'),
                ("cudaLaunchConfig_t c; int m = 5000; c.gridDim = (m + 63) / 64; c.blockDim = dim3(64); c.dynamicSmemBytes = 96; CHECK(cudaLaunchKernelEx(&c, k, x, 2.5f, m));",
                 "problem: {n: 5000}\n", "value: 2.5}\n", "  BLOCK: [16, 32, 64, 128, 256]  # of the launch alone\n", 'grid: ["ceil_div(n, BLOCK)"]\n', "  shared_bytes: 96\n"),
                ("n = argc > 1 ? atoi(argv[1]) : 100; int m = argc > 1 ? atoi(argv[1]) : 5000; k<<<(m + 63) / 64, 64>>>(x, 1, m);", "problem: {n: 5000}\n"),
                ("int m = 4096; cudaMalloc(&x, size_t(m) * 3 * sizeof(float)); k<<<unsigned(m / 64), 64>>>(x, 1, m);",
                 "count: n * 3, role: output}", "  grid: [n // BLOCK]\n"),
                ("int m = 4096; dim3 b, g; b.x = 32; b.y = 4; g.x = m / b.x; g.y = 7; k<<<g, b>>>(x, 1, m);",
                 "  block: [BLOCK_X, BLOCK_Y]\n", "  grid: [n // BLOCK_X, 7]\n"),
                # What is chosen is known, is the lesser one or is chosen by the config, also as a factor of more.
                ("bool wide = true; int m = 1000; k<<<m % 128 != 0 ? m / 128 + 1 : m / 128, wide ? 128 : 64>>>(x, 1, m);",
                 "  BLOCK: [32, 64, 128, 256, 512]  # of the launch alone\n", 'grid: [(n // BLOCK + 1) if n % BLOCK != 0 else (n // BLOCK)]\n'),
                ("int m = 4096, b = (m / 32) < 512 ? m / 32 : 512; cudaMalloc(&x, 2 * (m > 9 ? m : 9) * sizeof(float)); k<<<b, 32>>>(x, 1, m);",
                 '  grid: [(n // BLOCK) if (n // BLOCK) < 512 else 512]\n', "count: 2 * (n if n > 9 else 9), role: output}"),
                ("int m = 64, less = 0; if (x == nullptr) less = 1; k<<<m / 64, 64>>>(x, less ? 1.f : -1.f, m);",
                 "{name: a, type: float32, value: 1}  # TODO: which value?\n"),
                ("int m = 70; k<<<m / 64 + (m % 64 ? 1 : 0), 64>>>(x, 1, m);", "  grid: [n // BLOCK + (1 if n % BLOCK else 0)]\n"),
                ("k<<<blocks_of(n), 64>>>(x, 1, n);", "# TODO: does the kernel want this many blocks?\n", 'grid: ["ceil_div(n, BLOCK)"]\n')):
            draft = self.draft("__global__ void k(float *x, float a, int n) { extern __shared__ float s[]; x[blockIdx.x * blockDim.x + threadIdx.x] = a; }\n"
                               f"int main(int argc, char **argv) {{ float *x; float a; int n; {launch} }}\n")
            for part in parts:
                self.assertIn(part, draft, launch)
            self.assertEqual("\n# As the source launches it.\n" in draft, 
                             not any(word in launch for word in ("blocks_of", "c = {}", "dim3(8)", "unknown", "2048", "n), 1", "W * W)")))

    def test_what_the_host_changes(self):
        """What a variable begins with is no size where it is written again; how many elements are allocated follows it."""
        changed = "problem: {n: 4194304}\n"
        launch = "k<<<(n + 63) / 64, 64>>>(x, n);"
        for host, *parts in (
                (f"int n = 2048; n = n + 1; cudaMalloc(&x, n * 3 * sizeof(float)); {launch}", changed, "count: n * 3, role: output}", "value: n}\n"),
                (f"int n = 100; if (argc > 1) n = atoi(argv[1]); cudaMemcpy(d, &n, sizeof n, cudaMemcpyHostToDevice); {launch}", "problem: {n: 100}\n", "value: n}\n"),
                (f"for (int n = 100; n > 1; n /= 2) {launch}", "problem: {n: 100}\n", "value: n}\n"),
                (f"int n; for (n = 100; n > 1; n /= 2) {launch}", "problem: {n: 100}\n", "value: n}\n"),
                (f"{{ int n = 7; n++; }} {{ int n = 100; {launch} }}", "problem: {n: 100}\n", "value: n}\n"),
                (f'int n = 100; scanf("%d", &n); {launch}', changed, "count: n, role: output}", 'grid: ["ceil_div(n, BLOCK)"]\n'),
                (f"int n = 100; while (n > 0) {{ {launch} cudaMemcpy(&n, d, 4, cudaMemcpyDeviceToHost); }}", changed),
                (f"int n = 100; cudaMalloc(&x, n * 3 * sizeof(float)); do {{ {launch} n = n / 2; }} while (n > 1);", changed, "count: n * 3, role: output}"),
                (f"int n = 100; n += 28; {launch}", changed),
                (f"int n = 100; ++n; {launch}", changed),
                (f"int n = 100; if (n % 32) n = 128; {launch}", changed),
                (f"int n = 100; {{ n = 128; }} {launch}", changed)):
            draft = self.draft("__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 1; }\n"
                               f"int main(int argc, char **argv) {{ float *x; int *d; {host} }}\n")
            for part in parts:
                self.assertIn(part, draft, host)

    def test_launches_by_helpers(self):
        """What calls give the function that launches, and how many elements the host allocates for what it passes."""
        kernel = "__global__ void k(float *x, float a, int n) { extern __shared__ float s[]; x[blockIdx.x * blockDim.x + threadIdx.x] = a; }\n"
        for host, *parts in (
                ("void run(float *out, float by, int count);\n"
                 "void run(float *out, float by, int count) { k<<<(count + 63) / 64, 64>>>(out, by, count); }\n"
                 "int main() { const int m = 5000; float *d; cudaMalloc(&d, m * 4 * sizeof(float)); if (d) run(d, 3, m); }",
                 "problem: {n: 5000}\n", "value: 3}\n", "count: n * 4, role: output}", 'grid: ["ceil_div(n, BLOCK)"]\n'),
                ("template <class T> void run(thrust::device_vector<T> &out, int n) { k<<<512, 64>>>(thrust::raw_pointer_cast(out.data()), 1, n); }\n"
                 "int main() { const int rows = 300; thrust::device_vector<float> d(rows * (7 + 1), 1.0f); run<float>(d, rows); }",
                 "problem: {n: 300}\n", "count: n * (7 + 1), role: output}"),
                # A library's launch.
                ("void f(float *d, cudaStream_t s) { const int m = 5000; CHECK(hipLaunchKernelGGL(HIP_KERNEL_NAME(k), dim3((m + 63) / 64), dim3(64), 96, s, d, 3, m)); }",
                 "problem: {n: 5000}\n", "value: 3}\n", "  block: [BLOCK]\n", 'grid: ["ceil_div(n, BLOCK)"]\n', "  shared_bytes: 96\n"),
                # An array that is not there passes nothing that is known.
                ("void f(float *d, void **args) { cudaLaunchKernel((void *)k, dim3(7), dim3(64), args, 0, 0); }", "value: n}\n", "  grid: [7]\n"),
                # Members of a class that it sets elsewhere.
                ("class Chunk { int blocks, size; float *d, by = 3;\n"
                 "public: Chunk() { size = 5000; blocks = (size + 63) / 64; cudaMalloc(&d, size * 4 * sizeof(float)); }\n void run() { k<<<blocks, 64>>>(d, by, size); } };",
                 "problem: {n: 5000}\n", "value: 3}\n", "count: n * 4, role: output}", 'grid: ["ceil_div(n, BLOCK)"]\n'),
                # Sizes that only the host has; what a call makes of them is one by its own name, the device's multiprocessors are known.
                ("void f(float *d, const Plan &plan, int rows, int n) { k<<<dim3((rows + 3) / 4, plan.batch, tokens(n)), 64>>>(d, 1, n); }",
                 "problem: {n: 128, rows: 128, batch: 128}\n", '  grid: ["ceil_div(rows, 4)", batch, '),
                ("void k(int n);\nvoid f(float *d, int n) { int sms; ask(&sms, n); const int tokens = sizes(n)[0]; k<<<dim3(2 * sms, tokens), 64>>>(d, 1, n); }",
                 "n: 2048, sm_count: 132, tokens: 2048}\n", "  grid: [2 * sm_count, tokens]\n", 'entry: "(void (*)(float *, float, int))&k"\n'),
                # Two buffers that take turns.
                ("int main() { const int m = 5000, t = pick(); float *d[2]; cudaMalloc(&d[0], m * 4 * sizeof(float)); k<<<512, 64>>>(d[t & 1], 1, m); }",
                 "problem: {n: 5000}\n", "count: n * 4, role: output}"),
                # Nobody knows n: a constant may be too few for what is guessed.
                ("int main(int, char **a) { float *d; cudaMalloc(&d, (1 << 20) * sizeof(float)); k<<<512, 64>>>(d, 1, read(a)); }",
                 "count: n, role: output}")):
            draft = self.draft(f"{kernel}{host}\n")
            for part in parts:
                self.assertIn(part, draft, host)

    def test_fractions_and_sizes_of_types(self):
        """Numbers with fractions are divided as such, T has the size of what a call gives it, and integers are asked for."""
        draft = self.draft("template <class T> __global__ void k(T *x, float step, float more, int cols) { extern __shared__ T s[]; x[blockIdx.x * blockDim.x + threadIdx.x] = s[0] * step + more + cols; }\n"
                           "template <class T> void run(T *x) { const int cols = 200; float length = 3.0f, step = length / cols; k<T><<<300, 64, 64 * sizeof(T)>>>(x, step, 1.75e2f, cols); }\n"
                           "void f(double *x) { run<double>(x); }\n")
        for part in ("value: 3 / cols}", "value: 175}", "  shared_bytes: BLOCK * 8\n"):
            self.assertIn(part, draft)
        draft = self.draft("__device__ int last(const int *ends, int i) { return ends[i]; }\n"
                           "__global__ void k(const float *m, const int *ends, float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = m[0] * last(ends, i); }\n"
                           "int main() { int n = 4096; float *m, *x, *h = new float[n]; cudaMalloc(&m, 9 * sizeof(float)); cudaMalloc(&x, n * sizeof(float)); k<<<n / 64, 64>>>(m, (int *)h, x, n); }")
        for part in ("{name: m, type: float32, count: 9}\n", "{name: x, type: float32, count: n, role: output}\n", "{name: ends, type: int32, count: n}  # TODO: may its elements be any integers, or which `fill` or `file`?  # TODO: how"):
            self.assertIn(part, draft)
        # A size and what fills it; arrays declared beside others.
        draft = self.draft("#include <thrust/device_vector.h>\n__global__ void k(const float3 *v, float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = y[i] = v[i].x; }\n"
                           "int main() { const int n = 4096; thrust::device_vector<float3> v(n, make_float3(0.5f, 0.5f, 1)); float *x, *y, at, all[4096], each[4][8]; cudaMalloc(&x, sizeof(all)); cudaMalloc(&y, sizeof(each));\n"
                           " k<<<n / 64, 64>>>(thrust::raw_pointer_cast(v.data()), x, y, n); }")
        for part in ("{name: v, type: float32x3, count: n}", "{name: x, type: float32, count: 4096, role: output}\n", "{name: y, type: float32, count: n, role: output}  # TODO: how many elements?\n"):
            self.assertIn(part, draft)

    def test_what_is_no_number(self):
        """What begins as 0 is set by a call, and a template's parameter of a type that nobody knows is what the launch gives it."""
        draft = self.draft("__global__ void k(float *x, int rows) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < rows) x[i] = 1; }\n"
                           "void f(float *x) { int blocks = 0, threads = 0; const int rows = 300; cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, k, 0, 0);\n"
                           " k<<<std::min(blocks, (rows + threads - 1) / threads), threads>>>(x, rows); }\n")
        self.assertIn('grid: ["ceil_div(rows, BLOCK)"]', draft)
        draft = self.draft("#include <cub/cub.cuh>\ntemplate <int B, cub::Way WAY, Other OTHER> __global__ void k(float *x) { x[blockIdx.x * B + threadIdx.x] = 0; }\n"
                           "template <Other OTHER> void run(float *x) { k<64, cub::FAST, OTHER><<<3, 64>>>(x); }\nvoid f(float *x) { run<SLOW>(x); }\n")
        self.assertIn('entry: "k<TUNE_B, cub::FAST, SLOW>"\n', draft)

    def test_sizes_that_hang_together(self):
        """Products by another name, rows that follow one another, what a launch makes of a parameter, templates that are given quotients."""
        for source, *parts in (
                ("__global__ void k(float *x, int n, int cols) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i * cols] = 1; }\n"
                 "void run(float *x, int batch, int rows, int cols) { const int n = batch * rows; k<<<(n + 63) / 64, 64>>>(x, n, cols); }\n"
                 "int main() { int batch = 8, rows = 100, cols = 7; float *x; cudaMalloc(&x, batch * rows * cols * sizeof(float)); run(x, batch, rows, cols); }",
                 "problem: {n: 800, cols: 7}\n", "count: 8 * 100 * cols, role: output}"),
                ("__global__ void k(float *x, int rows, int cols, int row_stride, int lda, int stride) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < rows) x[i * row_stride] = lda * stride; }",
                 "row_stride: 2048, lda: 2048, stride: 2048}\n"),
                ("__global__ void k(float *x, int n, int stride) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i * stride] = 1; }",
                 "problem: {n: 4194304, stride: 1}\n"),
                # A tile of rows is no block of a kernel that asks how large that is.
                ("template <int RowTile> __global__ void k(float *x, int rows, int cols, int lddb) { int row = RowTile * blockIdx.x;\n"
                 " for (int r = 0; r < RowTile; r++) for (int c = threadIdx.x; c < cols; c += blockDim.x) if (row + r < rows) x[(row + r) * lddb + c] = 1; }\n"
                 "void f(float *x, int rows, int cols, int lddb) { k<8><<<(rows + 7) / 8, std::min(cols, 256)>>>(x, rows, cols, lddb); }",
                 "lddb: 2048}\n", "  block: [BLOCK]\n", '  grid: ["ceil_div(rows, ROWTILE)"]\n'),
                # Threads for each row divide the block, a factor may stand before the block's index; what the host defines, and threads by macros.
                ("template <int LANES> __global__ void k(float *x, int rows) { int r = (blockIdx.x * blockDim.x + threadIdx.x) / LANES; if (r < rows) x[r] = 1; }",
                 '  grid: ["ceil_div(rows, BLOCK // TUNE_LANES)"]\n'),
                ("#ifndef NT\n#define NT 64\n#endif\n__global__ void k(float *x, int n) { int i = NT * blockIdx.x + threadIdx.x; if (i < n) x[i] = 1; }", "  block: [NT]\n"),
                ("#define GROUP blockIdx.x\n#ifndef TEAM\n#define TEAM 4\n#endif\n#define atom_of(i, team) i = GROUP * (blockDim.x / team) + threadIdx.x / team;\n"
                 "__global__ void k(float *x) { int i; atom_of(i, TEAM); if (i < NUM_ATOMS) x[i] = 1; }",
                 "problem: {NUM_ATOMS: 4194304}\n", "freeze: [NUM_ATOMS]", '  grid: ["ceil_div(NUM_ATOMS, BLOCK // TEAM)"]\n'),
                ("__global__ void k(float *x, int limit, int lda) { int j = threadIdx.x; if (j < limit) x[j * lda + blockIdx.x] = 1; }\n"
                 "void f(float *x, int lda) { k<<<4, 64>>>(x, 100, lda); }", "problem: {limit: 100, lda: 1}\n"),
                ("constexpr int ITEMS = 8;\n__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; for (int k = 0; k < ITEMS; k++) if (i < n) x[i] += k; }\n"
                 "void f(float *x) { const int n = (1 << 20) / ITEMS; k<<<(n + 63) / 64, 64>>>(x, n); }", "value: (1 << 20) // ITEMS}\n", 'grid: ["ceil_div((1 << 20) // ITEMS, BLOCK)"]\n'),
                # One that is told stays one.
                ("__global__ void k(float *x, int n, int batch) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n && blockIdx.y < batch) x[blockIdx.y * n + i] = 1; }\n"
                 "void f(float *x) { const int n = 1000, batch = 1; dim3 g((n + 255) / 256, batch); k<<<g, 256>>>(x, n, batch); }", "problem: {n: 1000, batch: 1}\n"),
                # Enough for the smallest block, of which there are most; a side of the block by what its index goes on by.
                ("#define TPB 128\n__global__ void k(float *sums, int n) { __shared__ float s[TPB]; s[threadIdx.x] = n; sums[blockIdx.x] = s[0]; }\n"
                 "void f() { const int n = 1 << 20; const int blocks = (n + TPB - 1) / TPB; float *sums; cudaMalloc(&sums, blocks * sizeof(float)); k<<<blocks, TPB>>>(sums, n); }",
                 'count: "ceil_div(n, 64)", role: output}'),
                # A class whose constructor is given the sizes; fields that it sets stand before or behind it.
                ("__global__ void k(float *x, int n, int lda) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i * lda] = 1; }\n"
                 "class Solver { public: Solver(int n, int cols) : n_(n), cols_{cols} { lda_ = (cols_ + 31) / 32 * 32; cudaMalloc(&x_, n_ * lda_ * sizeof(float)); }\n"
                 " ~Solver() {} void run() { k<<<(n_ + 63) / 64, 64>>>(x_, n_, lda_); } private: int n_, lda_; const int cols_; float *x_; };\n"
                 "int main() { Solver solver(5000, 40); solver.run(); }", "problem: {n: 5000, lda: 64}\n", "count: n * lda, role: output}"),
                # A policy's number is the template's; as many elements as any point needs, of void bytes.
                ("enum { BITS = 4 };\nstruct Policy { static constexpr int team = 128; };\n"
                 "template <int TEAM> __global__ void k(const unsigned *keys, void *sums, int n) { __shared__ int s[1 << BITS]; int i = blockIdx.x * TEAM + threadIdx.x;\n"
                 " if (i < n) s[keys[i] % (1 << BITS)] = 1; ((int *)sums)[i] = s[0]; }\n"
                 "void f(unsigned *keys) { const int n = 1 << 20, tiles = (n + Policy::team - 1) / Policy::team; void *sums; cudaMalloc(&sums, tiles * (1 << BITS) * sizeof(int));\n"
                 " k<Policy::team><<<tiles, Policy::team>>>(keys, sums, n); }",
                 "  block: [TUNE_TEAM]\n", 'count: "ceil_div(n, 32) * (1 << 8) * 4"'),
                # A size that a parameter is part of is asked for.
                ("#ifndef TEAM\n#define TEAM 16\n#endif\n__global__ void k(float *x, int n, int width) { int i = blockIdx.x * TEAM + threadIdx.x; if (i < n) x[i] = width; }\n"
                 "void f(float *x) { const int n = 1 << 20; k<<<n / TEAM, TEAM>>>(x, n, (n - 1) / TEAM); }", "problem: {n: 1048576}\n", "value: (n - 1) // TEAM}\n"),
                ("template <int A, int B, class T> __global__ void k(T *x) { x[blockIdx.x * A + threadIdx.x] = B; }\n"
                 "template <int threads> void run(void *x) { k<32, threads / 32, Trait<int>><<<9, threads>>>(x); }\nvoid f(void *x) { run<256>(x); }",
                 "  TUNE_B: [2, 4, 8, 16, 32]  # the template's B; TODO: are results the same", "role: output}  # TODO: T: which type?  # TODO: how many elements?\n")):
            draft = self.draft(source)
            for part in parts:
                self.assertIn(part, draft, source)

    def test_numbers_that_change_results(self):
        """A border of an array, a limit, a vector's width; the source's own number in the launch; what is as many as blocks; arrays; alignment."""
        same = "  # TODO: are results the same with each of these?\n"
        for source, *parts in (
                ("#define B 256\n#define GRAM 3\n#define kVec 4\n#ifndef MAX_STEPS\n#define MAX_STEPS 96\n#endif\n__global__ void k(const char *text, int *y, int n) {\n"
                 " __shared__ char tile[B + GRAM - 1]; float4 own[kVec]; tile[threadIdx.x] = text[blockIdx.x * B + threadIdx.x]; for (int i = 0; i < MAX_STEPS; i++) if (i < n) y[i] = tile[GRAM]; }\n"
                 "void f(char *t, int *y, int n) { k<<<n / B, B>>>(t, y, n); }",
                 "  MAX_STEPS: [64, 96, 128]" + same, "  B: [128, 256, 512]\n", "  GRAM: [2, 3, 4]" + same, "  kVec: [2, 4, 8]" + same),
                ("template <int BLOCK, int EACH> __global__ void k(const float *x, float *most, int n) { int i = blockIdx.x * BLOCK + threadIdx.x * EACH; if (i < n) most[i / BLOCK] = x[i] * blockDim.x; }\n"
                 "void f(float *x, float *m, int n) { k<1024, 4><<<n / 1024, 256>>>(x, m, n); }",
                 "the template's BLOCK; TODO: are results the same with each of these?", "  # TODO: does each fit the template's numbers?\n",
                 "  block: [TUNE_TUNE_BLOCK]\n", "  grid: [n // 1024]\n"),
                ("#define STATES 64\ntypedef struct { float to[STATES][STATES]; } chain_t;\n__global__ void k(const chain_t *c, float *x) { x[blockIdx.x * STATES + threadIdx.x] = c->to[threadIdx.x][0]; }\n"
                 "void f(chain_t *c, float *x) { k<<<100, STATES>>>(c, x); }", "  STATES: [32, 64, 128]\n", "  block: [STATES]\n"),
                ("#define LIMIT 1024\n__global__ void k(float *x, int length, int way) { __shared__ float s[LIMIT]; s[threadIdx.x] = way; x[blockIdx.x * LIMIT + threadIdx.x] = s[length]; }\n"
                 "void f(float *x, int way) { int length = LIMIT; k<<<(1 << 20) / LIMIT, LIMIT / 2>>>(x, length, way); }",
                 "problem: {way: 1}\n", "length, type: int32, value: LIMIT}\n",
                 "way, type: int32, value: way}  # TODO: which value?\n", "  block: [LIMIT // 2]\n", "  grid: [(1 << 20) // LIMIT]\n"),
                ("#define BX 32\nclass Hidden { float by; }; struct Eye { float4 at, to; Hidden more; float wide; };\n__global__ void k(float *x, const float4 *p, Eye eye, int n) { int i = blockIdx.x * BX + threadIdx.x; if (i < n) x[blockIdx.y * gridDim.x + blockIdx.x] = p[i].x * eye.wide; }\n"
                 "void f(Eye eye) { const int n = 4096; float4 own[24], *p; cudaMalloc(&p, sizeof(own)); dim3 grid(n / BX, 7); float *x; cudaMalloc(&x, sizeof(float) * grid.x * grid.y);\n"
                 " k<<<grid, BX>>>(x, p, eye, n); }",
                 "x, type: float32, count: n * n, role: output}  # TODO: how many elements?\n", "p, type: float32x4, count: 24}\n",
                 "{name: eye_data, type: float32, count: 12}"),
                ("#define TPB 64\n__global__ void k(const float *x, float *y, int n) { int i = blockIdx.x * TPB + threadIdx.x; if (i < n) y[i] = x[blockIdx.x]; }\n"
                 "void f(float *y) { const int n = 4096; float *x; cudaMalloc(&x, n / TPB * sizeof(float)); k<<<n / TPB, TPB>>>(x, y, n); }",
                 "x, type: float32, count: n // 32}  # TODO: how many the source has changes with the parameters\n"),
                # What begins as 0 in a loop is no extent; what bounds a loop is no random number.
                ("__global__ void k(float *x, const int *lengths, int n, int k) { int i = blockIdx.x * blockDim.x + threadIdx.x; for (int j = 0; j < lengths[i]; j++) x[i * n + k] += j; }\n"
                 "void f(float *x, int *l) { int n = 4096; for (int k = 0; k < n / 32; k++) k<<<n / 32, 32>>>(x, l, n, k); }",
                 "problem: {n: 4096, k: 1}\n", "lengths, type: int32, count: n}  # TODO: may its elements be any integers", "value: k}  # TODO: which value?\n")):
            draft = self.draft(source)
            for part in parts:
                self.assertIn(part, draft, source)

    def test_fields_that_are_passed(self):
        """"m.rows" is the size that it is passed for: this grid is not one block for each 800 rows."""
        draft = self.draft("struct Matrix { int rows; float *values; };\n__global__ void k(float *x, int n) {\n"
                           " int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8; if (row < n) x[row] = 1; }\n"
                           "int main() { Matrix m = make(); k<<<(m.rows + 99) / 100, 800>>>(m.values, m.rows); }\n")
        self.assertIn('grid: ["ceil_div(n, 100)"]\n', draft)

    def test_steps_of_a_block(self):
        """A template's number in whose steps threads go on is the block that the launch has as a number."""
        draft = self.draft("template <int NT, int K> __global__ void k(float *x, int n) {\n"
                           " for (int i = threadIdx.x; i < n; i += NT) x[blockIdx.x * n + i] = K; }\n"
                           "int main() { k<128, 8><<<dim3(512), dim3(128)>>>(0, 5000); }\n")
        self.assertIn("  block: [TUNE_NT]\n", draft)

    def test_a_block_by_a_short_name(self):
        for head, name in ("", "BS"), ("template <int BS> ", "TUNE_BS"):
            draft = self.draft(head + "__global__ void k(float *x, int n) { int i = blockIdx.x * BS + threadIdx.x; if (i < n) x[i] = 0; }\n")
            for part in f"  {name}: [64, 128, 256, 512, 1024]", f"  block: [{name}]\n", f'  grid: ["ceil_div(n, {name})"]\n':
                self.assertIn(part, draft)

    def test_no_parameters(self):
        """A number that bounds the index, in a file with a helper of the device that needs a flag of nvcc."""
        draft = self.draft("#define NY 512\n#define ROW_STEPS 4\nconstexpr int half(int n) { return n / 2; }\n__global__ void k(float *out, float by) {\n"
                           " int y = blockIdx.y; if (y >= NY) return; for (int s = 0; s < ROW_STEPS; s++) out[y * ROW_STEPS + s] = half(s); }\n"
                           "int main() { k<<<dim3(4096 / ROW_STEPS, NY), 128>>>(0, 1.0 / 3); }\n")
        for part in ("    - \"--expt-relaxed-constexpr\"\n", "  grid: [4096 // ROW_STEPS, 512]\n", "value: 1 / 3}", "override: {ROW_STEPS: define}"):
            self.assertIn(part, draft)

    def test_what_follows_from_the_code(self):
        """Constraints, a grid that waits, structures, another name of a pointer."""
        draft = self.draft("struct Body { float x, y, z; }; struct Box { float low, high; int n; };\n"
                           "constexpr int TILE = 64, STEP = 8; typedef double real;\n"
                           "__global__ void __launch_bounds__(TILE * STEP) k(Body *b, Box box, real *out, const real *in, int n) {\n"
                           " __shared__ double tile[TILE][TILE + 1]; __shared__ char more[STEP]; for (int i = 0; i < TILE; i += STEP) tile[i][0] = in[i];\n"
                           " real *row = out + blockIdx.x * TILE * STEP; row[threadIdx.x] = tile[0][0]; b[n].x += 1;\n"
                           " cooperative_groups::this_grid().sync(); }\n")
        for part in ("  TILE: [32, 64, 128]\n", "  STEP: [4, 8, 16]  # TODO: are results the same", "override: {TILE: constexpr, STEP: constexpr}",
                     "  - TILE % STEP == 0\n", "  - TILE * STEP <= 1024\n",
                     "{name: b, type: float32x3, count: n, role: inout}", "{name: box, type: Box, fields: {low: 1, high: 1, n: n}}  # TODO: which values, in `problem` too?\n",
                     "{name: out, type: float64, count: n, role: output}  # TODO: how many elements?\n", "{name: in, type: float64, count: n}  # TODO: how many elements?\n",
                     "block: [TILE * STEP]", 'grid: ["ceil_div(n, TILE * STEP)"]', "  cooperative: true\n"):
            self.assertIn(part, draft)

    def test_what_names_stand_for(self):
        """Constants by other names, sizes that the source fixes, what is for an axis that is not there."""
        for source, parts, absent in (
                ("#define WARP 32\nconstexpr int kThreads = WARP * 8;\n__global__ void k(float *x, int n) {"
                 " x[blockIdx.x * kThreads + threadIdx.x] = n; }",
                 ("  kThreads: [128, 256, 512]\n", "override: {kThreads: constexpr}", "block: [kThreads]\n", '"ceil_div(n, kThreads)"'), ("WARP",)),
                ("#define WARPS 4\nconstexpr int kThreads = 32 * WARPS;\n__global__ void __launch_bounds__(kThreads) k(float *x) {"
                 " x[threadIdx.x] = 1; }", ("  kThreads: [64, 128, 256]\n", "block: [kThreads]\n"), ("WARPS: ",)),
                ("enum { BLOCK = 256, BINS = 64, ITEMS = 8 };\nstruct Traits { enum Way { WARPS = BLOCK / 32, LANES }; };\n"
                 "__global__ void k(float *x, int n) { int i = blockIdx.x * BLOCK * ITEMS + threadIdx.x; if (i < n) x[i] = BINS + Traits::LANES; }\n"
                 "void f(float *x, int n) { k<<<(n + BLOCK * ITEMS - 1) / (BLOCK * ITEMS), BLOCK>>>(x, n); }",
                 ("  BLOCK: [128, 256, 512]\n", "  ITEMS: [4, 8, 16]\n", "override: {BLOCK: constexpr, ITEMS: constexpr}", "  block: [BLOCK]\n",
                  '"ceil_div(n, BLOCK * ITEMS)"'), ("BINS", "WARPS", "LANES")),
                ("#define ITEMS 4\nconstexpr int kItems = ITEMS;\ntemplate <int I = kItems, int W = 32 / 2> __global__ void k(float *x) { x[I] = W; }",
                 ("  TUNE_I: [1, 2, 4, 8, 16]  # the template's I; ", "  TUNE_W: [4, 8, 16, 32, 64]  # the template's W; TODO: which values? It may be a size\n"), ()),
                ("#define image_width 4096\n#define image_height 2048\n#define other_height 4096\n#ifndef block_size_x\n#define block_size_x 32\n#endif\n"
                 "#ifndef block_size_z\n#define block_size_z 1\n#endif\n__constant__ float d_filter[5 * 5]; __constant__ T odd;\n"
                 "__global__ void k(float *out) { int x = blockIdx.x * block_size_x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;"
                 " if (y < image_height) out[y * image_width + x] = d_filter[0]; }",
                 ("problem: {image_width: 4096, image_height: 2048}\n\n", "\n# TODO: `symbols` fills",
                  'grid: ["ceil_div(image_width, block_size_x)", image_height]'), ("block_size_z", "freeze", "other_height", "odd")),
                ("__global__ void k(float *x, int size) { int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;"
                 " int k = blockIdx.z * blockDim.z + threadIdx.z; x[(k * size + j) * size + i] = 1; }",
                 ("problem: {size: 128}\n", "count: size * size * size, role: output}"), ()),
                ("__global__ void k(float *x, int n) { for (int i = blockIdx.x * block_size_x + threadIdx.x; i < n; i += num_blocks * block_size_x) x[i] = 1; }",
                 ("  num_blocks: [64, 128, 256, 512, 1024]", "  grid: [num_blocks]\n"), ()),
                ("__global__ void k(float *x, const float *s, int rows, int cols) { int row = blockIdx.x;"
                 " if (threadIdx.x < cols) x[row * cols + threadIdx.x] *= s[row]; }", ("{rows: 2048, cols: 2048}", "# TODO: is the block's size free", "grid: [rows]"), ()),
                ("#define THREADS 128\n__global__ void k(float *x, int n) { __shared__ float s[THREADS]; s[threadIdx.x] = n; x[blockIdx.x * blockDim.x] = s[0]; }\n"
                 "void f(float *x, int n) { k<<<n / THREADS, THREADS>>>(x, n); }", ("  block: [THREADS]\n", "  grid: [n // THREADS]\n"), ("BLOCK: ",)),
                ("__global__ void k(float *x, int ids, int radius, int more) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
                 " if (i >= ids || i < radius) return; for (int j = 0; j < more; j++) x[i] += j; }", ("problem: {ids: 4194304, radius: 1, more: 1}\n",), ()),
                ("template <unsigned blockSize> __global__ void k(float *x, int n) { x[blockIdx.x * blockDim.x + threadIdx.x] = blockSize; }\n"
                 "void f(float *x, int n, int threads) { k<256><<<n / threads, threads>>>(x, n); }", ("  block: [BLOCKSIZE]\n",), ("BLOCK: ",)),
                # A block that is named like a size; one lane of it is a warp's; a format that splits no work; an axis that nobody asks for.
                ("#ifndef TBSIZE\n#define TBSIZE 1024\n#endif\n__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 0; }\n"
                 "void f(float *x, int n) { k<<<n / TBSIZE, TBSIZE>>>(x, n); }", ("problem: {n: 4194304}\n", "  TBSIZE: [256, 512, 1024]\n"), ("freeze",)),
                ("#define WARP_SIZE 32\n#define ROWS 4\n#define QK 8\n__global__ void k(float *x, int n) { int i = blockIdx.x * ROWS + threadIdx.y; if (i < n) x[i] = i % QK; }\n"
                 "void f(float *x, int n) { k<<<dim3(n / ROWS), dim3(WARP_SIZE, ROWS)>>>(x, n); }",
                 ("  block: [32, ROWS]\n", "  QK: [4, 8, 16]  # TODO: are results the same with each of these?\n"), ("BLOCK_X",)),
                ("#define TX 64\n#define TY 1\n#define NGHOST 2\n__global__ void k(float *x, int *found, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x + NGHOST; if (i < n) x[i] = 0; if (i == 0) *found = 1; }\n"
                 "void f(float *x, int n) { int *found; cudaMalloc(&found, sizeof(int)); k<<<n / TX, dim3(TX, TY)>>>(x, found, n); }",
                 ("  block: [TX]\n", "{name: found, type: int32, count: 1, role: output}\n"), ("TY", "NGHOST"))):
            draft = self.draft(source).partition("\nkernel: ")[2]
            for part in parts:
                self.assertIn(part, draft, source)
            for part in absent:
                self.assertNotIn(part, draft, source)

    def test_grids_of_rows_borders_and_results(self):
        """Rows along any axis, tiles with a border, blocks with results of their own, what only the launch tells."""
        for source, parts, absent in (
                # A row for each block along both axes, whose length is another size.
                ("template <int B> __global__ void k(const float *x, float *y, int cols, int stride, int plane) { const int row = blockIdx.x, at = blockIdx.y;\n"
                 " x += int64_t(at) * plane + row * stride; float s = 0; for (int c = threadIdx.x; c < cols; c += B) s += x[c]; y[row * plane + at] = s; }",
                 ('  grid: [cols, ROWS]\n', "cols * ROWS, role: output}"), ()),
                # A field of a field is the size that it is passed as; a number of repetitions is no choice.
                ("#ifndef REPEATS\n#define REPEATS 9\n#endif\nstruct list { int total; }; struct job { list jobs; };\n"
                 "__global__ void k(float *x, int n) { for (int r = 0; r < REPEATS; r++) x[blockIdx.x * blockDim.x + threadIdx.x] += n; }\n"
                 "void f(job *j, float *x) { k<<<dim3(j->jobs.total, 7), 64>>>(x, j->jobs.total); }",
                 ("  grid: [n, 7]\n", "  REPEATS: [8, 9, 16]  # TODO: are results the same with each of these?\n"), ()),
                # What the grid does not have is no extent: where work begins, a border, a stride.
                ("__global__ void k(float *x, int first, int count, int n) { int i = first + blockIdx.x * blockDim.x + threadIdx.x; if (i >= first + count) return; x[i] = n; }\n"
                 "void f(float *x, int first, int count) { k<<<(count + 255) / 256, 256>>>(x, first, count, 1024); }",
                 ("{first: 1, count: ", "{name: first, type: int32, value: first}  # TODO: which value?\n"), ("count: first",)),
                ("__global__ void k(float *x, int w, int out, int step, int pad) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < out) x[i] = w; }\n"
                 "void f(float *x, int w, int step, int pad) { int out = (w + 2 * pad) / step; k<<<(out + 63) / 64, 64>>>(x, w, out, step, pad); }",
                 ("problem: {w: 4194304, step: 1, pad: 1}\n", "{name: out, type: int32, value: (w + 2 * pad) // step}", "{name: pad, type: int32, value: pad}  # TODO: which value?\n"), ()),
                # A block's results lie apart from its border.
                ("#define B 16\n__global__ void k(const float *x, float *y, int cols, int rows, int steps) { __shared__ float s[B][B]; int bx = blockIdx.x, by = blockIdx.y;\n"
                 " int inner = B - steps * 2, i = inner * bx + threadIdx.x, j = inner * by + threadIdx.y; s[threadIdx.y][threadIdx.x] = x[j * cols + i]; __syncthreads();\n"
                 " if (i < cols && j < rows) y[j * cols + i] = s[threadIdx.x][0]; }\nvoid f(float *x, float *y, int n, int m, dim3 g) { k<<<g, dim3(B, B)>>>(x, y, n, m, 1); }",
                 ("\n# TODO: does the kernel want this many blocks?\n",), ()),
                # As many results as there are blocks: their number is no choice. What is made of a later argument, and bytes of a called function's array.
                ("#define TPB 256\n#define BLOCKS 64\ntemplate <class T> struct Shared { __device__ operator T *() { extern __shared__ int all[]; return (T *)all; } };\n"
                 "__global__ void k(const float *x, float *sums, int n, int rows) { float *s = Shared<float>(); s[threadIdx.x] = 0;\n"
                 " for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) s[threadIdx.x] += x[i];\n"
                 " if (threadIdx.x == 0) sums[blockIdx.x] = s[0]; }\n"
                 "void f(float *x) { float *d; const int rows = 8; const int n = rows * 1024; cudaMalloc(&d, BLOCKS * sizeof(float)); k<<<BLOCKS, TPB, TPB * sizeof(float)>>>(x, d, n, rows); }",
                 ("problem: {rows: 8}\n", "{name: n, type: int32, value: rows * 1024}", "count: 64, role: output}", "  grid: [64]\n", "  shared_bytes: TPB * 4\n"), ("BLOCKS: ",)),
                # A large block is no size.
                ("#define TBSIZE 1024\n__global__ void k(float *x) { x[blockDim.x * blockIdx.x + threadIdx.x] = 1; }\n"
                 "struct S { int size; float *x; void run() { k<<<size / TBSIZE, TBSIZE>>>(x); } };",
                 ("problem: {SIZE: 4194304}\n", "  TBSIZE: [512, 1024]\n", 'grid: ["ceil_div(SIZE, TBSIZE)"]'), ()),
                # A block of the sizes alone leaves nothing to tune, but the grid is the launch's.
                ("__global__ void k(const float *x, float *y, int batch, int heads, int cols) { int b = blockIdx.x / heads, h = blockIdx.x % heads;\n"
                 " if (threadIdx.x < cols / heads) y[b * cols + h * (cols / heads) + threadIdx.x] = x[b]; }\n"
                 "void f(float *x, float *y) { const int heads = 16, batch = 4, cols = heads * 128; dim3 g(heads * batch), b(cols / heads); k<<<g, b>>>(x, y, batch, heads, cols); }",
                 ("{batch: 4, heads: 16}", "{name: cols, type: int32, value: heads * 128}", "  grid: [heads * batch]\n"), ()),
                # A size that others make follows them, also in what is made of it.
                ("__global__ void k(float *x, int width, int height, int pitch) { int i = blockIdx.x * 64 + threadIdx.x; if (i < width) x[blockIdx.y * pitch + i] = 1; }\n"
                 "void f() { const int width = 1000, height = 500, pitch = (width + 31) / 32 * 32; float *x; cudaMalloc(&x, sizeof(float) * pitch * height);\n"
                 " k<<<dim3((width + 63) / 64, height), 64>>>(x, width, height, pitch); }",
                 ("problem: {width: 1000, height: 500}\n", "count: ((width + 31) // 32 * 32) * height", "{name: pitch, type: int32, value: (width + 31) // 32 * 32}"), ()),
                ("__global__ void k(float *x, int w, int h, int pitch) { int i = blockIdx.x * 64 + threadIdx.x; if (i < w) x[blockIdx.y * pitch + i] = h; }\n"
                 "void f(float *x) { const int w = 1000; k<<<dim3((w + 63) / 64, 500), 64>>>(x, w, 500, w); }",
                 ("problem: {w: 1000, h: 500}\n", "{name: pitch, type: int32, value: w}"), ()),
                # A template's number that sounds like a size may be no choice.
                ("template <int LOG2N> __global__ void k(float *x) { x[(blockIdx.x << LOG2N) + threadIdx.x] = 1; }\nvoid f(float *x) { k<8><<<64, 256>>>(x); }",
                 ("TUNE_LOG2N: [2, 4, 8, 16, 32]  # the template's LOG2N; TODO: which values? It may be a size\n",), ()),
                # A field by its address is the size that it is passed as.
                ("struct plan { int batch; };\ntemplate <int T> __global__ void k(float *x, int batch) { for (int i = threadIdx.x; i < batch; i += T) x[blockIdx.x * 64 + i] = 1; }\n"
                 "void f(const plan *p, float *x) { k<128><<<p->batch, 128>>>(x, p->batch); }", ("  grid: [batch]\n",), ()),
                # A policy's own number, whatever others of that name there are.
                ("struct Narrow { static constexpr int TILE = 32; };\nstruct Wide : Narrow { static constexpr int TILE = 64; };\n"
                 "template <class P> __global__ void k(float *x, int n) { int i = blockIdx.x * P::TILE + threadIdx.x; if (i < n) x[i] = 1; }\n"
                 "template <class P = Narrow> void f(float *x, int n) { k<P><<<(n + P::TILE - 1) / P::TILE, P::TILE>>>(x, n); }\nvoid g(float *x) { f(x, 4096); }",
                 ("entry: k<Narrow>\n", "BLOCK: [32]", "ceil_div(n, BLOCK)"), ()),
                # A loop's variable is no extent where the launch says the grid, nor is what a side of the block divides a side of it.
                ("#define NI 256\n#define BX 32\n#define BY 8\n__global__ void k(float *a, int i) { int k = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;\n"
                 " if (i < NI && j < NI && k < NI) a[(i * NI + j) * NI + k] = 1; }\n"
                 "void f() { float *a; cudaMalloc(&a, sizeof(float) * NI * NI * NI); dim3 b(BX, BY), g(NI / b.x, NI / b.y); int i; for (i = 1; i < NI; ++i) k<<<g, b>>>(a, i); }",
                 ("problem: {i: 1, NI: 256}\n", "count: 256 * 256 * 256, role: output}"), ()),
                ("template <typename scalar_t>\nC10_LAUNCH_BOUNDS_1(512)\n__global__ void k(scalar_t *x) { x[threadIdx.x] = 0; }", ("entry: k<float>  # TODO", ), ())):
            draft = self.draft(source).partition("\nkernel: ")[2]
            for part in parts:
                self.assertIn(part, draft, source)
            for part in absent:
                self.assertNotIn(part, draft, source)

    def test_what_indices_say(self):
        """Blocks by another name, bounds of what begins with them, sides of arrays, constants of the launch alone, and what is allocated."""
        for source, parts, absent in (
                ("template <int BM, int BN, int TM> __global__ void k(int M, int N, int K, float *C) { __shared__ float s[BM * BN]; float own[TM] = {0};"
                 " const int row = blockIdx.y, col = blockIdx.x; C += row * BM * K + col * BN; s[threadIdx.x] = own[0]; C[threadIdx.x] = s[0]; }",
                 ("  TUNE_BM: [4, 8, 16, 32, 64]", "  TUNE_TM: [1, 2, 4]", 'grid: ["ceil_div(N, TUNE_BN)", "ceil_div(M, TUNE_BM)"]'), ()),
                ("constexpr int EACH = 4;\n__global__ void k(float *x, int rows, int columns) { int r = blockIdx.x * blockDim.x + threadIdx.x, j = 0, c = EACH * blockIdx.y;"
                 " if (r + j >= rows || c < columns) return; x[r] = c; }", ('grid: ["ceil_div(rows, BLOCK)", "ceil_div(columns, EACH)"]',), ()),
                ("__global__ void k(float *x, int steps, int B, int T) { int N = B * T, i = blockIdx.x * blockDim.x + threadIdx.x;"
                 " for (int j = i; j < N; j += blockDim.x) x[j] = steps; }", ("problem: {steps: 1, B: 2048, T: 2048}\n", "count: B * T, ", '"ceil_div(B * T, BLOCK)"'), ()),
                ("__global__ void k(float *x, int pitch, int imageW, int imageH) { x[pitch * blockIdx.y + blockIdx.x] = blockDim.x; }\n"
                 "void f(float *x, int w, int h, int p) { k<<<dim3(w / 64, h), 64>>>(x, p, w, h); }", ("problem: {pitch: 2048, imageW: 2048, imageH: 2048}\n",), ()),
                ("__global__ void k(float *y, int M) { int b = blockIdx.x; int row = blockDim.y * b + threadIdx.y; if (row < M) y[row] = threadIdx.x; }\n"
                 "void f(float *y, int M) { dim3 block(32, 4); k<<<M / 4, block>>>(y, M); }", ("  grid: [M // BLOCK_Y, 1]\n",), ()),
                ("template <bool B> __global__ void k(real_t *x, View view, float2 by, real_t n) { x[blockIdx.x] = n + by.x; }\n"
                 "template <class scalar_t> __global__ void other(scalar_t *x) {}\nvoid f(void *x) { DISPATCH([&] { other<scalar_t><<<1, 64>>>((scalar_t *)x); }); }",
                 ("{name: x, type: float32, count: SIZE, role: output}", "{name: by, type: float2, fields: {x: 1, y: 1}}  # TODO: which values?\n", "{name: n, type: float32, value: 1}"), ()),
                ("__global__ void k(float *x, int n, int m, int k, int w) { x[blockIdx.x * blockDim.x] = n + m + k + w; }",
                 ("problem: {n: 32, m: 32, k: 32, w: 32}\n",), ()),
                ("template <int V> __global__ void k(float *x, int rows, int width) { for (int i = threadIdx.x * V; i < width; i += blockDim.x * V) x[blockIdx.x * width + i] = V; }\n"
                 "void f(float *x, int rows, int width) { dim3 grid(rows), block(std::min(width, 1024)); k<4><<<grid, block>>>(x, rows, width); }",
                 ("  BLOCK: [64, 128, 256, 512, 1024]  # TODO: does each fit the template's numbers?\n", "  block: [BLOCK]\n", "  grid: [rows]\n"), ()),
                ("__global__ void k(float *x, int n) {\n#define A(x) B(x + 1)\n#define B(x) A(x + 1)\n x[blockIdx.x * blockDim.x + threadIdx.x] = n; }",
                 ('grid: ["ceil_div(n, BLOCK)"]',), ()),
                ("template <int B_SIZE, int BLOCK> __global__ void k(float *x) { __shared__ float s[BLOCK]; s[threadIdx.x] = B_SIZE; x[blockIdx.x * BLOCK] = s[0]; }\n"
                 "void f(float *x) { k<8, 256><<<9, 256>>>(x); }", ("  block: [TUNE_BLOCK]\n",), ("  BLOCK: ",)),
                ("template <int B> __global__ void k(float *x, int n) { x[blockIdx.x * B + threadIdx.x] = n; }\n"
                 "void f(float *x, int n) { const int threads = 128; k<threads><<<n / threads, threads>>>(x, n); }", ("  block: [TUNE_B]\n", "  grid: [n // TUNE_B]\n"), ("  BLOCK: ",)),
                ("__global__ void k(float *x, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) x[blockIdx.x * n + i] = 1; }\n"
                 "void f(float *x, int n) { k<<<128, 128>>>(x, n); }", ("  block: [BLOCK]\n", "  grid: [128]\n"), ()),
                ("#define SIDE 64\ntemplate <int B> __global__ void k(float *x) { __shared__ float s[SIDE]; s[threadIdx.x] = B; x[blockIdx.x * B] = s[0]; }\n"
                 "void f(float *x) { k<SIDE><<<9, SIDE>>>(x); }", ("  - TUNE_B == SIDE\n", "override: {SIDE: define}"), ()),
                # Sizes of the grid are what the source works on; bytes need no size.
                ("#define NX 512\n#define NY 384\ntypedef double real;\n__constant__ real w[9];\n__device__ __constant__ unsigned char rule[16];\n__global__ void k(real *f, const unsigned char *solid) {\n"
                 " int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y; if (x < NX && y < NY) f[y * NX + x] = w[solid[x] % 9]; }\n"
                 "void f() { real *f; unsigned char *s; cudaMalloc(&f, NX * NY * sizeof(real)); cudaMalloc(&s, NX * NY); dim3 g(NX / 64, NY); k<<<g, 64>>>(f, s); }",
                 ("problem: {NX: 512, NY: 384}\n", "{name: f, type: float64, count: 512 * 384, role: output}\n",
                  "{name: solid, type: uint8, count: 512 * 384}  # TODO: may its elements be any integers, or which `fill` or `file`?\n"), ()),
                ("#define COUNT 224\nconstexpr int THREADS = 256;\n__global__ void k(float *x) { x[COUNT * blockIdx.x + threadIdx.x] = blockDim.x; }\n"
                 "void f() { float *x; cudaMalloc(&x, COUNT * COUNT * sizeof(float)); dim3 block(THREADS); k<<<COUNT, block>>>(x); }",
                 ("\nparameters:\n  THREADS: [128, 256, 512]\n", "override: {THREADS: constexpr}", "  block: [THREADS]\n", "  grid: [224]\n"), ("  COUNT: ",)),
                ("#define MAX_THREADS_PER_BLOCK 512\n#define MAX_ROWS 64\n__global__ void k(float *x, int n) { int i = blockIdx.x * MAX_THREADS_PER_BLOCK + threadIdx.x; if (i < n) x[i] = MAX_ROWS; }\n"
                 "void f(float *x, int n) { int threads = n; if (n > 512) threads = 512; k<<<1, threads>>>(x, n); }",
                 ("  MAX_THREADS_PER_BLOCK: [256, 512, 1024]\n", "  block: [MAX_THREADS_PER_BLOCK]\n", '"ceil_div(n, MAX_THREADS_PER_BLOCK)"'), ("BLOCK: [256]", "MAX_ROWS")),
                ("__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 1; }\n"
                 "void f(float *x) { const int n = 512; k<<<1, n>>>(x, n); }", ("problem: {n: 512}\n", "  block: [BLOCK]\n", '"ceil_div(n, BLOCK)"'), ()),
                ("const int SIDE = 1024, RADIX = 4;\n#define THREADS (SIDE / RADIX)\n__global__ void __launch_bounds__(THREADS) k(float *x) { x[blockIdx.x * THREADS + threadIdx.x] = RADIX; }",
                 ("  RADIX: [2, 4, 8]  # TODO: are results the same", "  block: [SIDE // RADIX]\n"), ("THREADS: ",)),
                ("template <class I> I ceil_div(I a, I b) { return (a + b - 1) / b; }\nstruct Sums { float *x; int n; };\n"
                 "template <int VECTORS, int LANES> __global__ void __launch_bounds__(VECTORS * LANES) k(Sums s) { for (int i = blockIdx.x * VECTORS; i < s.n; i++) s.x[i] = LANES; }\n"
                 "template <int LANES> void run(const Sums &sums) { const int threads = 128, vectors = threads / LANES;\n"
                 " const int blocks = ceil_div<int>(sums.n * 2, vectors); k<vectors, LANES><<<blocks, threads>>>(sums); }\nvoid f(Sums s) { run<8>(s); }",
                 ("  TUNE_VECTORS: [4, 8, 16, 32, 64]", '  grid: ["ceil_div(n * 2, TUNE_VECTORS)"]\n'), ()),
                # Values that are given behind the declaration, by functions of the host, by branches.
                ("__global__ void k(float *x, int cols) { x[blockIdx.x * blockDim.x + threadIdx.x] = cols; }\nint N = 2048; int main(int argc, char **argv) {\n"
                 " float *x; int cols, blocks; size_t bytes; if (argc > 1) N = atoi(argv[1]); cols = N + 1; bytes = sizeof(float) * cols * cols; cudaMalloc((void **)&x, bytes);\n"
                 " blocks = (cols + 63) / 64; k<<<blocks, 64>>>(x, cols); }", ("problem: {cols: 2049}\n", "count: cols * cols, ", 'grid: ["ceil_div(cols, BLOCK)"]'), ()),
                ("constexpr int kThreads = 64, kPaths = 4;\n__global__ void k(float *x, int n) { x[blockIdx.x * kThreads + threadIdx.x] = n * kPaths; }\n"
                 "struct Pricer { int paths = 1 << 20; int blocks() const { return (paths + kThreads * kPaths - 1) / (kThreads * kPaths); }\n"
                 " void run(float *x) { k<<<blocks(), kThreads>>>(x, paths); } };", ("  kPaths: [2, 4, 8]  # TODO: are results the same with each of these?\n", 'grid: ["ceil_div(n, kThreads * kPaths)"]'), ()),
                ("struct Range { int begin, end; int n() const { return 7; } int threads() const { return 32; } };\n__global__ void k(float *x, int n) { x[blockIdx.x * blockDim.x + threadIdx.x] = n; }\n"
                 "void f(float *x, int n, int threads) { k<<<(n + threads - 1) / threads, threads>>>(x, n); }", ("problem: {n: 4194304}\n", "  BLOCK: [64, 128, 256, 512, 1024]"), ()),
                ("constexpr int kBlock = 512, kOther = 64;\n__global__ void other(float *x) { x[threadIdx.x] = 0; }\nvoid g(float *x) { dim3 block; block.x = kOther; other<<<1, block>>>(x); }\n"
                 "__global__ void k(float *x, int n, int m) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n && blockIdx.y < m) x[blockIdx.y * n + i] = 0; }\n"
                 "void f(float *x, int n, int m) { dim3 block, grid; if (n <= kBlock) { block.x = n; grid.x = 1; } else { block.x = kBlock; grid.x = (n + kBlock - 1) / kBlock; }\n"
                 " grid.y = m; k<<<grid, block>>>(x, n, m); }\nvoid h(float *x) { dim3 block; block.x = kOther; other<<<1, block>>>(x); }",
                 ("  kBlock: [256, 512, 1024]\n", "  block: [kBlock, 1]\n", '  grid: ["ceil_div(n, kBlock)", m]\n'), ("kOther",)),
                ("template <int BM, int TM> __global__ void __launch_bounds__(BM / TM) k(float *x, int n) { x[blockIdx.x * BM + threadIdx.x * TM] = n; }\n"
                 "void f(float *x, int n) { k<256, 4><<<(n + 255) / 256, 64>>>(x, n); }", ("  block: [TUNE_BM // TUNE_TM]\n",), ("BLOCK:",)),
                # Blocks that wait for each other, of which the device says how many there may be; casts of what is passed.
                ("__global__ void k(float *x, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = 0; cooperative_groups::this_grid().sync(); }\n"
                 "void f(int sms) { int n = 4096; float *x; cudaMalloc(&x, 3 * n * sizeof(float)); void *p[] = {(void *)&x, (void *)&n};\n"
                 " cudaLaunchCooperativeKernel((void *)k, dim3(sms * 2), dim3(128), p, 0, 0); }",
                 ("problem: {n: 4096, sm_count: 132}", "count: 3 * n, ", "  grid: [sm_count * 2]\n", "\n# As the source launches it.\n"), ()),
                # Casts of the block's index; a block that somebody else chooses; what bounds no index that is known.
                *((f"template <int V> __global__ void k(float *x, size_t n) {{ const size_t i = ({cast} * blockDim.x + threadIdx.x) * V; if (i < n) x[i] = V; }}\n", 
                   ('grid: ["ceil_div(n, BLOCK * TUNE_V)"]',), ("ROWS",)) for cast in ("size_t(blockIdx.x)", "static_cast<size_t>(blockIdx.x)")),
                ("__global__ void k(float *x, int n, int ld) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < ld * n; i += gridDim.x * blockDim.x) x[i] = 0; }\n"
                 "void f(float *x, int n, int ld) { int least = 0, threads = 0; cudaOccupancyMaxPotentialBlockSize(&least, &threads, k, 0, 0);\n"
                 " int blocks = (n + threads - 1) / threads; k<<<blocks, threads>>>(x, n, ld); }",
                 ("# TODO: is the block's size free?\n", "  BLOCK: [64, 128, 256, 512, 1024]", '  grid: ["ceil_div(n, BLOCK)"]\n'), ()),
                ("#define AT(i) i = blockIdx.x * blockDim.x + threadIdx.x\n__global__ void k(float *x, int kinds, int atoms) { int i; AT(i); if (i < atoms) x[i] = kinds; }",
                 ("problem: {kinds: 1, atoms: 4194304}\n", '"ceil_div(atoms, BLOCK)"'), ()),
                ("__global__ void k(int x_min, int x_max, float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = x_min; }", ("problem: {x_min: 1, x_max: 4194304}\n",), ()),
                # A constant is used where what is made of it is. What a launch names stands in spaces within its own.
                ("const int LOG = 3, KEYS = 1 << LOG;\n__global__ void k(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 0; }\nvoid f(float *x) { k<<<KEYS, 64>>>(x); }",
                 ("  grid: [1 << 3]\n",), ("LOG",)),
                ("namespace a { namespace b { enum class Act { relu, gelu }; template <Act A> __global__ void k(float *x) { x[threadIdx.x] = (int)A; } }\n"
                 "void f(float *x) { b::k<b::Act::gelu><<<1, 64>>>(x); } }", ("defaults: {TUNE_A: gelu, ",), ()),
                # Each line says what the source does not: how many elements, which value; a field of no size is none of its name.
                ("struct Box { double x; int n; };\n__global__ void k(float *out, const float *in, Box box, int n, int x, int kind) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = in[x + kind]; }\n"
                 "void f(float *in, Box box) { int n = 4000; float *out; cudaMalloc(&out, n * sizeof(float)); k<<<(n + 63) / 64, 64>>>(out, in, box, n, 5, ask()); }",
                 ("count: n, role: output}\n", "{name: in, type: float32, count: n}  # TODO: how many elements?\n", "fields: {x: 1, n: n}}  # TODO: which values?\n", "value: n}\n", "value: x}\n",
                  "value: kind}  # TODO: which value?\n"), ()),
                # An array of addresses.
                *(("__global__ void k(float *out, const float *in, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = in[i]; }\n" + clip +
                  "int main() { int n = 4096, a = 0; float *in, *out; pick(n, a); cudaMalloc(&out, n * sizeof(float)); cudaMalloc(&in, 2 * n * sizeof(float));\n"
                  " void *args[] = {&out, &in, &n}; cudaLaunchKernel((void *)k, dim3(n / 64), dim3(64), args, 0, 0); }\n" + behind, parts, ())
                  for clip, behind, parts in (("void pick(int n, const int &a) {}\n", "", ("{name: out, type: float32, count: n, ", "count: 2 * n}\n", "value: n}\n", "grid: [n // BLOCK]")),
                                              ("void pick(int n, int a);\n", "void g(int b, int c) { pick(b & c, c); }", ("value: n}\n",)))),
                # What is in subscripts is no random number, also by variables that begin with it.
                ("__global__ void k(float *y, const float *x, const int *rows, const int *columns, const int *bins, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x, begin = rows[i];\n"
                 " float sum = 0; for (int j = begin; j < rows[i + 1]; j++) sum += x[columns[j]] * bins[i]; if (i < n) y[i] = sum; }",
                 (*(f"{{name: {name}, type: int32, count: n}}  # TODO: may its elements be any integers, or which `fill` or `file`?" for name in ("rows", "columns", "bins")),
                  "{name: x, type: float32, count: n}  # TODO: how many elements?\n"), ()),
                # By way of a tile, too; what is a real number is none.
                ("__constant__ float w[9];\n__global__ void k(const unsigned char *in, const float *a, float *y) { __shared__ unsigned char tile[4][8]; float b; if (threadIdx.x < 32) tile[threadIdx.y][threadIdx.x] = in[threadIdx.x]; b = a[0];\n"
                 "y[threadIdx.x] = w[tile[0][threadIdx.x]] + w[(int)b]; }", ("in, type: uint8, count: SIZE * SIZE}  # TODO: may its elements be any integers", "a, type: float32, count: SIZE * SIZE}  # TODO: how many"), ()),
                # What is one for each block is not counted where the blocks are a guess.
                ("template <int B> __global__ void k(float *x, int n) { x[blockIdx.x] = threadIdx.x < n; }\n"
                 "void f(int n, int b) { float *x; cudaMalloc(&x, 64 * sizeof(float)); int g; blocks(n, &g); switch (b) { case 96: k<96><<<g, b>>>(x, n); case 32: k<32><<<g, b>>>(x, n); case 512: k<512><<<g, b>>>(x, n); } }",
                 ("  TUNE_B: [64, 96, 128]  # the template's B; ", "{name: x, type: float32, count: n, role: output}  # TODO: how many"), ()),
                # By way of a launcher.
                ("template <int N> __global__ void k(double *x, int batch) { x[blockIdx.x * N + threadIdx.x] = batch; }\ntemplate <int M> void run(double *x, int batch) { k<M><<<batch, M>>>(x, batch); }\n"
                 "void f(int n) { const int b = 99; double *x; cudaMalloc(&x, 16 * b * sizeof(double)); switch (n) { case 4: run<4>(x, b); case 12: run<12>(x, b); case 32: run<32>(x, b); } }",
                 ("  TUNE_N: [1, 2, 4, 8, 16]  # the template's N; ", "count: 16 * batch, role: output}\n"), ()),
                # A pointer that the launch moves, bytes of another type, results of blocks, a border that is a number of its own.
                ("#define EDGE 2\n#define TPB 64\n__global__ void k(const float *x, const float2 *y, float *sums, int n) { int i = blockIdx.x * TPB + threadIdx.x - EDGE; sums[blockIdx.x] = i < n ? x[i] + y[i].x : 0; }\n"
                 "void f() { const int n = 4096; float *x, *y, *s; cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, n * sizeof(float)); cudaMalloc(&s, n / TPB * sizeof(float));\n"
                 " k<<<n / TPB, TPB>>>(x + EDGE, (float2 *)y, s, n); }",
                 ("count: n}  # TODO: the source passes a later element: are those before it read?\n", "y, type: float32x2, count: n}  # TODO: how many elements?\n",
                  "count: n // 32, role: output}  # TODO: how many the source has changes with the parameters\n", "  EDGE: [1, 2, 4]  # TODO: are results the same"), ()),
                # A grid that divides nothing, whatever the block is; a name of the kernel that a macro of the host has, too.
                ("__global__ void k(float *x, int b, int m) { for (int i = threadIdx.x; i < m; i += blockDim.x) x[blockIdx.x * m + i] = 0; }\n"
                 "void f(float *x, int b, int m) { k<<<b, threads_of(m)>>>(x, b, m); }\nMODULE(NAME, m) { m.def(1); }\nint other = m;",
                 ("{name: m, type: int32, value: m}\n", "\n# TODO: is the block's size free?\nlaunch:\n  block: [BLOCK]\n  grid: [b]\n"), ()),
                # What casts make a fraction, that rounds up or not; the block that a size is where no parameter tells it; a flag of the template may change results.
                ("template <bool Odd> __global__ void k(float *x, int n, int m, int b, int tiles, float s, float t) { for (int i = 0; i < tiles; i++) x[i * b + threadIdx.x] = Odd ? s * n : t * m; }\n"
                 "void f(float *x, int n, int m) { const int b = 96; int tiles = ceil((float)n / b); k<true><<<4, b>>>(x, n, m, b, tiles, float(n) / m, n / (float)m); }",
                 ('tiles, type: int32, value: "ceil_div(n, b)"}\n', "s, type: float32, value: n / m}\n", "t, type: float32, value: n / m}\n", "  ODD: [false, true]  # the template's Odd; TODO: are results the same"), (" // m",)),
                # A type with a comma is one parameter of the host's function.
                ("template <class I> struct Csr { I rows; };\ntemplate <class IndexType> __global__ void k(float *x, float *y, IndexType n) { x[threadIdx.x] = y[n]; }\n"
                 "template <class IndexType> void f(const Pair<IndexType, float> &A, float *x, float *y, int n) { k<IndexType><<<1, 64>>>(x, y, n); }\nvoid g(Pair<int, float> B, float *u, float *v) { f(B, u, v, 96); }",
                 ("entry: k<int>  # TODO: ", "{name: n, type: int32, value: n}\n", "problem: {n: 96}\n"), ()),
                # What moves a pointer is an index, what is made of facts alone is one.
                ("#define RADIUS 2\n#define TILE 32\n#define WIDE (TILE + 2 * RADIUS)\n__global__ void k(float *y, const int *rows, const float *x) { const int area = (2 * RADIUS + 1) * (2 * RADIUS + 1); __shared__ float s[WIDE];\n"
                 " s[threadIdx.x] = x[blockIdx.x * TILE + threadIdx.x]; atomicAdd(y + rows[threadIdx.x], s[0] / area); }",
                 ("rows, type: int32, count: SIZE}  # TODO: may its elements be any integers", "x, type: float32, count: SIZE}  # TODO: how many elements?\n", "  TILE: [16, 32, 64]\n", "  area: [16, 25, 32]  # TODO: are results the same"), ()),
                # A name that a macro declares for what it is passed.
                ("#define BOOL_SWITCH(COND, NAME, ...) if (COND) { constexpr bool NAME = true; __VA_ARGS__(); } else { constexpr bool NAME = false; __VA_ARGS__(); }\n"
                 "template <int N, bool kLast> struct Tr { static constexpr int kN = N; };\ntemplate <class T> __global__ void k(float *x) { x[threadIdx.x] = T::kN; }\n"
                 "void f(float *x, bool last) { BOOL_SWITCH(last, kIsLast, [&] { k<Tr<64, kIsLast>><<<1, 64>>>(x); }); }", ('entry: "k<Tr<TUNE_N, true>>"  # TODO: ',), ("kIsLast",)),
                # What a launch gives the template is in its grid as a number; logarithms of sizes and what is subtracted are sizes, kinds may change results.
                ("enum Mode { sum, mean };\n#define LOG2_LEN 11\n#define LEN (1 << LOG2_LEN)\ntemplate <int R, Mode M> __global__ void k(float *x, int last, int first) { for (int r = 0; r < R; r++) x[(blockIdx.x * 64 + threadIdx.x) * R + r] = LEN; }\n"
                 "void f(float *x, int last, int first) { k<4, mean><<<(last - first + 64 * 4 - 1) / (64 * 4), 64>>>(x, last, first); }",
                 ("\nproblem: {last: 2048, first: 1, LEN: 2048}\n", "  TUNE_M: [sum, mean]  # TODO: are results the same with each of these?\n", "value: first}  # TODO: which value?\n",
                  'grid: ["ceil_div(last - first, 64 * TUNE_R)"]'), ("LOG2_LEN: [",)),
                ("#define LEN (1 << 11)\n__global__ void k(float *x) { x[threadIdx.x] = LEN; }", ("\n# TODO: the source itself sets LEN: another value here changes nothing of the kernel.\nproblem: {LEN: 2048}\n",), ()),
                # A question about its type is not lost by one about its role.
                ("typedef double real;\n__global__ void k(int n, real **a, real **x) { const real *row = a[blockIdx.x]; real *y = x[blockIdx.x]; y[0] = row[0]; }",
                 ("x, type: uint8x8, count: n, role: inout}  # TODO: real *: which type?  # TODO: how many elements?  # TODO: output, inout, scratch or counter?",), ()),
                # Planes of a grid are the problem's, points of a score no speed; a plain launch has no clusters.
                ("#define TILE 32\n#define MATCH 5\n#define NZ 96\n__global__ void k(float *x, const float *y) { int i = blockIdx.z * TILE + threadIdx.x; x[i] = y[i] > 0 ? MATCH : -1; cg::this_cluster().sync(); }\n"
                 "void f(float *x) { k<<<dim3(1, 1, NZ), TILE>>>(x, x); }", ("\nparameters:\n  TILE: [16, 32, 64]\n", "  # TODO: cluster: [2]  how many blocks form a cluster?\n  grid: [1, 1, 96]\n"), ("MATCH", "NZ")),
                # How long a list is that the source fills is not to be chosen.
                ("#define Q 3\n#define ITEMS 4\n__constant__ float w[Q] = {1, 2, 1};\n__global__ void k(float *x) { float sum[ITEMS] = {}; for (int i = 0; i < Q; i++) sum[0] += w[i]; x[threadIdx.x] = sum[0]; }",
                 ("  ITEMS: [2, 4, 8]\n",), ("Q: [",)),
                # Types of the host's functions: traits with constants, by another name, a default of a library that is not there.
                ("template <int kM_, int kWarps_> struct Traits { static constexpr int kM = kM_, kWarps = kWarps_, kThreads = kWarps * 32; };\n"
                 "template <class Tr, bool Causal> __global__ void __launch_bounds__(Tr::kThreads) k(float *x, int rows) { x[(blockIdx.x * Tr::kM + threadIdx.x) * rows] = Causal; }\n"
                 "template <class Tr> void run(float *x, int rows) { k<Tr, true><<<(rows + Tr::kM - 1) / Tr::kM, Tr::kThreads>>>(x, rows); }\n"
                 "template <int D> void call(float *x) { constexpr int kRows = 16; run<Traits<kRows, 4>>(x, D); }\ntemplate void call<64>(float *);",
                 ('entry: "k<Traits<KM_, KWARPS_>, CAUSAL>"\n', "  KM_: [4, 8, 16, 32, 64]  # the template's kM_; TODO: are results the same", 'grid: ["ceil_div(rows, KM_)"]', "  block: [KWARPS_ * 32]"), ("kThreads", "  kM: ")),
                ("template <int N> struct Config { static constexpr int kThreads = N; };\ntemplate <class C> __global__ void k(float *x) { x[blockIdx.x * C::kThreads + threadIdx.x] = 0; }\n"
                 "void f(float *x) { using Mine = Config<128>; k<Mine><<<8, Mine::kThreads>>>(x); }", ('entry: k<Config<TUNE_N>>\n', "  block: [TUNE_N]\n"), ()),
                ("#include <cub/block/block_load.cuh>\ntemplate <int B, cub::BlockLoadAlgorithm LOAD = cub::BLOCK_LOAD_DIRECT, bool Last = false> __global__ void k(float *x) { x[blockIdx.x * B + threadIdx.x] = Last; }\n"
                 "void f(float *x) { k<64><<<1, 64>>>(x); }", ('entry: "k<TUNE_B, cub::BLOCK_LOAD_DIRECT, LAST>"\n',), ()),
                ("template <typename T, typename std::enable_if<!std::is_same<T, float>::value>::type * = nullptr> __device__ void f(T *x) { *x = 0; }\n"
                 "__global__ void k(double *x) { f(x); }", ('entry: "&k"',), ())):
            draft = self.draft(source).partition("\nkernel: ")[2]
            for part in parts:
                self.assertIn(part, draft, source)
            for part in absent:
                self.assertNotIn(part, draft, source)

    def test_headers_of_the_host(self):
        """They are Hone's own: what they declare is none of the kernel's, and no missing one of a library hides what is."""
        draft = self.draft("#include <cub/cub.cuh>\n#include <cmath>\n#include <climits>\n#include <type_traits>\n#include <cuda.h>\n"
                           "#define SIDE INT_MAX / 2 / 1024 / 65536\n"
                           "template <class T, std::enable_if_t<std::is_floating_point<T>::value, int> = 0> __device__ T f(T x) { return x * M_PI; }\n"
                           "__global__ void k(float *x) { for (int i = 0; i < ITEMS; i++) x[SIDE * i] = f(x[i]) < FLT_MAX && i < SHRT_MAX; }\n")
        self.assertIn("\nparameters:\n  ITEMS: [1, 2, 4]  # TODO: which values? The source defines it nowhere\n  BLOCK: ", draft)

    def test_structures(self):
        """What the problem has goes by the field's name, pointers are buffers; what has no address is bytes."""
        source = self.write("k.cu", """\
namespace own {
enum Mode { plain };
struct Base { float *out; };
struct Node { Node *next; int id; };
union Both { float real; unsigned bits; };
typedef struct : Base { const double *in[2]; float4 by; Both both; Mode mode; struct { int width, height; } size; Node *nodes; } Image;
struct Packed { int low : 4, high : 4; };
class Hidden { int own; };
struct Weights { float w[3][4]; };
}
__global__ void k(own::Image image, own::Packed packed, own::Hidden hidden, own::Weights weights, own::Node *list, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < image.size.width && y < image.size.height)
        image.out[y] = image.in[0][x] + weights.w[0][0];
    list[0].id = height;
}
""")
        config = self.folder / "k.yaml"
        self.hone("init", source, "-o", config, "-q")
        text = config.read_text()
        for part in ("problem: {width: 2048, height: 2048}\n", 'grid: ["ceil_div(width, BLOCK_X)", "ceil_div(height, BLOCK_Y)"]\n',
                     "  - {name: image_out, type: float32, count: width * height, role: output}  # TODO: how many elements?\n",
                     "  - {name: image_1, type: float64, count: width * height}  # TODO: how many elements?\n",
                     '  - {name: image, type: "own::Image", fields: {out: {buffer: image_out}, "in[0]": {buffer: image_1}, '
                     '"in[1]": {buffer: image_2}, by.x: 1, by.y: 1, by.z: 1, by.w: 1, both.real: 1, mode: 1, size.width: width, '
                     "size.height: height, nodes: {buffer: image_nodes}}}  # TODO: which values, in `problem` too?\n",
                     "  - {name: packed_data, type: int32, count: 1}  # TODO: which contents", "  - {name: hidden_data, type: int32, count: 1}",
                     "  - {name: weights, type: \"own::Weights\", fields: {\"w[0][0]\": 1, ", "  arguments: [image, packed, hidden, weights, list, height]\n",
                     "  - {name: list, type: uint8x16, count: width * height, role: output}  # TODO: own::Node has fields of several types; "):
            self.assertIn(part, text)
        self.hone("compile", config, "--arch", "sm_90")

    def test_structures_of_the_same_names(self):
        """Of two structures each may have an x of its own."""
        draft = self.draft("__global__ void k(float *x, dim3 size, dim3 leap) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size.x) x[i] = leap.y; }")
        self.assertIn("{name: size, type: dim3, fields: {x: x, y: y, z: z}}  # TODO: which values, in `problem` too?\n", draft)
        self.assertIn("{name: leap, type: dim3, fields: {x: x, y: y, z: z}}  # TODO: which values, in `problem` too?\n", draft)

    def test_views_with_methods(self):
        """A method may write to all that its structure points to, which its template is given the type of."""
        draft = self.draft("template <class T> struct Rows { T *data; int step; __device__ T *row(int y) const { return data + y * step; } };\n"
                           "__global__ void k(Rows<const float> in, Rows<float> out, int n) { out.row(blockIdx.x)[threadIdx.x] = in.row(n)[0]; }\n")
        self.assertIn("{name: in_data, type: float32, count: n * ROWS}  # TODO: how many", draft)
        self.assertIn("{name: out_data, type: float32, count: n * ROWS, role: inout}  # TODO: output, ", draft)

    def test_function_objects(self):
        """What is called is what a launch passes, also by a function of the host that is a template, or an instantiation names."""
        objects = """\
namespace own {
struct Scale {
    float by;
    int add;
    __device__ float operator()(float x) const { return by * x + add; }
};
struct Negate { __device__ float operator()(float x) const { return -x; } };
template <typename T, class F, class G> __global__ void k(T *y, const T *x, T a, int n, F f, G g)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = f(x[i]) + g(a);
}
}
"""
        fields = '{name: f, type: "own::Scale", fields: {by: 1, add: add}}  # TODO: which values, in `problem` too?\n'
        asked = "{name: f, type: uint8, value: 1}  # TODO: which value, and how is F passed (`from`, docs/config.md)?"
        self.assertIn('entry: "own::k<float, float, float>"  # TODO: are these', self.hone("init", self.write("k.cu", objects), "-o", "-").stdout)
        for launch, parts in (("void f(double *y, int n) { own::k<<<(n + 63) / 64, 64>>>(y, y, 3.0, n, own::Scale{2, 1}, own::Negate{}); }\n",
                               ('entry: "own::k<double, own::Scale, own::Negate>"\n', fields, "{name: a, type: float64, value: 3}\n")),
                              ("template <class S, class A> void both(S *y, A apply) { own::k<S, A, A><<<8, 64>>>(y, y, S(3), 512, apply, apply); }\nvoid f(double *y) { both(y, own::Negate{}); }\n",
                               ('entry: "own::k<double, own::Negate, own::Negate>"\n', asked, "{name: y, type: float64, count: ")),
                              ("template __global__ void own::k<double, own::Negate, own::Negate>(double *, const double *, double, int, own::Negate, own::Negate);\n",
                               ('entry: "own::k<double, own::Negate, own::Negate>"\n', asked, "{name: y, type: float64, count: n, role: output}"))):
            config = self.folder / f"k{len(launch)}.yaml"
            self.hone("init", self.write("k.cu", objects + launch), "-o", config, "-q")
            for part in parts:
                self.assertIn(part, config.read_text())
            self.assertEqual(json.loads(self.hone("compile", config, "--arch", "sm_90", "--json").stdout)[0]["outcome"], "ok")

    def test_lambdas(self):
        source = ("template <class F> __global__ void k(float *x, int n, F f) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = f(i); }\n"
                  "void g(float *x, int n) { k<<<(n + 255) / 256, 256>>>(x, n, [=] __device__(int i) { return x[i] + n; }); }")
        self.assertIn("  # TODO: are these the types and values to instantiate it with?\n", self.draft(source))
        self.assertNotIn("lambda", self.draft("#include \"own.h\"\n" + source.replace("k<<<", "k<own::Add<float>><<<").replace("[=] __device__(int i) { return x[i] + n; }", "{}")))
        alone = self.write("alone.cu", source.replace("float *x, int n, F f", "int n, F f").replace("x[i] = f(i)", "f(i)").replace(">>>(x, n", ">>>(n"))
        self.assertIn("\n# TODO: which argument is passed the results? One has to be output or inout.\n", self.hone("init", alone, "-o", "-").stdout)

    def test_structures_of_the_template_s_types(self):
        source = self.write("k.cu", """\
namespace own {
template <class V> struct View {
    V *__restrict__ data[2];
    long long stride;
};
template <typename In, typename Out> struct Params {
    View<const In> in;
    View<Out> out;
    Out *last;
    int n;
};
}
template <int ITEMS, typename T, typename Sum> __global__ void k(own::Params<T, Sum> p, own::View<float> plain)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n)
        p.out.data[0][i] = p.in.data[0][i] + p.in.data[1][i] + plain.data[0][i];
}
template __global__ void k<2, float, double>(own::Params<float, double>, own::View<float>);
""")
        config = self.folder / "k.yaml"
        self.hone("init", source, "-o", config, "-q")
        text = config.read_text()
        for part in (": which type?",
                     '{name: p, type: "own::Params<float, double>", fields: {"in.data[0]": {buffer: p_0}, "in.data[1]": {buffer: p_1}, '
                     'in.stride: stride, "out.data[0]": {buffer: p_3}, "out.data[1]": {buffer: p_4}, out.stride: stride, last: {buffer: p_last}, n: n}}',
                     '{name: plain, type: "own::View<float>", fields: {"data[0]": {buffer: plain_0}, "data[1]": {buffer: plain_1}, '
                     "stride: stride}}"):
            self.assertIn(part, text)
        self.assertEqual(json.loads(self.hone("compile", config, "--arch", "sm_90", "--json").stdout)[0]["outcome"], "ok")

        # Which structure a type of the template has is told by the launch.
        draft = self.draft("template <class T> struct Scale { struct Params { const T *in; T *out; int n; }; __device__ void operator()(const Params &p) {"
                           " int i = blockIdx.x * 256 + threadIdx.x; if (i < p.n) p.out[i] = p.in[i]; } };\n"
                           "template <class Op> __global__ void k(typename Op::Params params) { Op op; op(params); }\nusing Own = Scale<double>;\n"
                           "void f(const double *in, double *out, int n) { typename Own::Params params{in, out, n}; k<Own><<<(n + 255) / 256, 256>>>(params); }\n")
        for part in ("{name: params_in, type: float64, count: n}", "{name: params_out, type: float64, count: n, role: inout}  # TODO: output, inout, scratch or counter?  # TODO: how many elements?\n",
                     '{name: params, type: "Scale<double>::Params", fields: {in: {buffer: params_in}, out: {buffer: params_out}, n: n}}'):
            self.assertIn(part, draft)

    def test_launches_in_macros(self):
        source = """\
#define SIZE_OF_BLOCK 128
enum class Mode { one, two };
template <class T, Mode M, int N> __global__ void k(T *x, int n) { x[blockIdx.x * blockDim.x + threadIdx.x] = n; }
#define RUN(M, kernel) kernel<float, M, 4><<<grid, block>>>(x, size)
"""
        launch = "void f(float *x, int size) { dim3 block(SIZE_OF_BLOCK), grid(size / block.x); %s; }\n"
        for before, use, given in ((source.replace("kernel<", "k<"), "RUN(Mode::one, k)", '"k<float, Mode::TUNE_M, TUNE_N>"\n'),
                            (source.rpartition("#define RUN")[0] + "#define RUN(kernel, ...) kernel<float, Mode::one, 4> __VA_ARGS__\n",
                             "RUN(k, <<<grid, block>>>(x, size))", "Mode::TUNE_M, ")):
            draft = self.draft(before + launch % use)
            for part in ("block: [SIZE_OF_BLOCK]\n", "grid: [n // SIZE_OF_BLOCK]\n", given):
                self.assertIn(part, draft, use)
        # The kernel, and what is passed, are the macro's parameters.
        draft = self.draft("#define TPB 128\n#define RUN(kernel, n, x, by, more) kernel<<<n / TPB, TPB>>>(n, x, by, more)\n__global__ void k(int n, float *x, float by, int more) { x[blockIdx.x * blockDim.x + threadIdx.x] = by + more; }\n"
                           "void f() { const int n = 1 << 20; float *d; cudaMalloc(&d, 3 * n * sizeof(float)); RUN(k, n, d, 2.5f, 7); }\n")
        for part in ("problem: {n: 1048576, more: 7}\n", "count: 3 * n, ", "value: 2.5}\n", "  block: [TPB]\n", "  grid: [n // TPB]\n"):
            self.assertIn(part, draft)

    def test_kernels_that_macros_begin(self):
        draft = self.draft('#define KERNEL extern "C" __global__\n#define PLAIN __global__\nKERNEL void k(float *x, int n) { x[blockIdx.x * BLOCK + threadIdx.x] = n; }\n')
        self.assertIn("entry: k\n", draft)
        draft = self.draft("#define PLAIN static __global__\nPLAIN void k(float *x, int n) { x[blockIdx.x * BLOCK + threadIdx.x] = n; }\n")
        self.assertIn('entry: "&k"\n', draft)

    def test_what_templates_of_the_host_are_given(self):
        """Through functions, macros and pointers to the kernel down to it; what nothing gives is a question still."""
        kernel = ("template <typename T, int BM, bool CAUSAL, float (*F)(float)> __global__ void k(T *x, int n) { x[blockIdx.x * BM + threadIdx.x] = F(n); }\n"
                  "template <int N> __device__ float add(float x) { return x + N; }\n"
                  "template <typename T, int TILE, int WARPS = 4> void run(T *x, int n) { auto kernel = &k<T, TILE, true, add<WARPS>>; kernel<<<(n + TILE - 1) / TILE, WARPS * 32>>>(x, n); }\n")
        for launch, *parts in (
                ("void f(double *x, int n) { run<double, 64>(x, n); }", 'entry: "k<double, TUNE_BM, TUNE_CAUSAL, add<4>>"\n', "TUNE_BM: [16, 32, 64, 128, 256]",
                 "block: [4 * 32]", '"ceil_div(n, TUNE_BM)"'),
                ("#define RUN(N, ...) run<double, N, 8>(__VA_ARGS__)\n#define OTHER(N) N\nvoid f(float *x, int n) { switch (n) { case 128: RUN(128, x, n); } OTHER(7); }",
                 'entry: "k<double, TUNE_BM, TUNE_CAUSAL, add<8>>"\n', "TUNE_BM: [32, 64, 128, 256, 512]", "  TUNE_CAUSAL: [false, true]"),
                # Of templates and macros that give each other more and more nothing comes.
                ("template <typename A> void one(A *x, int n) { two<Box<A>>(x, n); }\ntemplate <typename B> void two(B *x, int n) { one<B>(x, n); k<B, 8, true, add<1>><<<n, 8>>>(x, n); }\n",
                 "  # TODO: are these the types and values", "TUNE_BM: [2, 4, 8, 16, 32]"),
                ("void f(float *x, int n) { run(x, n); }", 'entry: "k<float, TUNE_BM, TUNE_CAUSAL, add<4>>"  # TODO: ', "TUNE_BM: [4, 8, 16, 32, 64]"),
                ("#define SWITCH(type, ...) if (type) { using real = float; __VA_ARGS__; } else { using real = double; __VA_ARGS__; }\n"
                 "void f(void *x, int n) { SWITCH(n, (k<real, 32, false, add<1>><<<n / 32, 32>>>((real *)x, n))); }\ntemplate <class real> struct Other;\n",
                 'entry: "k<float, TUNE_BM, TUNE_CAUSAL, add<1>>"  # TODO: ')):
            draft = self.draft((kernel if "k<" not in launch else kernel.rpartition("template <typename T, int TILE")[0]) + launch)
            for part in parts:
                self.assertIn(part, draft, launch)

    def test_threads_of_which_there_is_an_array(self):
        """They are the block's; a single block's are as many as the problem has."""
        kernel = "static const int COUNT = 256;\n__global__ void k(float *x) { __shared__ float s[COUNT]; s[threadIdx.x] = x[blockIdx.x * COUNT + threadIdx.x]; x[threadIdx.x] = s[0]; }\n"
        host = "int main() { float *x; int blocks = 64; cudaMalloc(&x, blocks * COUNT * sizeof(float)); k<<<%s, COUNT>>>(x); }\n"
        draft = self.draft(kernel + host % "blocks")
        for part in ("  COUNT: [128, 256, 512]\n", "block: [COUNT]\n", "{name: x, type: float32, count: 64 * 512, "):
            self.assertIn(part, draft)
        self.assertEqual(self.hone("space", self.write("k.yaml", draft), "--count").stdout, "3\n")
        self.assertNotIn("  COUNT: ", self.draft(kernel + host % "1"))

    def test_constants_with_values_are_not_filled(self):
        draft = self.draft("__constant__ int offsets[3] = {-1, 0, 1};\n__constant__ float weights[3];\n"
                           "__global__ void k(float *x) { x[threadIdx.x] = weights[offsets[0] + 1]; }\n")
        self.assertIn("\n# TODO: `symbols` fills __constant__ variables (docs/config.md).\n", draft)
        self.assertNotIn("symbols:\n", draft)

    def test_launches_within_namespaces_and_class_templates(self):
        """Enumerators of a namespace are named with it, and methods of a class template launch as others do."""
        draft = self.draft("namespace lattice {\nenum Parity { EVEN, ODD };\n"
                           "template <typename T, Parity P> __global__ void k(T *x, int n) { int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + P; if (i < n) x[i] = 0; }\n"
                           "template <typename T> struct Field { T *x; void clear(int n) { dim3 threads(64); k<T, ODD><<<n / 128, threads>>>(x, n); } };\n}\n")
        self.assertIn('entry: "lattice::k<float, lattice::Parity::TUNE_P>"  # TODO: are these the types', draft)
        self.assertNotIn("which type?", draft)
        self.assertIn("  BLOCK: [16, 32, 64, 128, 256]  # of the launch alone", draft)
        if shutil.which("nvcc"):
            self.hone("compile", "--arch", "sm_90", self.write("k.yaml", draft))

    def test_conditions_of_the_preprocessor(self):
        draft = self.draft("#include <cinttypes>\n__global__ void k(float *x) {\n#if PRIVATE\n x[0] = MIN_BLOCKS;\n#endif\n printf(PRIu64, x); }\n")
        self.assertIn("parameters:\n  PRIVATE: [0, 1]  # TODO", draft)
        self.assertNotIn("PRIu64", draft)
        self.assertNotIn("[MIN_BLOCKS]", draft)

    def test_which_sources_need_nvcc(self):
        for before, nvcc in (("#include <cublas_v2.h>\n", True), ("#include <stdint.h>\n#include <cmath>\n#include <cuda_fp16.h>\n#include <cub/block/block_scan.cuh>\n", False),
                             ("#include <vector>\n", True), ("#include <cub/cub.cuh>\n", False),
                             ("namespace a { inline int f(int x) { return x; } }\n", True),
                             ("namespace a { __device__ inline int f(int x) { return x; } }\n", False),
                             ("int f(int x);\nstruct S { int a[2] = {1, 2}; };\n", False)):
            draft = self.draft(before + "__global__ void k(int *x) { x[0] = 1; }\n")
            self.assertEqual("\ncompile: {compiler: nvcc}" in draft, nvcc, before)

    def test_of_several_kernels(self):
        """What another kernel uses is none of this one's."""
        source = self.write("two.cu", "#define ITEMS 4\n#define OTHER 8\n__device__ int both() { return ITEMS; }\n"
                            "__global__ void other(float *x) { x[OTHER * threadIdx.x] = both(); }\n__global__ void k(float *x) { x[threadIdx.x] = both(); }\n")
        draft = self.hone("init", source, "-o", "-", "--entry", "k").stdout
        self.assertIn("  ITEMS: [2, 4, 8]\n", draft)
        self.assertNotIn("OTHER", draft)

    def test_headers_that_are_not_there(self):
        source = '#include "ours.h"\n#include <cub/cub.cuh>\n#include <torch/extension.h>\n#include <sys/time.h>\n#include <mpi.h>\n#include <helper_cuda.h>\n#include <math_constants.h>\n#include <cuComplex.h>\n#include <bits/stdc++.h>\n#include <stdarg.h>\n#include <immintrin.h>\n#include "cuda_runtime.h"\n#include "k.h"\n#include "theirs.cuh"\n__global__ void k(float *x) { x[threadIdx.x] = 0; }\n'
        self.write("k.h", "\n")
        self.assertIn("\ntemplate: k.cu  # TODO: put beside it, or in a folder of -I: ours.h <torch/extension.h> <mpi.h> <helper_cuda.h> theirs.cuh\n", self.draft(source))
        # A header that is there may lack one, those of a framework define no macros of the kernel's, and a type of neither is asked for.
        self.write("k.h", '#include "deep.h"\n#include <vector>\n#include <cuda_fp16.h>\n')
        kernel = "__global__ void k(real *x, at::Half *y, real by) { x[threadIdx.x] = by * y[HEAD]; }\nvoid f(real *x, at::Half *y) { k<<<1, HEAD>>>(x, y, 2); }\n"
        for headers, *parts in (('#include "k.h"\n#include "cuda_ours.h"\n', "-I: deep.h cuda_ours.h\n", "parameters:\n  BLOCK: "),
                                ('#include "ATen/ATen.h"\n#include <c10/all.h>\n', "-I: ATen/ATen.h <c10/all.h>\n", "\n  HEAD: [64, 128, 256, 512, 1024]  # TODO: which",
                                 "{name: x, type: float32, count: SIZE, role: output}  # TODO: real: which type?", "{name: y, type: float16, count: SIZE}  # TODO: how many",
                                 "{name: by, type: float32, value: 2}  # TODO: which value, and how is real passed")):
            draft = self.draft(headers + kernel)
            for part in parts:
                self.assertIn(part, draft)

    def test_nothing_is_written(self):
        """What a class is given by several uses is not known; which structure its template has is what the launch passes."""
        source = self.write("k.cu", "template <int N> struct Side { static constexpr int kSide = N; };\ntemplate <class A, class B> struct Gemm { using Block = A; using Thread = B; struct Params { float *x; };\n"
                            " static constexpr int kThreads = Block::kSide / Thread::kSide; };\ntemplate <class G> __global__ void __launch_bounds__(G::kThreads) k(typename G::Params p) { p.x[threadIdx.x] = 0; }\n"
                            "using Mine = Gemm<Side<64>, Side<4>>;\nvoid f(float *x) { Mine::Params p{x}; k<Mine><<<1, Mine::kThreads>>>(p); }\n")
        draft = self.hone("init", source, "-o", "-").stdout
        for part in ("\nentry: \"k<Gemm<Side<64>, Side<4>>>\"\n", "{name: p_x, type: float32, count: ", ", role: output}",
                     '{name: p, type: "Gemm<Side<64>, Side<4>>::Params", fields: {x: {buffer: p_x}}}', "  BLOCK: [256]  # TODO: which block?"):
            self.assertIn(part, draft)
        source = self.write("k.cu", "template <class G> __global__ void k(typename G::Params p) { p.x[threadIdx.x] = 0; }\n")
        self.assertIn("no argument has role output or inout, so nothing could be verified", self.hone("init", source).stderr)
        self.assertIn("p, type: uint64, value: 1}  # TODO: which value, and how is typename G::Params passed", (self.folder / "k.yaml").read_text())

    def test_names_that_no_config_takes(self):
        source = self.write("odd.cu", "extern \"C\" __global__ void odd(int *true_, int bytes, int min, int *x) { x[0] = bytes + min; true_[0] = 1; }\n"
                            "extern \"C\" __global__ void twice(int *, int *argument_1) { argument_1[0] = 1; }\n")
        self.assertEqual(self.hone("init", source, "--entry", "odd").stderr, "")
        self.assertIn("hone: warning: as it stands it is no config: ", self.hone("init", source, "--entry", "twice").stderr)

    def test_wrong_usage(self):
        self.misused("expected the path of a CUDA source or of a tuning problem in JSON", "init")
        self.misused("found 'b.cu' after 'a.cu', expected one file", "init", "a.cu", "b.cu")
