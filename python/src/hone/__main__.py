# SPDX-License-Identifier: MIT
"""`python -m hone`: the command `hone`, whose arguments, streams and exit code are its own."""

import os
import signal
import sys

from . import _find
from ._errors import Error


def main() -> None:
    try:
        program = str(_find.command())
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, which programs that it becomes would inherit
            signal.signal(ignored, signal.SIG_DFL)
        os.execv(program, [program, *sys.argv[1:]])
    except (Error, OSError) as error:
        sys.exit(f"hone: {error}")


if __name__ == "__main__":
    main()
