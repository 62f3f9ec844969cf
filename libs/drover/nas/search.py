"""The search for temporary files on the NAS. Each kind of store passes a function that lists a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import nlargest
from pathlib import PurePosixPath

from drover.nas.naming import is_date_folder, parse_temporary
from drover.nas.store import FOLDERS_MAX, TEMPORARIES_MAX


def find_temporaries(
    root_names: Iterable[str], names_in: Callable[[PurePosixPath], Iterable[str]]
) -> list[PurePosixPath]:
    """Find temporary files. `root_names`: the names in the root. `names_in`: returns the names in a date folder, or
    none if the folder was deleted or is a file."""
    found: list[PurePosixPath] = []
    dates = nlargest(FOLDERS_MAX, (name for name in root_names if is_date_folder(name)))
    for date in map(PurePosixPath, dates):
        found += (date / name for name in names_in(date) if parse_temporary(name))
        if len(found) >= TEMPORARIES_MAX:
            break
    return found[:TEMPORARIES_MAX]
