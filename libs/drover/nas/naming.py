"""Makes and parses file names on the NAS, without I/O. The store checks whether a name is taken."""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from pathlib import PurePosixPath
from typing import Final

NAME_BYTES_MAX: Final = 200
"""Maximum size of a final name, in bytes of UTF-8. File systems accept 255, and the temporary name is longer, because
it also has the number of the run."""
NAMELESS: Final = "render"
"""The name of a composition in whose own name no character is allowed in a file name."""

_SUFFIX: Final = ".mp4"
_RESERVED_CHARACTERS: Final = frozenset('<>:"/\\|?*')
_UNSEEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that names must not contain: control characters, format characters (they can reverse a name), lone
surrogates, line separators."""
_DEVICES: Final = frozenset(
    {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}
    | {f"{port}{n}" for port in ("COM", "LPT") for n in "0123456789¹²³"}
)
"""Names of Windows devices. Windows opens the device even with a suffix: the content of `nul.tar_7.mp4` would be
lost."""

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER: Final = "(0|[1-9][0-9]{0,18})"
_TEMPORARY: Final = re.compile(rf"\..*_{_NUMBER}\.mp4\.run{_NUMBER}\.part", re.DOTALL)


def final_name(broadcast_date: date, composition: str, render_id: int) -> PurePosixPath:
    """Make the name `{broadcast_date}/{composition}_{id}.mp4`. The id is last and never cut, so two renders never share
    a name."""
    assert render_id >= 0, render_id
    ending = f"_{render_id}{_SUFFIX}"
    stem = _cut(_safe(composition), NAME_BYTES_MAX - len(ending))
    folder = f"{broadcast_date.year:04d}-{broadcast_date.month:02d}-{broadcast_date.day:02d}"
    return PurePosixPath(folder, stem + ending)


def temporary_name(final: PurePosixPath, run: int) -> PurePosixPath:
    """Make the name under which a run writes the file before it is published. It is in the same folder, because a
    rename is atomic only within a folder."""
    assert run >= 0, run
    return final.with_name(f".{final.name}.run{run}.part")


def parse_temporary(name: str | PurePosixPath) -> tuple[int, int] | None:
    """Return render id and run from the name of a temporary file; None for any other file."""
    found = _TEMPORARY.fullmatch(PurePosixPath(name).name)
    return (int(found[1]), int(found[2])) if found else None


def parse_location(location: str) -> PurePosixPath | None:
    """Return the path, below the root, of the finished file at a location that a worker reported. The worker may have
    used a mount or SMB. None if the location is not that of a finished file."""
    *_, folder, name = ("", "", *re.split(r"[/\\]", location))
    if not is_date_folder(folder) or name.startswith(".") or not name.endswith(_SUFFIX):
        return None
    try:
        return PurePosixPath(*parts_inside(PurePosixPath(folder, name)))
    except ValueError:
        return None


def is_date_folder(name: str) -> bool:
    """Whether this is the name of a folder that `final_name` makes. The search for abandoned files looks into no other
    folders."""
    return _DATE.fullmatch(name) is not None


def parts_inside(path: PurePosixPath) -> tuple[str, ...]:
    """Split a path below the store's root into its parts. Raises ValueError for a path that could leave the root."""
    for part in path.parts:
        if part in ("/", "//", "..") or "\\" in part or "\0" in part or ":" in part:
            raise ValueError(f"not a path inside the store: {str(path)!r}")
    if not path.parts:
        raise ValueError("the store's root is no file")
    return path.parts


def _safe(composition: str) -> str:
    name = "".join(map(_safe_character, unicodedata.normalize("NFC", composition)))
    name = name.strip(" .") or NAMELESS  # a leading dot hides a file; only temporary ones may be hidden
    if name.split(".", 1)[0].rstrip(" ").upper() in _DEVICES:
        return f"_{name}"
    return name


def _safe_character(character: str) -> str:
    if character in _RESERVED_CHARACTERS or unicodedata.category(character) in _UNSEEN_CATEGORIES:
        return "_"
    return character


def _cut(text: str, bytes_max: int) -> str:
    return text.encode()[:bytes_max].decode(errors="ignore")
