# SPDX-License-Identifier: MIT
"""The recipes of packaging/: read by the tools that they are for, as far as PyPI has them, and their steps followed here. What they name has to be what
the build asks for."""

import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types
import unittest

import hone

PACKAGING = hone.SOURCE / "packaging"
CONDA = PACKAGING / "conda" / "recipe.yaml"
SPACK = PACKAGING / "spack_repo" / "hone" / "packages" / "hone" / "package.py"
EASYBUILD, = (PACKAGING / "easybuild").glob("*.eb")
VERSION = re.search(r"project\(hone VERSION (\S+)", (hone.SOURCE / "CMakeLists.txt").read_text()).group(1)
# What cmake/Dependencies.cmake looks for, and how each world names it.
LIBRARIES = {"yaml": ("yaml", "libyaml", "libyaml"), "sqlite": ("libsqlite", "sqlite", "SQLite"), "jansson": ("jansson", "jansson", "Jansson"),
             "xxhash": ("xxhash", "xxhash", "xxHash"), "zlib": ("zlib", "zlib-api", "zlib")}
CUDA = next((folder for folder in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if folder and os.path.exists(f"{folder}/include/nvrtc.h")), None)

LAUNCHER = {"CMAKE_C_COMPILER_LAUNCHER": "ccache"} if shutil.which("ccache") else {}

# Of Debian's environment-modules, without which EasyBuild reads no config.
MODULES = next(pathlib.Path("/usr/lib").glob("*/modulecmd.tcl"), None)


class Prefix(str):
    def __getattr__(self, name):
        return Prefix(f"{self}/{name}")


def spack_recipe():
    """The class, with directives that write down what they are given."""
    given = []

    def directive(name):
        return lambda *words, **options: given.append((name, *words))

    package = types.ModuleType("spack.package")
    for name in ("license", "version", "depends_on"):
        setattr(package, name, directive(name))
    cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")
    cmake.CMakePackage = type("CMakePackage", (), {"define": staticmethod(
        lambda name, value: f"-D{name}={'ON' if value is True else 'OFF' if value is False else value}")})
    cmake.generator = directive("generator")
    names = ["spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"]
    before = dict(sys.modules)
    sys.modules.update({name: types.ModuleType(name) for name in names})
    sys.modules.update({"spack.package": package, "spack_repo.builtin.build_systems.cmake": cmake})
    try:
        scope = {"__file__": str(SPACK), "__name__": "package"}
        exec(compile(SPACK.read_text(), SPACK, "exec"), scope)
    finally:
        sys.modules.clear()
        sys.modules.update(before)
    return scope["Hone"], given


def easyconfig():
    """The variables of the file, which is Python."""
    scope = {"SHLIB_EXT": "so", "SYSTEM": {"name": "system"}, "SOURCELOWER_TAR_GZ": "%(namelower)s-%(version)s.tar.gz"}
    exec(compile(EASYBUILD.read_text(), EASYBUILD, "exec"), scope)
    return scope


class Recipes(hone.Case):
    def run_in(self, folder, *words, **changes):
        done = subprocess.run(list(map(str, words)), cwd=folder, env={**os.environ, **LAUNCHER, **changes}, text=True, capture_output=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def tools(self, *packages):
        """A Python that has them, or the test is skipped."""
        folder = self.folder / "tools"
        made = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True)
        if made.returncode == 0:
            made = subprocess.run([folder / "bin" / "pip", "install", "-q", *packages], capture_output=True, text=True)
        if made.returncode != 0:
            self.skipTest(f"{packages} cannot be had")
        return folder / "bin" / "python"

    def test_what_they_name(self):
        asked = set(re.findall(r"^hone_find_library\((\w+)", (hone.SOURCE / "cmake" / "Dependencies.cmake").read_text(), re.M))
        self.assertEqual(asked, set(LIBRARIES))
        cmake, = re.findall(r"cmake_minimum_required\(VERSION ([\d.]+)\)", (hone.SOURCE / "CMakeLists.txt").read_text())
        conda = CONDA.read_text()
        self.assertIn(f'version: "{VERSION}"', conda)
        self.assertIn(f"- cmake >={cmake}\n", conda)
        self.assertLessEqual({names[0] for names in LIBRARIES.values()}, set(re.findall(r"^    - ([\w-]+)", conda, re.M)))
        _, given = spack_recipe()
        self.assertIn(("depends_on", f"cmake@{cmake}:"), given)
        self.assertLessEqual({names[1] for names in LIBRARIES.values()}, {words[1].split("@")[0] for words in given})
        easy = easyconfig()
        self.assertEqual((easy["name"], easy["version"], EASYBUILD.name), ("hone", VERSION, f"hone-{VERSION}-GCCcore-{easy['toolchain']['version']}.eb"))
        self.assertLessEqual({names[2] for names in LIBRARIES.values()}, {name for name, *_ in easy["dependencies"]})
        for place in easy["sanity_check_paths"]["files"]:
            self.assertFalse(place.startswith("/"), place)

    def test_conda_reads_its_recipe(self):
        python = self.tools("py-rattler-build")
        said = self.run_in(self.folder, python, "-c", "import sys, json, rattler_build as r\n"
                           f"recipe = r.Stage0Recipe.from_file({str(CONDA)!r})\n"
                           "variants = recipe.render(r.VariantConfig.from_yaml('c_compiler: [gcc]\\nc_stdlib: [sysroot]\\n'))\n"
                           "print(*(variant.recipe.package.version for variant in variants))")
        self.assertEqual(said.strip(), VERSION)

    def test_easybuild_reads_its_config(self):
        """With its style, and all that it depends on among EasyBuild's own configs."""
        python = self.tools("easybuild-framework", "easybuild-easyblocks", "easybuild-easyconfigs", "pycodestyle", "setuptools<81")
        said = self.run_in(self.folder, python, "-c", "import sys\n"
                           "from easybuild.framework.easyconfig.style import check_easyconfigs_style\n"
                           "from easybuild.tools.options import set_up_configuration\n"
                           "set_up_configuration(args=['--allow-use-as-root-and-accept-consequences', '--module-syntax=Tcl', '--modules-tool=EnvironmentModules'], silent=True)\n"
                           f"print('faults of style:', check_easyconfigs_style([{str(EASYBUILD)!r}]))\n" + (
                               "from easybuild.framework.easyconfig.easyconfig import EasyConfig\n"
                               f"print('valid:', EasyConfig({str(EASYBUILD)!r}, validate=True).name)" if MODULES else ""), MODULES_CMD=str(MODULES))
        self.assertIn("faults of style: 0", said)
        self.assertEqual("valid: hone" in said, MODULES is not None)
        configs = self.folder / "tools" / "easybuild" / "easyconfigs"
        easy = easyconfig()
        chain = f"{easy['toolchain']['name']}-{easy['toolchain']['version']}"
        for name, version, *rest in easy["builddependencies"] + easy["dependencies"]:
            file = f"{name}-{version}.eb" if rest else f"{name}-{version}-{chain}.eb"
            self.assertTrue((configs / name[0].lower() / name / file).is_file(), file)
        block = (self.folder / "tools").glob(f"lib/python*/site-packages/easybuild/easyblocks/generic/{easy['easyblock'].lower()}.py")
        self.assertEqual(len(list(block)), 1)

    def build(self, options):
        build, prefix = self.folder / "build", self.folder / "prefix"
        self.run_in(hone.SOURCE, "cmake", "-S", hone.SOURCE, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_INSTALL_PREFIX={prefix}", *options)
        self.run_in(hone.SOURCE, "cmake", "--build", build)
        self.run_in(hone.SOURCE, "cmake", "--install", build)
        return prefix

    def check(self, prefix):
        self.assertEqual(self.run_in(self.folder, prefix / "bin" / "hone", "--version"), f"hone {VERSION}\n")
        needed = self.run_in(self.folder, "readelf", "-d", prefix / "bin" / "hone")
        for name in LIBRARIES:
            self.assertIn("libz.so" if name == "zlib" else f"lib{name}", needed)  # the shared ones

    @unittest.skipUnless(CUDA, "there is no CUDA toolkit")
    def test_steps_of_spack(self):
        recipe, _ = spack_recipe()
        self.assertEqual(pathlib.Path(recipe.git), hone.SOURCE)
        package = recipe()
        package.spec = {"cuda": types.SimpleNamespace(prefix=Prefix(CUDA))}
        prefix = self.build(package.cmake_args())
        self.check(prefix)
        tree = ast.parse(SPACK.read_text())
        self.assertIn("test_space", [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)])

    @unittest.skipUnless(CUDA, "there is no CUDA toolkit")
    def test_steps_of_easybuild(self):
        easy = easyconfig()
        prefix = self.build(easy["configopts"].replace("$EBROOTCUDA", CUDA).split() + ["-DCMAKE_INSTALL_LIBDIR=lib"])
        self.check(prefix)
        for kind in ("files", "dirs"):
            for place in easy["sanity_check_paths"][kind]:
                self.assertTrue((prefix / place).exists(), place)
        for command in easy["sanity_check_commands"]:
            self.run_in(self.folder, "bash", "-ec", command.replace("%(installdir)s", str(prefix)), PATH=f"{prefix}/bin:{os.environ['PATH']}")

    @unittest.skipUnless(CUDA, "there is no CUDA toolkit")
    def test_steps_of_conda(self):
        script = re.search(r"^  script:\n((?:    - .*\n)+)", CONDA.read_text(), re.M).group(1)
        lines = re.sub(r"^    - ", "", script, flags=re.M).replace("-B build-conda", f"-B {self.folder}/build").replace(" build-conda", f" {self.folder}/build")
        self.assertEqual(len(lines.splitlines()), 4)
        prefix = self.folder / "prefix"
        (prefix / "targets").mkdir(parents=True)
        (prefix / "targets" / "x86_64-linux").symlink_to(CUDA)
        self.run_in(hone.SOURCE, "bash", "-ec", lines, PREFIX=str(prefix), CPU_COUNT="2", CMAKE_ARGS=f"-DCMAKE_INSTALL_PREFIX={prefix}")
        self.check(prefix)
        self.assertIn("$ORIGIN/../lib", self.run_in(self.folder, "readelf", "-d", prefix / "bin" / "hone"))
