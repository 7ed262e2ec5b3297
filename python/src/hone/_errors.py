# SPDX-License-Identifier: MIT
"""What fails, with the words of the command or of the library."""

from __future__ import annotations

from typing import Any


class Error(RuntimeError):
    """Whatever goes wrong in Hone: what was found, what was expected, what to do."""


class CommandError(Error):
    """`hone` ended with another exit code than 0.

    code: 1 the run failed, 2 wrong usage or an error in the config, 3 nothing valid was found, 128+n ended by signal n.
    stderr: all that the command said.
    result: of `tune` with code 3, the `Result` with what became of each point; else None.
    """

    def __init__(self, message: str, code: int, stderr: str = "", result: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.stderr = stderr
        self.result = result


class LibraryError(Error):
    """A call of libhone failed.

    status: the name of the status, as "HONE_NOT_FOUND".
    cuda: of HONE_CUDA the driver's result, else 0.
    """

    def __init__(self, message: str, status: str, cuda: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.cuda = cuda
