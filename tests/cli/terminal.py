# SPDX-License-Identifier: MIT
"""Runs a program on a pseudo terminal and keeps what its screen shows."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

TOKEN = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|([^\x1b])", re.S)


class Screen:
    """As much of a terminal as a progress display needs: it wraps, scrolls without end, and forgets nothing."""

    def __init__(self, columns):
        self.columns = columns
        self.rows = [[]]
        self.row = self.column = 0
        self.colours = 0

    def feed(self, text):
        for match in TOKEN.finditer(text):
            number, command, character = match.groups()
            if command is not None:
                self.command(command, int(number.split(";")[0] or 0) if number else 0)
            else:
                self.character(character)

    def command(self, command, number):
        if command == "A":
            self.row = max(self.row - max(number, 1), 0)
        elif command == "J":
            del self.rows[self.row + 1:]
            del self.rows[self.row][self.column:]
        elif command == "K":
            del self.rows[self.row][self.column:]
        elif command == "m":
            self.colours += 1
        else:
            raise ValueError(f"an escape sequence that is not expected: {command}")

    def character(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            while len(self.rows) <= self.row:
                self.rows.append([])
        else:
            if self.column == self.columns:
                self.column = 0
                self.character("\n")
            row = self.rows[self.row]
            row.extend(" " * (self.column + 1 - len(row)))
            row[self.column] = character
            self.column += 1

    def lines(self):
        return ["".join(row).rstrip() for row in self.rows]


class Terminal:
    """A program on a terminal of that size. Its output is read until it ends, or until `until` says so of the screen."""

    def __init__(self, arguments, columns=100, rows=30, cwd=None, env=None):
        self.screen = Screen(columns)
        self.widest = 0
        self.output = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                os.chdir(cwd or ".")
                os.execvpe(arguments[0], arguments, env or os.environ)
            finally:
                os._exit(127)
        self.modes = termios.tcgetattr(self.fd)
        self.status = None

    def read(self, until=lambda lines: False, seconds=60):
        """True when `until` held, False when the program ended before."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not select.select([self.fd], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            if not data:
                self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
                return False
            text = data.decode(errors="replace")
            self.output += text
            self.screen.feed(text)
            self.widest = max(self.widest, *map(len, self.screen.lines()))
            if until(self.screen.lines()):
                return True
        os.kill(self.pid, signal.SIGKILL)
        raise TimeoutError(self.screen.lines())

    def resize(self, columns, rows=30):
        self.screen.columns = columns
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
