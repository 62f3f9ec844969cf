"""The output folder of the simulated nexrender. Nothing is written outside this folder, whatever path a job has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

COPY: Final = "@nexrender/action-copy"
RESULT_MISSING: Final = (
    "Error: Error loading postrender module @nexrender/action-copy: Error: ENOENT: no such file or directory, open '{}'"
)
_ABSOLUTE: Final = re.compile(r"(?:[A-Za-z]:)?[\\/]")


class WriteFailed(Exception):
    """A file cannot be written. The message becomes the error of the job."""


class OutputFolder:
    """The folder into which files may be written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def land(self, path: str, content: bytes) -> None:
        """Write a file as nexrender does: make missing parent folders, and overwrite an existing file from its
        beginning."""
        target = Path(path)
        target = target.resolve() if target.is_absolute() else target
        if not target.is_relative_to(self._folder):
            raise WriteFailed(f"Error: EACCES: permission denied, open '{path}'")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except OSError as error:
            raise WriteFailed(f"Error: {error.strerror}, open '{path}'") from error


def target_of(job: dict[str, Any]) -> str | None:
    """Return the path to which a job copies its file. None if it copies none: then no file is kept.

    Raises WriteFailed if the job sets an `output` of its own and copies a relative path: the real nexrender then has no
    `result.mp4` to copy.
    """
    actions, output = job["actions"], job.get("output")
    for action in (actions.get("postrender") if isinstance(actions, dict) else None) or ():
        if action.get("module") == COPY:
            taken = str(action.get("input") or output or "")
            if output and not _ABSOLUTE.match(taken):
                raise WriteFailed(RESULT_MISSING.format(f"/tmp/nexrender/{job['uid']}/{taken}"))  # noqa: S108
            return str(action.get("output") or "") or None
    return None
