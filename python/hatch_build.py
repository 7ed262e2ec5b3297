# SPDX-License-Identifier: MIT
"""With HONE_PREFIX, where Hone is installed, a wheel brings the command and the library of there: it is one for a platform, and puts
the command on the PATH. Without it a wheel is of Python alone, and finds what is installed.

HONE_PACKAGE_URL is the home page that the package names; whoever publishes it has one."""

import os
import pathlib
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class Prefix(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == "editable":
            return
        about = f"{self.metadata.core.name}-{self.metadata.version}"
        licence = pathlib.Path(self.root).parent / "LICENSE"
        if licence.is_file():
            build_data["force_include"][str(licence)] = f"{about}.dist-info/licenses/LICENSE"
        named = os.environ.get("HONE_PREFIX")
        if not named:
            return
        prefix = pathlib.Path(named)
        library = next(iter(sorted(prefix.glob("lib*/**/libhone.so.0"))), None)
        command = prefix / "bin" / "hone"
        if library is None or not command.is_file():
            raise FileNotFoundError(f"HONE_PREFIX={prefix} has no bin/hone or no libhone.so.0: cmake --install build --prefix {prefix}")
        # The command twice: pip puts one on the PATH, and libhone looks for one beside itself. A file can be named once: the other is its folder's.
        build_data["force_include"].update({str(command): f"{about}.data/scripts/hone", str(command.parent): "hone/_prefix/bin",
                                            str(library.resolve()): "hone/_prefix/lib/libhone.so.0"})
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


class HomePage(MetadataHookInterface):
    def update(self, metadata):
        url = os.environ.get("HONE_PACKAGE_URL")
        metadata["urls"] = {"Homepage": url} if url else {}
