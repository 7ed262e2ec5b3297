# SPDX-License-Identifier: MIT
"""With HONE_PREFIX, where Hone is installed, a wheel brings the command and the library of there: it is one for a platform. Without
it a wheel is of Python alone, and finds what is installed."""

import os
import pathlib
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Prefix(BuildHookInterface):
    def initialize(self, version, build_data):
        named = os.environ.get("HONE_PREFIX")
        if not named or version == "editable":
            return
        prefix = pathlib.Path(named)
        library = next(iter(sorted(prefix.glob("lib*/**/libhone.so.0"))), None)
        command = prefix / "bin" / "hone"
        if library is None or not command.is_file():
            raise FileNotFoundError(f"HONE_PREFIX={prefix} has no bin/hone or no libhone.so.0: cmake --install build --prefix {prefix}")
        build_data["force_include"].update({str(command): "hone/_prefix/bin/hone", str(library.resolve()): "hone/_prefix/lib/libhone.so.0"})
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
