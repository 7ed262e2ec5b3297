# SPDX-License-Identifier: MIT
"""run.py FILE [NAME...]: the tests of a file, or those of these names. They are skipped where why_not() of the file says why, and
with HONE_GPU=1 where there is no GPU. A file with an end of its own runs itself."""

import importlib.util
import sys
import unittest

import double


def end_with(reason):
    print(f"SKIPPED: {reason}", file=sys.stderr)
    sys.exit(77)


if double.ON_GPU and not double.has_device():
    end_with("there is no GPU here")
del sys.modules["double"], sys.modules["hone"]  # a file may mean another: the Python package is called hone, too
del sys.argv[0]
sys.path.insert(0, sys.argv[0].rpartition("/")[0] or ".")
spec = importlib.util.spec_from_file_location("__main__", sys.argv[0])
module = sys.modules["__main__"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
reason = getattr(module, "why_not", lambda: None)()
if reason:
    end_with(reason)
unittest.main(module)
