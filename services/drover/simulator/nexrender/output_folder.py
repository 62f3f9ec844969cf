"""The output folder of the simulated nexrender. Whatever a job says, nothing is written outside this folder."""

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
    """A file cannot be written. The text becomes the error of the job."""


class OutputFolder:
    """The folder that files may be written to, and the path that jobs use for it."""

    def __init__(self, folder: Path, seen_as: str | None = None) -> None:
        self._folder = folder.resolve()
        self._seen_as = None if seen_as is None else _spelled(seen_as).rstrip("/") + "/"

    def land(self, path: str, content: bytes) -> None:
        """Like the real one: parent folders are made, and an existing file is overwritten from its beginning."""
        target = self._local(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except OSError as error:
            raise WriteFailed(f"Error: {error.strerror}, open '{path}'") from error

    def _local(self, path: str) -> Path:
        spelled = _spelled(path)
        if self._seen_as is not None and spelled.casefold().startswith(self._seen_as.casefold()):
            target = self._folder / spelled[len(self._seen_as) :]
        else:
            target = Path(path)
        target = target.resolve() if target.is_absolute() else target
        if not target.is_relative_to(self._folder):
            raise WriteFailed(f"Error: EACCES: permission denied, open '{path}'")
        return target


def target_of(job: dict[str, Any]) -> str | None:
    """The path for a job's file; None if the job has none, so that the file is deleted.

    Real nexrender copies its `result.mp4`, which does not exist if the job had an `output` of its own. A server of 003,
    whose actions are a list, writes to `output`.
    """
    actions, output = job.get("actions"), job.get("output")
    if not isinstance(actions, dict):
        return str(output) if output else None
    for action in actions.get("postrender") or ():
        if action.get("module") == COPY:
            taken = str(action.get("input") or output or "")
            if output and not _ABSOLUTE.match(taken):
                raise WriteFailed(RESULT_MISSING.format(f"/tmp/nexrender/{job['uid']}/{taken}"))  # noqa: S108
            return str(action.get("output") or "") or None
    return None


def _spelled(path: str) -> str:
    return path.replace("\\", "/")
