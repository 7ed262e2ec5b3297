# SPDX-License-Identifier: MIT
"""The commands that the pages show: lines behind four blanks, lines behind a `$ ` in ```console, and ```sh as a whole."""

import re

import hone
import test_links

BLOCK = re.compile(r"^```(\w*)\n([\s\S]*?)^```|((?:^    .*\n)+)|^#+ (.*)$", re.M)


def blocks(page):
    """(heading, fence, body) of each block of code; the fence of indented lines is ''. Of a page of `man`: its displays."""
    text, heading = (hone.SOURCE / page).read_text(), ""
    if page.endswith(".1"):
        yield from (("", "", body) for body in re.findall(r"^\.Bd -literal\n(.*?)^\.Ed", text, re.M | re.S))
        return
    for fence, body, indented, title in BLOCK.findall(text):
        heading = title or heading
        if body or indented:
            yield heading, fence, body or re.sub(r"^    ", "", indented, flags=re.M)


def commands(page, heading=None):
    """(heading, command) in their order, without comments."""
    found = []
    for title, fence, body in blocks(page):
        if heading is not None and title != heading:
            continue
        if fence == "sh":
            found.append((title, body))
        elif fence in ("", "console"):
            lines = re.findall(r"^\$ (.*)$", body, re.M) if fence == "console" else body.splitlines()
            found += [(title, line) for line in (re.split(r" +(?:#|--) ", line)[0].rstrip() for line in lines) if line]
    return found


def lines(page, heading):
    """The commands of a section."""
    return [line for _, line in commands(page, heading)]


def all_pages():
    return sorted(str(page.relative_to(hone.SOURCE)) for page in test_links.pages()) + ["docs/hone.1"]
