"""The meaning of nexrender's states, in both dialects: real nexrender's and the simplified one (RN-09). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from drover.render.nexrender.paths import comparable

ERROR_CHARS_MAX: Final = 2000
"""Maximum length of an error, which can be aerender's whole output. Its beginning and its end are kept."""
CUT: Final = " … "
"""Stands for the middle of a text that was shortened."""


class Dialect(StrEnum):
    NEXRENDER = "nexrender"
    """Real nexrender. A job has `uid`, `state` and `renderProgress`."""
    SIMPLIFIED = "simplified"
    """The simplified API of document 003 (the render queue), §3.5. A job has `id`, `status` and `progress`."""


class Stage(StrEnum):
    """The stage of a job at nexrender, for both dialects."""

    RENDERING = "rendering"
    ENCODING = "encoding"
    FINISHED = "finished"
    ERROR = "error"


STAGES: Final[Mapping[str, Stage]] = {
    # Real nexrender.
    "created": Stage.RENDERING,
    "queued": Stage.RENDERING,
    "picked": Stage.RENDERING,
    "started": Stage.RENDERING,
    "render:setup": Stage.RENDERING,
    "render:predownload": Stage.RENDERING,
    "render:download": Stage.RENDERING,
    "render:postdownload": Stage.RENDERING,
    "render:prerender": Stage.RENDERING,
    "render:script": Stage.RENDERING,
    "render:dorender": Stage.RENDERING,
    "render:postrender": Stage.ENCODING,
    "render:cleanup": Stage.ENCODING,
    "finished": Stage.FINISHED,
    "error": Stage.ERROR,
    # The simplified API. States that have the same name in both dialects mean the same, and are listed above.
    "rendering": Stage.RENDERING,
    "encoding": Stage.ENCODING,
}


def stage_of(state: str) -> Stage:
    """Return the stage of a state. An unknown state counts as rendering, until the time-out of a render ends it."""
    return STAGES.get(state, Stage.RENDERING)


def progress_of(answer: Mapping[str, Any]) -> int | None:
    """Return the progress of a job in percent; None if the answer has none. It skips values and may end at 90: never
    wait for 100."""
    for name in ("renderProgress", "progress"):
        told = answer.get(name)
        if isinstance(told, int | float) and not isinstance(told, bool):
            return int(min(max(told, 0), 100))
    return None


def error_of(answer: Mapping[str, Any]) -> str | None:
    """Return the error in an answer, shortened; None if there is none. A finished job can have an error, too."""
    for name in ("error", "errorMessage", "error_message", "message"):
        if text := _text(answer.get(name)).replace("\0", "").strip():
            return shortened(text, ERROR_CHARS_MAX)
    return None


def _text(told: Any) -> str:
    """Turn an error into text: from a text, a JavaScript error object, or a list of these."""
    if isinstance(told, list):
        return "\n\n".join(filter(None, map(_plain, told)))
    return _plain(told)


def _plain(told: Any) -> str:
    if isinstance(told, Mapping):
        told = told.get("message") or told.get("stack")
    return told if isinstance(told, str) else ""


def shortened(text: str, chars_max: int) -> str:
    """Shorten a text that is longer than `chars_max`: its beginning fills three quarters of that length, its end one
    quarter."""
    if len(text) <= chars_max:
        return text
    head = (chars_max - len(CUT)) * 3 // 4
    return text[:head] + CUT + text[len(text) - (chars_max - len(CUT) - head) :]


_MISSING: Final = re.compile(
    r"enoent|no such file|not found|cannot find|could not find|couldn't find|not exist|찾을 수 없"
)
_BEFORE_A_PATH: Final = r"(?:^|[\s'\"`(=:])"
_AFTER_A_PATH: Final = r"(?=$|[\s'\"`),;:]|\.(?:\s|$))"


def is_missing(error_text: str | None, src: str) -> bool:
    """Whether an error says that this file, given as a path or as our URL, is missing. Then a retry is useless.

    False if another file is missing, even a copy in nexrender's own folders whose name ends like this one's.
    """
    if not error_text:
        return False
    text = re.sub(r"[\\/]+", "/", error_text.casefold())
    if not _MISSING.search(text):
        return False
    return re.search(f"{_BEFORE_A_PATH}/?{re.escape(comparable(src))}{_AFTER_A_PATH}", text) is not None
