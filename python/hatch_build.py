# SPDX-License-Identifier: MIT
"""With HONE_PREFIX, where Hone is installed, a wheel brings what is there but its manual, and pip lays it into the environment: bin, include, lib,
share. Without it a wheel is of Python alone, and finds what is installed.

HONE_PACKAGE_URL is the home page that the package names; whoever publishes it has one. HONE_LICENSES is a folder with the licenses of what is
linked."""

import os
import pathlib
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


def installed(prefix, made):
    """What goes into the environment's folder, by its place there. A wheel has no symbolic links: of the three names of libhone the loader's is the
    file, the linker's a line that names it, and CMake's files speak of the loader's."""
    library = next(iter(sorted(prefix.glob("lib*/**/libhone.so.0"))), None)
    if library is None or not (prefix / "bin" / "hone").is_file():
        raise FileNotFoundError(f"HONE_PREFIX={prefix} has no bin/hone or no libhone.so.0: cmake --install build --prefix {prefix}")
    folder = library.parent.relative_to(prefix)
    files = {str(path.relative_to(prefix)): path for path in sorted(prefix.rglob("*"))
             if path.is_file() and not path.name.startswith("libhone.") and prefix / "share" / "doc" not in path.parents}
    made.mkdir(parents=True, exist_ok=True)
    (made / "libhone.so").write_text("INPUT(libhone.so.0)\n")
    files |= {str(folder / "libhone.so"): made / "libhone.so", str(folder / "libhone.so.0"): library.resolve()}
    for place in [place for place in files if pathlib.Path(place).match("hone-targets-*.cmake")]:
        (made / files[place].name).write_text(files[place].read_text().replace(library.resolve().name, library.name))
        files[place] = made / files[place].name
    return files


class Prefix(BuildHookInterface):
    def initialize(self, version, build_data):
        if version == "editable":
            return
        about = f"{self.metadata.core.name}-{self.metadata.version}"
        licenses = [pathlib.Path(self.root).parent / "LICENSE", *sorted(pathlib.Path(os.environ.get("HONE_LICENSES", os.devnull)).glob("*"))]
        build_data["force_include"].update({str(path): f"{about}.dist-info/licenses/{path.name}" for path in licenses if path.is_file()})
        named = os.environ.get("HONE_PREFIX")
        if not named:
            return
        for place, path in installed(pathlib.Path(named), pathlib.Path(self.directory) / "made").items():
            kind = "scripts/hone" if place == "bin/hone" else f"data/{place}"
            build_data["force_include"][str(path)] = f"{about}.data/{kind}"
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


class HomePage(MetadataHookInterface):
    def update(self, metadata):
        url = os.environ.get("HONE_PACKAGE_URL")
        metadata["urls"] = {"Homepage": url} if url else {}
