# SPDX-License-Identifier: MIT
"""The wheels of scripts/wheel: made for both machines, installed by pip into a fresh environment, and used from there alone."""

import functools
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

import double
import hone
import pages

MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
PYTHON = next((python for python in (sys.executable, "/usr/bin/python3")
               if subprocess.run([python, "-c", "import pip, venv, ensurepip"], capture_output=True).returncode == 0), None)


def run(*words, cwd=None, **changes):
    left_out = ("HONE_COMMAND", "HONE_LIBRARY", "PYTHONPATH", "VIRTUAL_ENV", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH")
    settings = {name: value for name, value in os.environ.items() if name not in left_out}
    done = subprocess.run(list(map(str, words)), cwd=cwd, env={**settings, **changes}, text=True, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


def why_not():
    if PYTHON is None or "bookworm" not in pathlib.Path("/etc/os-release").read_text():
        return "there is no Debian 12 with pip and venv"
    with tempfile.TemporaryDirectory() as folder:
        fetched = subprocess.run([PYTHON, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "auditwheel"], capture_output=True)
    return "PyPI cannot be reached" if fetched.returncode != 0 else None


@functools.lru_cache(maxsize=None)
def folder_of_wheels():
    """Hone for both machines, and NumPy."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hone-pip-"))
    unittest.addModuleCleanup(shutil.rmtree, folder)
    shutil.copytree(hone.SOURCE, folder / "source", ignore=shutil.ignore_patterns(".git", "build*", "dist", "__pycache__"))
    for machine in MACHINES:
        run(folder / "source" / "scripts" / "wheel", PYTHON, machine)
        for wheel in (folder / "source" / "dist").iterdir():
            shutil.move(wheel, folder)
    shutil.rmtree(folder / "source")
    run(PYTHON, "-m", "pip", "download", "-q", "-d", folder, "numpy")
    run(PYTHON, "-m", "venv", folder / "venv")
    return folder


class Pip(double.Case):
    def setUp(self):
        super().setUp()
        self.wheels = folder_of_wheels()
        self.venv = self.wheels / "venv"
        self.began = time.monotonic()
        run(self.venv / "bin" / "pip", "install", "-q", "--no-index", "--find-links", self.wheels, "hone")

    def test_the_tags_are_true(self):
        for machine, said in MACHINES.items():
            wheel, = self.wheels.glob(f"hone-*{machine}.whl")
            self.assertRegex(wheel.name, rf"^hone-[\d.]+-py3-none-manylinux_2_28_{machine}\.whl$")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(self.folder / machine)
            binaries = [*(self.folder / machine).glob("*.data/scripts/hone"), *(self.folder / machine).glob("*.data/data/lib/libhone.so.0")]
            self.assertEqual(len(binaries), 2)
            for binary in binaries:
                shown = run("readelf", "-hdVW", binary)
                self.assertIn(said, shown)
                versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_(\d+\.\d+)", shown)}
                self.assertLessEqual(max(versions), (2, 28), binary)
                self.assertLessEqual(set(re.findall(r"NEEDED.*\[(.*)\.so\.\d\]", shown)), {"libc", "libm", "libdl", "libpthread"})
            self.assertEqual(len(list((self.folder / machine).glob("*.dist-info/licenses/LICENSE*"))), 6)

    @unittest.skipUnless(shutil.which("qemu-aarch64-static"), "there is no qemu-aarch64-static (Debian: qemu-user-static)")
    def test_the_other_machine_finds_the_same(self):
        """The wheel for aarch64, under an emulator of user programs with Debian's C library: a search on a recording, kept and exported."""
        run("apt-get", "download", "-qq", "libc6-arm64-cross", cwd=self.folder)
        run("dpkg", "-x", *self.folder.glob("libc6-arm64-cross*.deb"), self.folder)
        wheel, = self.wheels.glob("hone-*aarch64.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.folder / "wheel")
        program, = (self.folder / "wheel").glob("*.data/scripts/hone")
        program.chmod(0o755)
        share, = (self.folder / "wheel").glob("*.data/data/share/hone")
        found = []
        for name, words in (("other", ["qemu-aarch64-static", "-L", self.folder / "usr" / "aarch64-linux-gnu", program]), ("this", [self.venv / "bin" / "hone"])):
            cache = self.folder / f"{name}.db"
            version = json.loads(subprocess.run([*map(str, words), "--version", "--json"], capture_output=True, text=True).stdout)
            self.assertRegex(version["hone"]["compiler"], "Clang")
            run(*words, "tune", share / "configs" / "reduce.yaml", "-p", "SIZE=268435456", "--simulate", share / "cache" / "recorded" / "nvidia-h200", "--quiet", "--cache", cache)
            # What one machine keeps the other reads.
            found.append((run(*words, "export", "reduce", "--cache", cache), run(hone.HONE, "cache", "list", "--cache", cache)))
        self.assertEqual(*found)

    def test_two_commands(self):
        """The second one: README's own kernel, with all that its shell finds of Hone in the environment."""
        section = (hone.SOURCE / "README.md").read_text().split("## Your own kernel")[1]
        kernel = re.search(r"```cuda\n(.*?)```", section, re.S).group(1)
        self.write("scale.cu", 'extern "C" __device__ const int hone_double[] = {BLOCK, ITEMS, N};\n' + kernel)
        self.write("scale.yaml", re.search(r"```yaml\n(.*?)```", section, re.S).group(1).replace("16777216", "65536"))
        command, = (line for line in pages.lines("README.md", "Your own kernel") if line.startswith("hone tune"))
        shown = run("bash", "-ec", command, cwd=self.folder, **{**self.environment(), "PATH": f"{self.venv}/bin:/usr/bin:/bin"})
        self.assertIn("(15 of 15 points)", shown)
        self.assertLess(time.monotonic() - self.began, 60)

    def test_a_program_by_pkg_config_and_one_by_cmake(self):
        self.write("program.c", "#include <hone.h>\n#include <stdio.h>\nint main(void) { puts(hone_version()); return 0; }\n")
        cuda = os.environ.get("CUDA_INCLUDE", "/usr/local/cuda/include")
        line = f"cc -isystem {cuda} program.c $(pkg-config --cflags --libs hone) -Wl,-rpath,$(pkg-config --variable=libdir hone) -o program && ./program"
        version = run(self.venv / "bin" / "hone", "--version").split()[1]
        if shutil.which("pkg-config"):
            found = run("bash", "-ec", line, cwd=self.folder, PKG_CONFIG_PATH=str(self.venv / "lib" / "pkgconfig"))
            self.assertEqual(found.strip(), version)
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.22)\nproject(outside LANGUAGES C)\nfind_package(hone REQUIRED)\n"
                   "add_executable(program program.c)\ntarget_link_libraries(program PRIVATE hone::hone)\n"
                   'message(STATUS "command ${HONE_EXECUTABLE}")\n')
        said = run("cmake", "-S", self.folder, "-B", self.folder / "build", f"-DCMAKE_PREFIX_PATH={self.venv}", f"-DCMAKE_C_FLAGS=-isystem {cuda}")
        self.assertIn(f"command {self.venv}/bin/hone", said)
        run("cmake", "--build", self.folder / "build")
        self.assertEqual(run(self.folder / "build" / "program").strip(), version)

    def test_python_and_the_end(self):
        share = self.venv / "share" / "hone"
        said = run(self.venv / "bin" / "python", "-c", "import hone, hone._find as f\n"
                   f"print(hone.tune('{share}/configs/reduce.yaml', problem={{'SIZE': 268435456}}, "
                   f"simulate='{share}/cache/recorded/nvidia-h200').best.time_us > 0, f.command(), f.library())", HONE_CACHE=str(self.cache))
        self.assertEqual(said.split(), ["True", f"{self.venv}/bin/hone", f"{self.venv}/lib/libhone.so.0"])
        for place in ("include/hone.hpp", "share/hone/templates/matmul.cu", "share/man/man1/hone.1"):
            self.assertTrue((self.venv / place).exists(), place)
        run(self.venv / "bin" / "pip", "uninstall", "-q", "-y", "hone")
        self.assertEqual([path for path in self.venv.rglob("*hone*") if not path.is_dir()], [])
