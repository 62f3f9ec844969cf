"""Resolves a country or a path in gfx_data to a file in the image folder, never to a file outside it.

Works on texts only, without a file system: the folder is on After Effects' machine, mostly Windows.
"""

from __future__ import annotations

import re
from typing import Final

IMAGE_SUFFIXES: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".psd", ".ai", ".svg"})
FLAGS_FOLDER: Final = "flags"
FLAG_SUFFIX: Final = ".png"

_SCHEME: Final = re.compile(r"file://", re.IGNORECASE)
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_UNUSABLE: Final = re.compile(r'[\x00-\x1f\x7f<>:"|?*$%#\ud800-\udfff]')
"""Characters that Windows reserves, and characters that nexrender would replace or cut off in a path."""
_DEVICE: Final = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])\s*(\.|$)", re.IGNORECASE)
"""Names that Windows treats as devices, in any folder and with any suffix."""

_UNC: Final = "//"


def image_path(named: str, images: str) -> str | None:
    """Return the file in the folder `images` for a country or a path; None if it is outside the folder or not an
    image."""
    folder, path = _split(images), _split(_without_scheme(named.strip()))
    if folder is None or path is None or folder[0] == "":
        return None
    parts = _within(folder, path)
    if not parts or any(_UNUSABLE.search(part) or part == ".." for part in parts):
        return None
    if path[0] == "" and len(parts) == 1 and _suffix(parts[0]) not in IMAGE_SUFFIXES:
        parts = [FLAGS_FOLDER, parts[0] + FLAG_SUFFIX]  # a country
    # Windows drops trailing dots and spaces of a name, so `.. ` would become `..`.
    if any(part.endswith((".", " ")) or _DEVICE.match(part) for part in parts):
        return None
    return _joined(folder, parts) if _suffix(parts[-1]) in IMAGE_SUFFIXES else None


def _without_scheme(text: str) -> str:
    scheme = _SCHEME.match(text)
    if scheme is None:
        return text
    rest = text[scheme.end() :]
    if _DRIVE.match(rest, 1) and rest[0] in "/\\":
        return rest[1:]  # file:///D:/…; document 003 writes it with two slashes
    return rest if _DRIVE.match(rest) or rest.startswith(("/", "\\")) else _UNC + rest  # file://host/share/…


def _split(text: str) -> tuple[str, list[str]] | None:
    """Split a path into its root (`D:/`, `//` for a share, `/`, or empty for relative) and its parts; None if it is
    ambiguous."""
    text = text.replace("\\", "/")
    if _DRIVE.match(text):
        root = text[:2].upper() + "/"
        if text[2:3] != "/":
            return None  # relative to the drive's current folder, which is unknown
    else:
        root = next((begin for begin in (_UNC, "/") if text.startswith(begin)), "")
    return root, [part for part in text[len(root) :].split("/") if part not in ("", ".")]


def _within(folder: tuple[str, list[str]], path: tuple[str, list[str]]) -> list[str] | None:
    """Return the parts of the path below the folder; None if the path is not in the folder."""
    (root, above), (begin, parts) = folder, path
    if begin == "":
        return parts
    same = str if root == "/" else str.casefold  # Windows ignores case
    if begin != root or [same(part) for part in parts[: len(above)]] != [same(part) for part in above]:
        return None
    return parts[len(above) :]


def _joined(folder: tuple[str, list[str]], parts: list[str]) -> str:
    """Join a folder and parts of a path with slashes, which every system accepts. In a share use backslashes, so that
    it does not look like a path that begins with two slashes."""
    root, above = folder
    if root == _UNC:
        return "\\\\" + "\\".join([*above, *parts])
    return root + "/".join([*above, *parts])


def _suffix(name: str) -> str:
    dot = name.rfind(".")
    return name[dot:].lower() if dot > 0 else ""
