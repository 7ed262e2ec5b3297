# SPDX-License-Identifier: MIT
"""What goes wrong with configs, templates and devices: the exact message and the exit code."""

import ctypes
import unittest

import hone

NO_DRIVER = ("hone: no CUDA driver: no library could be loaded: libcuda.so.1: cannot open shared object file: No such file "
             "or directory; install NVIDIA's driver, or run this on a machine with a GPU")
BAD_CONFIGS = hone.SOURCE / "tests" / "data" / "config" / "bad"


def has_driver():
    try:
        return ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
    except OSError:
        return False


class Configs(hone.Case):
    def test_every_bad_config(self):
        """Each broken config has its message beside it; an empty space is exit code 3, all others 2."""
        names = sorted(path.stem for path in BAD_CONFIGS.glob("*.yaml"))
        self.assertGreater(len(names), 50)
        for name in names:
            with self.subTest(name):
                message = (BAD_CONFIGS / f"{name}.message").read_text().rstrip("\n")
                code = 3 if "no point is valid" in message else 2
                self.fails(code, "hone: " + message, "space", f"{name}.yaml", cwd=BAD_CONFIGS)

    def test_promised_ones_are_there(self):
        for name in ("syntax_error", "unknown_key", "wrong_type_parameters", "unknown_name", "division_by_zero",
                     "duplicate_key", "empty_space", "alias_bomb", "expression_too_deep", "missing_entry"):
            self.assertTrue((BAD_CONFIGS / f"{name}.yaml").exists(), name)

    def test_space_only(self):
        config = self.write("space.yaml", "kernel: k\nparameters: {A: [1, 2, 3]}\nconstraints: [A > 1]\n")
        self.assertEqual(self.hone("space", "--count", config).stdout, "2\n")
        self.fails(2, f"hone: {config}: there is no 'template', so there is nothing to compile; only `hone space` works "
                   "with such a config", "compile", "--arch", "sm_90", config)


class Templates(hone.Case):
    def test_missing_template(self):
        config = self.copy_config()
        (self.folder / "saxpy.cu").unlink()
        for command in (["compile", "--arch", "sm_90"], ["tune"]):
            self.fails(2, f"hone: template {self.folder}/saxpy.cu: No such file or directory", *command, config)

    def test_missing_include(self):
        config = self.copy_config()
        self.spoil(self.folder / "saxpy.cu", "// y = a x + y", '#include "helper.cuh" //')
        result = self.hone("compile", "--arch", "sm_90", config, expect=2)
        self.assertIn("helper.cuh", result.stderr)
        self.assertIn(f"{self.folder}/saxpy.cu:2", result.stderr)

    def test_template_never_compiles(self):
        """The compiler's first error, once, with the line of the template."""
        config = self.copy_config()
        self.spoil(self.folder / "saxpy.cu", "y[i] += a * x[i]", "y[i] += b * x[i]")
        result = self.hone("compile", "--all", "-s", "LOAD=plain", "--arch", "sm_90", config, expect=3)
        self.assertIn(f'first failure: {self.folder}/saxpy.cu(23): error: identifier "b" is undefined\n', result.stdout)
        self.assertEqual(result.stdout.count("is undefined"), 1)
        self.assertEqual(result.stdout.count("compile_error"), 8)
        self.assertEqual(result.stderr, "hone: none of the 8 points can be compiled and launched\n")

    def test_missing_entry_in_template(self):
        config = self.copy_config()
        self.spoil(config, "entry: saxpy", "entry: saxpyy")
        result = self.hone("compile", "--arch", "sm_90", config, expect=3)
        self.assertEqual(result.stderr, "hone: the point can not be compiled and launched\n")
        self.assertIn("first failure: no kernel 'saxpyy' in the program (is it extern \"C\"?); there is saxpy\n",
                      result.stdout)

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


if __name__ == "__main__":
    unittest.main()
