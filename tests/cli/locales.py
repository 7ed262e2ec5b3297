# SPDX-License-Identifier: MIT
"""Locales that write numbers with a comma, and one in which the small letter of I is none of ASCII, made for a test."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

NAMES = ("de_DE", "tr_TR")
SOURCES = "/usr/share/i18n/locales"


def make(folder):
    """The environments in which programs have these locales: beside the kept programs, which all tests share, or in this folder."""
    folder = pathlib.Path(os.environ.get("HONE_DOUBLE_KEPT", folder))
    if shutil.which("localedef") is None or not all(os.path.exists(f"{SOURCES}/{name}") for name in NAMES):
        raise unittest.SkipTest("there is no localedef with the sources of locales (Debian's package locales)")
    for name in NAMES:
        made = folder / f"{name}.UTF-8"
        if made.exists():
            continue
        with tempfile.TemporaryDirectory(dir=folder) as own:
            subprocess.run(["localedef", "-i", name, "-f", "UTF-8", f"{own}/{made.name}"], check=True, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=60)
            try:
                os.rename(f"{own}/{made.name}", made)
            except OSError:  # another test was faster
                if not made.exists():
                    raise
    return [{"LOCPATH": str(folder), "LC_ALL": f"{name}.UTF-8"} for name in NAMES]
