"""Paths as nexrender's machines see them, mostly on Windows, and their file URLs. Pure."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote

from drover.domain.errors import DroverError

NOT_ESCAPED: Final = ";,/?:@&=+$-_.!~*'()#"
"""Characters of a path that its URL does not escape, besides letters and digits: those of `encodeURI`. nexrender
decodes with `decodeURI`, which does not decode `%23` and the like."""

_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SUFFIX: Final = re.compile(r"\.[A-Za-z0-9]{1,10}$")
_SEPARATORS: Final = re.compile(r"[\\/]+")


class PathUnusable(DroverError):
    """This path cannot be passed to nexrender."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path!r} {reason}")


def file_url(path: str) -> str:
    r"""The URL by which nexrender finds a file: `D:\a b\x.aep` → `file:///D:/a%20b/x.aep`, `\\NAS\a` → `file://NAS/a`.

    A URL is left as it is, except `file://D:/…`, the form in document 003 (the render queue): nexrender would take `D:`
    for the name of a computer, so the third slash is added. nexrender replaces a `$NAME` in a path if its machine has
    such a variable; nothing can escape that.
    """
    if path.startswith("file://") and _DRIVE.match(path, 7):
        path = path[7:]
    elif _SCHEME.match(path):
        return path
    if _CONTROL.search(path):
        raise PathUnusable(path, "has control characters in it")
    if "|" in path:
        raise PathUnusable(path, "has a | in it, which nexrender takes for the colon of a drive")
    if _DRIVE.match(path):
        return "file:///" + _escaped(path, path.replace("\\", "/"))
    if path.startswith("\\\\"):
        rest = path[2:].replace("\\", "/")
    elif path.startswith("/"):
        rest = path
    else:
        raise PathUnusable(path, "is not an absolute path: nexrender would look for it in a folder of its own")
    if ":" in rest:
        raise PathUnusable(path, "has a colon in it, so nexrender takes what is before it for a drive")
    return "file://" + _escaped(path, rest)


def _escaped(path: str, text: str) -> str:
    try:
        return quote(text, safe=NOT_ESCAPED)
    except UnicodeEncodeError as error:
        raise PathUnusable(path, "has characters in it that are no text") from error


def suffix_of(path: str) -> str:
    """The suffix with its dot, such as `.aep`; empty if there is none or it is ambiguous."""
    found = _SUFFIX.search(path)
    return found.group() if found else ""


def refuse_relative(path: str) -> None:
    """Refuse a relative path for a file that nexrender will write."""
    if not (_DRIVE.match(path) or path.startswith(("\\\\", "/"))):
        raise PathUnusable(path, "is not an absolute path: nexrender would put the file where it clears up")


def comparable(path_or_url: str) -> str:
    """A normal form of a path or of our URL of it, to compare spellings: slashes and case are ignored."""
    path = path_or_url
    if path.startswith("file://"):
        path = unquote(path[7:])
        if _DRIVE.match(path, 1):
            path = path[1:]
    return _SEPARATORS.sub("/", path).casefold().lstrip("/")
