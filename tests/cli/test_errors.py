# SPDX-License-Identifier: MIT
"""What goes wrong with configs, templates and devices: the exact message and the exit code."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import unittest

import hone

NO_DRIVER = ("hone: no CUDA driver: no library could be loaded: libcuda.so.1: cannot open shared object file: No such file "
             "or directory; install NVIDIA's driver, or run this on a machine with a GPU (`hone tune --simulate FILE`, `hone compile --all` "
             "and `hone export --defaults` need none)")
BAD_CONFIGS = hone.SOURCE / "tests" / "data" / "config" / "bad"


def has_driver():
    try:
        return ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
    except OSError:
        return False


class Configs(hone.Case):
    def test_broken_configs(self):
        """The message is the command's last line; an empty space is exit code 3, all else 2. unit/config has all of them."""
        for file in BAD_CONFIGS.iterdir():
            shutil.copy(file, self.folder)
        bad = {}
        for entry in (BAD_CONFIGS / "configs.txt").read_text().split("\n==== ")[1:]:
            name, message, text = entry.split("\n", 2)
            bad[name] = message
            self.write(f"{name}.yaml", text + "\n")
        for name, code in (("syntax_error", 2), ("unknown_key", 2), ("wrong_type_parameters", 2), ("unknown_name", 2),
                           ("division_by_zero", 2), ("duplicate_key", 2), ("empty_space", 3), ("alias_bomb", 2),
                           ("expression_too_deep", 2), ("missing_entry", 2)):
            with self.subTest(name):
                self.fails(code, "hone: " + bad[name], "space", f"{name}.yaml", cwd=self.folder)

    def test_space_only(self):
        config = self.write("space.yaml", "kernel: k\nparameters: {A: [1, 2, 3]}\nconstraints: [A > 1]\n")
        self.assertEqual(self.hone("space", "--count", config).stdout, "2\n")
        for command in (("compile", "--arch", "sm_90"), ("tune", "--simulate", self.record())):
            self.fails(2, f"hone: {config}: there is no 'template', so there is nothing to compile; only `hone space` works "
                       "with such a config", *command, config)


class Templates(hone.Case):
    def test_missing_template(self):
        config = self.copy_config()
        (self.folder / "saxpy.cu").unlink()
        for command in (["compile", "--arch", "sm_90"], ["tune"]):
            self.fails(2, f"hone: {config}: template {self.folder}/saxpy.cu cannot be read: No such file or directory", *command, config)

    def test_a_path_that_is_not_utf8(self):
        folder = os.path.join(os.fsencode(self.folder), b"caf\xe9")
        os.mkdir(folder)
        self.copy_config()
        for name in ("saxpy.yaml", "saxpy.cu"):
            shutil.copy(self.folder / name, os.path.join(folder, name.encode()))
        for command in ("tune", "space", "run"):
            result = subprocess.run([hone.HONE, command, os.path.join(folder, b"saxpy.yaml")], capture_output=True)
            self.assertEqual(result.returncode, 2, command)
            self.assertTrue(result.stderr.startswith(b"hone: the path of the config, '"), result.stderr)
            self.assertIn(b"is not UTF-8, which caches hold it in; rename the folder or the file", result.stderr)

    def test_a_template_that_is_not_utf8(self):
        config = self.copy_config()
        text = (self.folder / "saxpy.cu").read_bytes()
        for byte, said in ((b"\xe9", "saxpy.cu:2: found byte 0xe9, expected text in UTF-8; save it as such"),
                           (b"\0", "saxpy.cu' has a zero byte, expected text")):
            (self.folder / "saxpy.cu").write_bytes(text.replace(b"// y = a x + y", b"// y = a x + y, caf" + byte))
            self.assertIn(said + "\n", self.hone("compile", "--arch", "sm_90", config, expect=2).stderr)

    def test_nvrtc_that_is_no_file(self):
        os.mkfifo(self.folder / "fifo")
        result = self.hone("compile", "--arch", "sm_90", self.copy_config(), expect=1, HONE_NVRTC=str(self.folder / "fifo"))
        self.assertIn(f"{self.folder}/fifo is no regular file", result.stderr)

    def test_missing_include(self):
        config = self.copy_config()
        self.spoil(self.folder / "saxpy.cu", "// y = a x + y", '#include "helper.cuh" //')
        result = self.hone("compile", "--arch", "sm_90", config, expect=2)
        self.assertIn("helper.cuh", result.stderr)
        self.assertIn(f"{self.folder}/saxpy.cu:2", result.stderr)

    def test_a_parameter_that_the_template_defines_again(self):
        config = self.copy_config()
        self.spoil(self.folder / "saxpy.cu", "// y = a x + y", "#define BLOCK 64 //")
        result = self.hone("compile", "--arch", "sm_90", config, expect=3)
        self.assertIn(f"first failure: {self.folder}/saxpy.cu(2): error: macro 'BLOCK' is defined again, but line ",
                      result.stdout)
        self.assertIn("of the prelude has '#define BLOCK 128', which so has no effect;", result.stdout)

    def test_names_that_the_config_forgot(self):
        config = self.copy_config()
        source = self.folder / "saxpy.cu"
        kept, frozen = source.read_text(), config.read_text()
        self.spoil(source, "// y = a x + y", "constexpr int BLOCK = 64; //")
        result = self.hone("compile", "--arch", "sm_90", config, expect=3)
        self.assertIn("saxpy.cu(2): error: expected an identifier; the source declares 'BLOCK', which is a macro, too: "
                      "`override: {BLOCK: constexpr}` gives it its values\n", result.stdout)
        config.write_text(frozen + "override: {BLOCK: constexpr}\n")
        self.hone("compile", "--arch", "sm_90", config)
        source.write_text(kept.replace('extern "C"', "template <class T, int BLOCK = 8>"))
        config.write_text(frozen)
        result = self.hone("compile", "--arch", "sm_90", config, expect=3)
        self.assertIn("""expected a "," or ">"; 'BLOCK' is a parameter of a C++ template, and a macro, too: an entry with """
                      """arguments, as "saxpy<T, BLOCK>", gives it its values\n""", result.stdout)
        source.write_text(kept)
        config.write_text(frozen.replace("{name: x,", "{name: BLOCK,"))
        self.spoil(source, "*x,", "*BLOCK,")
        result = self.hone("compile", "--arch", "sm_90", config, expect=3)
        self.assertIn("; 'BLOCK' is a macro: the kernel's argument needs another name\n", result.stdout)
        source.write_text(kept)
        config.write_text(re.sub("^freeze:.*\n", "", frozen, flags=re.M))
        self.spoil(source, "{", "{ static_assert(SIZE > 0);")
        result = self.hone("compile", "--arch", "sm_90", config, expect=3)
        self.assertIn("identifier \"SIZE\" is undefined; 'SIZE' is a value of the problem: `freeze: [SIZE]` makes it a macro\n", result.stdout)

    def test_a_parameter_without_effect(self):
        config = self.copy_config()
        self.spoil(config, "  LOAD: [plain, ldg]", "  LOAD: [plain, ldg]\n  IDLE: [1, 2]\n  ALONE: [7]")
        self.spoil(config, "defaults: {BLOCK: 128,", "defaults: {IDLE: 1, ALONE: 7, BLOCK: 128,")
        self.spoil(config, "constraints:\n", "constraints:\n  - IDLE > 0\n")
        self.spoil(self.folder / "saxpy.cu", "// y = a x + y", "#ifndef IDLE\n#define IDLE 1 // IDLE\n#endif //")
        warning = (f"hone: warning: no value of IDLE changes anything: {self.folder}/saxpy.cu and its includes do not have "
                   "the name, nor do launch, arguments and options; use it or take it out\n")
        for command in (["space"], ["compile", "--arch", "sm_90"]):
            self.assertEqual(self.hone(*command, config).stderr, warning)
            self.assertEqual(self.hone(*command, "--quiet", config).stderr, "")
        self.assertTrue(self.hone("tune", config, expect=1).stderr.startswith(warning))
        for hides in ("#define PASTE(a, b) a##b //", '#define AGAIN _Pragma("unroll IDLE") //'):
            self.spoil(self.folder / "saxpy.cu", "// IDLE", "\n" + hides)
            self.assertEqual(self.hone("space", config).stderr, "")
            self.spoil(self.folder / "saxpy.cu", "\n" + hides, "// IDLE")

    def test_template_never_compiles(self):
        """The compiler's first error, once, with the line of the template."""
        config = self.copy_config()
        self.spoil(self.folder / "saxpy.cu", "y[i] += a * x[i]", "y[i] += b * x[i]")
        result = self.hone("compile", "--all", "-s", "LOAD=plain", "--arch", "sm_90", config, expect=3)
        self.assertIn(f'first failure: {self.folder}/saxpy.cu(23): error: identifier "b" is undefined\n', result.stdout)
        self.assertEqual(result.stdout.count("is undefined"), 1)
        self.assertEqual(result.stdout.count(" compile_error "), 8)
        self.assertEqual(result.stderr, "hone: none of the 8 points can be compiled and launched\n")

    def test_some_points_never_compile(self):
        config = self.copy_config()
        self.spoil(self.folder / "saxpy.cu", "#ifndef ITEMS", '#if BLOCK == 256\n#error "no such block"\n#endif\n#ifndef ITEMS')
        all_points = ("compile", "--all", "--arch", "sm_90", config)
        self.assertIn("compile_error", self.hone(*all_points).stdout)
        result = self.hone(*all_points, "--strict", expect=1)
        self.assertEqual(result.stderr, "hone: 4 of 16 points cannot be compiled and launched\n")
        self.assertIn("compile_error", result.stdout)
        self.hone(*all_points, "--strict", "-s", "BLOCK=64,128")

    def test_missing_entry_in_template(self):
        config = self.copy_config()
        self.spoil(config, "entry: saxpy", "entry: saxpyy")
        result = self.hone("compile", "--arch", "sm_90", config, expect=3)
        self.assertEqual(result.stderr, "hone: the point cannot be compiled and launched\n")
        self.assertIn("first failure: no kernel 'saxpyy' in the program; there is saxpy\n",
                      result.stdout)

    def with_options(self, options):
        config = self.copy_config()
        with config.open("a") as file:
            file.write(f"compile: {{options: [{options}]}}\n")
        return config

    def test_an_option_asks_for_another_architecture(self):
        self.fails(2, "hone: option '-arch=sm_80' asks for sm_80, but sm_90 is compiled for, as the GPU or --arch says; take "
                   "the option out (`hone compile --arch sm_80` compiles for another GPU)",
                   "compile", "--arch", "sm_90", self.with_options("-arch=sm_80"))
        self.hone("compile", "--arch", "sm_90", self.with_options("-arch=sm_90a"))

    def test_folders_of_includes_are_relative_to_the_config(self):
        config = self.with_options("-Iinc")
        self.spoil(self.folder / "saxpy.cu", "// y = a x + y", "#include <helper.cuh>\n#include \"quoted.cuh\" //")
        (self.folder / "inc").mkdir()
        self.write("inc/helper.cuh", "// found\n")
        self.write("inc/quoted.cuh", "__device__ real twice(real x) { return x + x; }\n")
        self.spoil(config, "LOAD:", "real: [float, double]\n  LOAD:")
        self.hone("compile", "--arch", "sm_90", config.name)
        self.hone("compile", "--arch", "sm_90", config, cwd="/")

    def test_control_files_are_relative_to_the_config(self):
        """ptxas reads the file of each value, and says what is wrong with it."""
        config = self.copy_config()
        file = self.folder / "acf" / "ldg.acf"
        config.write_text(config.read_text() + 'compile: {controls: {if: LOAD != plain, file: "acf/{LOAD}.acf"}}\n')
        plain, ldg = self.compile_both(config)
        self.assertEqual((plain["outcome"], ldg["outcome"]), ("ok", "compile_error"))
        self.assertRegex(ldg["log"], f"ptxas fatal *: .*{file}")
        file.parent.mkdir()
        file.write_text("none of ptxas")
        self.assertNotIn("opened", self.compile_both(config)[1]["log"])

    def compile_both(self, config):
        text = self.hone("compile", "--arch", "sm_90", "--all", "-s", "BLOCK=64", "-s", "ITEMS=1", "--log", "--json", config, cwd="/").stdout
        return json.loads(text)

    def test_an_option_that_is_not_allowed(self):
        config = self.with_options("--ptxas-options=--compiler-stats-file=here")
        result = self.hone("compile", "--arch", "sm_90", config, expect=2)
        self.assertIn("option '--ptxas-options=--compiler-stats-file=here': '--compiler-stats-file=here' is not one of those",
                      result.stderr)

    def test_unknown_architecture(self):
        result = self.hone("compile", "--arch", "sm_12", self.copy_config(), expect=2)
        self.assertRegex(result.stderr, r"^hone: unknown architecture 'sm_12'; known are (sm_\d+ )*sm_\d+\n$")


@unittest.skipIf(has_driver(), "there is a CUDA driver here")
class NoDriver(hone.Case):
    def test_commands_that_need_a_gpu(self):
        config = self.copy_config()
        for command in ("tune", "run", "replay"):
            with self.subTest(command):
                self.fails(1, NO_DRIVER, command, config)

    def test_compile_needs_an_architecture(self):
        self.fails(2, "hone: there is no GPU to compile for; name an architecture, as in --arch sm_90", "compile",
                   self.copy_config())
