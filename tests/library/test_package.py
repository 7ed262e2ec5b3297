# SPDX-License-Identifier: MIT
"""libhone as it is installed: what it exports, and that programs outside of this tree find it, build and run."""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import unittest

import test_library
from test_library import double

BUILD = pathlib.Path(os.environ.get("HONE_BUILD", "build"))
SOURCE = double.hone.SOURCE
NVCC = shutil.which("nvcc") or (os.path.exists("/usr/local/cuda/bin/nvcc") and "/usr/local/cuda/bin/nvcc")


def code_blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.M | re.S)


class Package(test_library.Case):
    def setUp(self):
        super().setUp()
        self.prefix = self.folder / "prefix"
        self.call("cmake", "--install", BUILD, "--prefix", self.prefix)
        self.libraries = next(self.prefix.glob("**/libhone.so")).parent

    def call(self, *words, **changes):
        settings = dict(os.environ, TMPDIR=str(self.folder), HONE_LOCKS=str(self.folder), **changes)
        result = subprocess.run([str(word) for word in words], cwd=self.folder, env=settings, text=True,
                                stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        self.assertEqual(result.returncode, 0, f"{words}: {result.stdout}{result.stderr}")
        return result.stdout

    def run_on_double(self, program, *arguments):
        self.tune_all()
        return self.call(program, *arguments, LD_LIBRARY_PATH=f"{double.DOUBLE}:{self.libraries}")

    def test_nothing_but_hone_is_exported(self):
        header = (self.prefix / "include" / "hone.h").read_text()
        declared = set(re.findall(r"^[a-z].*?\b\**(hone_\w+)\(", header, re.M)) - set(
            re.findall(r"^static inline struct \w+ (hone_\w+)\(", header, re.M))
        for arguments, file in ((["-D"], "libhone.so"), (["-g"], "libhone.a")):
            listing = self.call("nm", *arguments, "--defined-only", self.libraries / file)
            names = {line.split()[2].split("@")[0] for line in listing.splitlines() if len(line.split()) == 3}
            self.assertEqual(names - {"HONE_0"}, declared, file)
        dynamic = self.call("readelf", "-d", self.libraries / "libhone.so")
        self.assertIn("soname: [libhone.so.0]", dynamic)
        self.assertNotIn("libcuda", dynamic)

    def test_what_is_installed_is_hardened(self):
        command, library, archive = self.prefix / "bin" / "hone", self.libraries / "libhone.so", self.libraries / "libhone.a"
        for file in (command, library):
            self.assertIn("GNU_RELRO", self.call("readelf", "-lW", file), file)
            self.assertRegex(self.call("readelf", "-lW", file), r"GNU_STACK .* RW +0x", file)
            flags = re.search(r"\(FLAGS_1\) +Flags: (.*)", self.call("readelf", "-dW", file)).group(1).split()
            self.assertIn("NOW", flags, file)
            self.assertEqual("PIE" in flags, file == command, file)
        for file, option in ((command, "--dyn-syms"), (library, "--dyn-syms"), (archive, "--syms")):
            symbols = self.call("readelf", option, "-W", file)
            for symbol in ("__stack_chk_fail", "__vsnprintf_chk", "__memcpy_chk"):
                self.assertRegex(symbols, rf"UND {symbol}\b", file)
        if platform.machine() == "x86_64":
            code = self.call("objdump", "-d", "--no-show-raw-insn", "--disassemble=hone_open", library)
            self.assertRegex(code, r"<hone_open[^>]*>:\n.*\bendbr64\n")

    def test_the_header_is_clean_c_and_cpp(self):
        flags = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-fsyntax-only", "-I", self.prefix / "include"]
        text = "#include <hone.h>\nint main(void) { return hone_float32(\"a\", 1).kind == HONE_FLOAT32 ? 0 : 1; }\n"
        self.call("cc", "-std=c11", *flags, self.write("header.c", text))
        self.call("c++", "-std=c++11", *flags, self.write("header.cpp", text))

    CPP = """\
#include <hone.hpp>
template <typename T> struct fancy { T *pointer; T *get() const { return pointer; } };
template <typename T> struct fancy_span { fancy<T> data() const { return {nullptr}; } std::size_t size() const { return 9; } };
hone::outcome<void> run(const hone::cache &cache, CUstream stream, const float *x, CUdeviceptr y, fancy_span<float> z);
hone::outcome<void> run(const hone::cache &cache, CUstream stream, const float *x, CUdeviceptr y, fancy_span<float> z)
{
    constexpr hone::name X{"x"}, Z{"z"};
    auto kernel = cache.kernel("scale", {{"n", 4}, {"real", 0.5f}, {"word", "row"}, {"yes", true}});
#ifdef HONE_NO_EXCEPTIONS
    return (*kernel)(stream, x, y, Z = z, hone::name("a") = 2.5);
#else
    return kernel(stream, X = hone::buffer{x, 4}, Z = z, hone::name("y") = y);
#endif
}
int main() { return 0; }
"""

    def test_the_header_of_cpp_is_clean(self):
        flags = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wold-style-cast",
                 "-Wno-unused-variable", "-Werror", "-O1", "-c", "-o", "cpp.o", "-I", self.prefix / "include"]
        source = self.write("program.cpp", self.CPP)
        for compiler in filter(shutil.which, ("g++", "clang++")):
            for ways in (["-std=c++17"], ["-std=c++17", "-DHONE_NO_EXCEPTIONS"], ["-std=c++20", "-fno-exceptions"]):
                self.call(compiler, *ways, *flags, source)

    def test_the_header_of_cpp_includes_what_it_names(self):
        """Headers of libstdc++ bring others along, from version to version fewer."""
        text = (self.prefix / "include" / "hone.hpp").read_text()
        for header, names in {"cstdint": r"u?int\d+_t", "cstddef": "size_t", "cstring": r"str\w*n?cmp|memcpy", "cstdio": "vsnprintf", "cstdarg": "va_list"}.items():
            self.assertRegex(text, rf"std::(?:{names})\b", header)
            self.assertIn(f"#include <{header}>\n", text)

    def test_the_header_of_cpp_says_that_it_needs_cpp17(self):
        source = self.write("old.cpp", "#include <hone.hpp>\nint main() { return 0; }\n")
        for compiler in filter(shutil.which, ("g++", "clang++")):
            done = subprocess.run([compiler, "-std=c++14", "-fsyntax-only", "-I", str(self.prefix / "include"), str(source)],
                                  text=True, capture_output=True, env={**os.environ, "LC_ALL": "C"})
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(re.findall(r"\berror: .*", done.stderr)[1:], [], "one error, and no noise of templates")
            self.assertIn("hone.hpp needs C++17: compile with -std=c++17", done.stderr)

    def test_the_manuals_program_of_cpp(self):
        page = SOURCE / "docs" / "library.md"
        program, = [block for block in code_blocks(page, "cpp") if "int main(" in block]
        self.call("c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", self.write("manual.cpp", program), "-I",
                  self.prefix / "include", "-L", self.libraries, "-lhone", f"{double.DOUBLE}/libcuda.so.1", "-o", self.folder / "manual")
        self.assertIn("y[0] = 6", self.run_on_double(self.folder / "manual", self.cache))

    @unittest.skipUnless(NVCC, "there is no nvcc")
    def test_the_header_of_cpp_takes_what_cuda_has(self):
        source = self.write("program.cu", """\
#include <cuda/std/span>
#include <cuda_fp16.h>
#include <hone.hpp>
#include <thrust/device_vector.h>
void run(const hone::kernel &kernel, cudaStream_t stream, thrust::device_vector<float> &vector,
         const thrust::device_vector<float> &constant, cuda::std::span<const float> span, __half half)
{
    kernel(stream, constant, vector, half);
    kernel(stream, span, vector.data(), 1.0f);
}
""")
        self.call(NVCC, "-std=c++17", "-arch=sm_75", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Wconversion",
                  "-I", self.prefix / "include", "-c", source, "-o", self.folder / "program.o")

    def run_in_home(self, lines):
        """As a user types them whose Hone is in ~/.local; the driver's library is found, and nothing else is helped with."""
        self.tune_all()
        shutil.copy(self.cache, self.folder / "tuned.db")
        self.call("cmake", "--install", BUILD, "--prefix", self.folder / ".local")
        clean = {name: "" for name in ("PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER")}
        return self.call("bash", "-ec", lines, **clean, HOME=str(self.folder), LIBRARY_PATH=double.DOUBLE, LD_LIBRARY_PATH=double.DOUBLE)

    def test_the_manuals_lines_work_as_printed(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("there is no pkg-config")
        for page, language, file, shown in (("library.md", "c", "program.c", "y[1000] = 3000"), ("library.md", "cpp", "program.cpp", "y[0] = 6")):
            with self.subTest(page):
                text = (SOURCE / "docs" / page).read_text()
                program, = [block for block in code_blocks(SOURCE / "docs" / page, language) if "int main(" in block]
                self.write(file, program)
                lines = re.match(r"```\n\n((?:    .*\n)+)", text[text.index(program) + len(program):]).group(1)
                self.assertIn(shown, self.run_in_home(lines))

    @unittest.skipUnless(NVCC, "there is no toolkit for find_package(CUDAToolkit)")
    def test_the_manuals_lines_of_cmake_work_as_printed(self):
        lines, = [block for block in code_blocks(SOURCE / "docs" / "library.md", "cmake") if "find_package(hone" in block]
        commands, = re.findall(r"^    (cmake -S .*)$", (SOURCE / "docs" / "library.md").read_text(), re.M)
        program, = [block for block in code_blocks(SOURCE / "docs" / "library.md", "cpp") if "int main(" in block]
        self.write("program.cpp", program)
        self.write("CMakeLists.txt", lines)
        self.assertIn("y[0] = 6", self.run_in_home(commands))

    def test_a_cmake_project_finds_the_package(self):
        build = self.folder / "example"
        self.call("cmake", "-S", SOURCE / "examples" / "c_driver_api", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
                  f"-DCUDA_DRIVER={double.DOUBLE}/libcuda.so.1")
        self.call("cmake", "--build", build)
        for program in ("c_driver_api", "c_driver_api_static"):
            self.tune_all()
            shown = self.run_on_double(build / program, self.cache, "24576")
            self.assertIn("scale n=24576: ", shown)
            self.assertIn("tuned for this", shown)
            self.assertIn("0 of 24576 elements are wrong", shown)
            shown = self.run_on_double(build / program, self.cache, "5000")
            self.assertIn("tuned on this device for another problem", shown)
            self.assertIn("0 of 5000 elements are wrong", shown)

    def test_the_package_brings_tuned_headers(self):
        self.tune_all()
        project = self.folder / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(f"""\
cmake_minimum_required(VERSION 3.22)
project(outside LANGUAGES C)
find_package(hone 0.1 REQUIRED)
add_executable(outside main.c)
hone_tuned_header(outside KERNEL scale CACHE {self.cache})
target_link_libraries(outside PRIVATE hone::hone)
""")
        (project / "main.c").write_text("""\
#include <hone.h>
#include <scale_tuned.h>
#include <stdio.h>
int main(void)
{
    printf("%d threads, %s\\n", HONE_SCALE_BLOCK, hone_version());
    return 0;
}
""")
        self.call("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.call("cmake", "--build", project / "build")
        self.assertRegex(self.call(project / "build" / "outside"), r"^\d+ threads, 0\.1\.0$")

    def test_the_sources_are_part_of_another_project(self):
        """By add_subdirectory, as FetchContent does it: what it has is named as in the package."""
        project = self.folder / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(f"""\
cmake_minimum_required(VERSION 3.22)
project(outside LANGUAGES C)
add_subdirectory({SOURCE} hone)
foreach(library hone::hone hone::static)
  get_target_property(kind ${{library}} TYPE)
  message(STATUS "${{library}} is ${{kind}}")
endforeach()
file(WRITE ${{CMAKE_BINARY_DIR}}/main.c "int main(void) {{ return 0; }}")
add_executable(outside ${{CMAKE_BINARY_DIR}}/main.c)
target_link_libraries(outside PRIVATE hone::hone)
hone_tuned_header(outside KERNEL scale CACHE {self.cache})
""")
        shown = self.call("cmake", "-S", project, "-B", project / "build")
        self.assertIn("hone::hone is SHARED_LIBRARY", shown)
        self.assertIn("hone::static is INTERFACE_LIBRARY", shown)

    def test_pkg_config_tells_how_to_build(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("there is no pkg-config")
        where = {"PKG_CONFIG_PATH": str(self.libraries / "pkgconfig")}
        self.assertEqual(self.call("pkg-config", "--modversion", "hone", **where).strip(),
                         re.search(r"project\(hone VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text()).group(1))
        for option, archive in ((), ()), (("--static",), ("-Wl,-Bstatic", "-lhone", "-Wl,-Bdynamic")):
            flags = self.call("pkg-config", "--cflags", "--libs", *option, "hone", **where).split()
            if archive:
                flags = [word for flag in flags for word in (archive if flag == "-lhone" else (flag,))]
            self.call("cc", SOURCE / "examples" / "c_driver_api" / "main.c", *flags, f"{double.DOUBLE}/libcuda.so.1", "-o", self.folder / "program")
            self.assertIn("0 of 100 elements", self.run_on_double(self.folder / "program", self.cache, "100"))

    def test_the_manuals_example_compiles_and_runs(self):
        programs = [block for block in code_blocks(SOURCE / "docs" / "library.md", "c") if "int main(" in block]
        self.assertEqual(len(programs), 1)
        self.call("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", self.write("manual.c", programs[0]),
                  "-I", self.prefix / "include", "-L", self.libraries, "-lhone",
                  f"{double.DOUBLE}/libcuda.so.1", "-o", self.folder / "manual")
        self.tune_all()
        self.assertIn("y[1000] = 3000", self.run_on_double(self.folder / "manual", self.cache))

    @unittest.skipUnless(NVCC, "there is no nvcc")
    def test_the_runtime_example_builds(self):
        self.call(NVCC, "-arch=sm_75", "-Werror", "all-warnings", SOURCE / "examples" / "cuda_runtime" / "main.cu", "-I",
                  self.prefix / "include", "-L", self.libraries, "-lhone", "-o", self.folder / "runtime")
