# SPDX-License-Identifier: MIT
"""The Debian package of this build: made, unpacked into a folder and used from there; installed and removed in a fresh Debian."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

import hone

BUILD = pathlib.Path(os.environ.get("HONE_BUILD", hone.SOURCE / "build")).resolve()
# A real maintainer signs with a real address, a release is linked with shared libraries (preset `package`), and one package
# holds command and library.
EXPECTED_TAGS = ("bogus-mail-host", "embedded-library")


@unittest.skipUnless(shutil.which("dpkg-deb") and shutil.which("dpkg-shlibdeps"), "there is no dpkg-dev")
class Package(hone.Case):

    def setUp(self):
        super().setUp()
        self.call("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "DEB", "-B", self.folder / "packages")
        self.package, = (self.folder / "packages").glob("*.deb")
        self.root = self.folder / "root"
        self.call("dpkg-deb", "-x", self.package, self.root)

    def call(self, *words, **changes):
        settings = dict(os.environ, TMPDIR=str(self.folder), HONE_LOCKS=str(self.folder), HOME=str(self.folder), HONE_CACHE=str(self.cache), **changes)
        result = subprocess.run([str(word) for word in words], cwd=self.folder, env=settings, text=True,
                                stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        self.assertEqual(result.returncode, 0, f"{words}: {result.stdout}{result.stderr}")
        return result.stdout

    def test_package(self):
        """One test: making the package takes some seconds."""
        for check in (self.check_control, self.check_places, self.check_command, self.check_example, self.check_manual,
                      self.check_completions, self.check_links, self.check_lintian, self.check_install):
            with self.subTest(check.__name__):
                check()

    def check_control(self):
        fields = dict(re.findall(r"^ (\S+): (.*)$", self.call("dpkg-deb", "-I", self.package), re.M))
        version = re.search(r"project\(hone VERSION (\S+)", (hone.SOURCE / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual((fields["Package"], fields["Version"]), ("hone", f"{version}-1"))
        self.assertEqual(self.package.name, f"hone_{version}-1_{fields['Architecture']}.deb")
        self.assertRegex(fields["Depends"], r"\blibc6 \(>= ")
        self.assertIn("nvrtc", fields["Recommends"])
        self.assertIn("libclang1", fields["Recommends"])
        self.assertNotIn("cuda", fields["Depends"])
        # What the binaries load is what the package depends on.
        needed = set()
        for file in [self.root / "usr/bin/hone", next((self.root / "usr").glob("lib/**/libhone.so"))]:
            needed |= set(re.findall(r"\(NEEDED\).*\[lib(\w+)", self.call("readelf", "-d", file)))
        for library in needed - {"c", "m", "dl", "pthread"}:
            self.assertIn({"z": "zlib1g"}.get(library, f"lib{library}"), fields["Depends"])

    def check_places(self):
        for path in ("bin/hone", "include/hone.h", "share/man/man1/hone.1.gz", "share/doc/hone/copyright",
                     "share/doc/hone/changelog.gz", "share/doc/hone/docs/config.md", "share/hone/configs/matmul.yaml",
                     "share/hone/templates/matmul.cu", "share/hone/templates/reference/matmul.cu",
                     "share/hone/examples/matmul/main.cu", "share/hone/cache/recorded/roofs.json",
                     "share/bash-completion/completions/hone", "share/zsh/vendor-completions/_hone"):
            self.assertTrue((self.root / "usr" / path).exists(), path)
        for pattern in ("libhone.so.0", "libhone.a", "pkgconfig/hone.pc", "cmake/hone/hone-config.cmake"):
            self.assertTrue(list((self.root / "usr").glob(f"lib/**/{pattern}")), pattern)
        self.assertTrue((self.root / "usr/include/hone.hpp").exists())
        strays = [path for path in self.root.rglob("*") if path.suffix in (".db", ".o", ".py") or path.name.startswith(".git")]
        self.assertEqual([path.name for path in strays], ["linear.py"])  # an example's

    def check_command(self):
        command = self.root / "usr/bin/hone"
        self.assertEqual(self.call(command, "--version"), self.hone("--version").stdout)
        shown = self.call(command, "space", self.root / "usr/share/hone/configs/matmul.yaml", "-p", "K=32")
        self.assertIn("475 valid points", shown)
        shown = self.call(command, "tune", self.root / "usr/share/hone/configs/reduce.yaml", "-p", "SIZE=1073741824", "--quiet",
                          "--simulate", self.root / "usr/share/hone/cache/recorded/nvidia-h200")
        self.assertIn("reduce SIZE=1073741824", shown)

    def check_example(self):
        """An example builds where it was installed, with what was installed."""
        library, = self.folder.glob("root/usr/lib/**/cmake/hone")
        self.call("cmake", "-S", self.root / "usr/share/hone/examples/embedded_cubin", "-B", "example", f"-Dhone_DIR={library}",
                  f"-DCUDA_DRIVER={BUILD}/tests/double/libcuda.so", f"-DCUDA_INCLUDE={hone.cuda_include()}", "-DHONE_ARCHITECTURES=sm_90", "-DCMAKE_C_COMPILER_LAUNCHER=")
        self.call("cmake", "--build", "example")

    @unittest.skipUnless(shutil.which("man"), "there is no man")
    def check_manual(self):
        page = self.call("man", "-l", self.root / "usr/share/man/man1/hone.1.gz", MANWIDTH="100", LC_ALL="C.UTF-8")
        self.assertIn("tune CUDA kernels", page)
        self.assertIn("EXIT STATUS", page)

    def check_completions(self):
        for shell, path in (("bash", "bash-completion/completions/hone"), ("zsh", "zsh/vendor-completions/_hone")):
            if shutil.which(shell):
                self.call(shell, "-n", self.root / "usr/share" / path)

    def check_links(self):
        """Pages of the installed manual point to pages that are there."""
        manual = self.root / "usr/share/doc/hone/docs"
        for page in manual.glob("*.md"):
            for target in re.findall(r"\]\(([\w-]+\.(?:md|svg|png))", page.read_text()):
                self.assertTrue((manual / target).exists(), f"{page.name}: {target}")

    def check_lintian(self):
        if not shutil.which("lintian"):
            self.skipTest("there is no lintian")
        result = subprocess.run(["lintian", "--no-tag-display-limit", str(self.package)], capture_output=True, text=True,
                                cwd=self.folder, stdin=subprocess.DEVNULL, timeout=120)
        errors = {line for line in result.stdout.splitlines() if line.startswith("E:") and not line.split()[2].startswith(EXPECTED_TAGS)}
        self.assertEqual(errors, set())

    def check_install(self):
        """With nothing but what it depends on."""
        if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
            self.skipTest("there is no mmdebstrap, or no root to run it")
        debian = self.folder / "debian"
        depends = re.search(r"^ Depends: (.*)$", self.call("dpkg-deb", "-I", self.package), re.M).group(1)
        codename = re.search(r"^VERSION_CODENAME=(.*)$", pathlib.Path("/etc/os-release").read_text(), re.M).group(1)
        made = subprocess.run(["mmdebstrap", "--quiet", "--variant=essential", f"--include={','.join(re.findall(r'([a-z][a-z0-9.+-]+) ', depends))}",
                               codename, debian], capture_output=True, text=True)
        if made.returncode != 0:
            self.skipTest(f"no Debian can be fetched: {made.stderr[-300:]}")
        shutil.copy(self.package, debian / "hone.deb")
        before = self.call("find", debian / "usr", debian / "etc")
        self.call("chroot", debian, "dpkg", "-i", "/hone.deb")
        self.assertEqual(self.call("chroot", debian, "hone", "--version"), self.hone("--version").stdout)
        self.assertIn("475 valid points", self.call("chroot", debian, "hone", "space", "/usr/share/hone/configs/matmul.yaml", "-p", "K=32"))
        self.assertIn("libhone.so.0", self.call("chroot", debian, "ldconfig", "-p"))
        self.call("chroot", debian, "dpkg", "--purge", "hone")
        self.assertEqual(self.call("find", debian / "usr", debian / "etc"), before)
