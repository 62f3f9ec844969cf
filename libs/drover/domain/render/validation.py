"""Checks of a command that need no state. HTTP services call them before they send the command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from drover.domain.decider import Command, Rejection
from drover.domain.errors import Code
from drover.domain.render import commands as c

ID_CHARS_MAX: Final = 128
NAME_CHARS_MAX: Final = 200
PATH_CHARS_MAX: Final = 1000
SEALED_CHARS_MAX: Final = 90_000
"""Maximum length of sealed data. It keeps a request well below the size limit of one decision."""
SHA256_CHARS: Final = 64


def validate(command: Command) -> Rejection | None:
    return next(_problems(command), None)


def _problems(command: Command) -> Iterator[Rejection]:
    for name, chars_max, empty in _TEXTS:
        value = getattr(command, name, None)
        if not isinstance(value, str):
            continue
        if len(value) > chars_max:
            yield _invalid(f"At most {chars_max} characters", name, len(value))
        if not empty and not value.strip():
            yield _invalid("It must not be empty", name, value)
        if any(ord(char) < 32 and char not in "\t\n\r" for char in value):
            yield _invalid("It must not contain control characters", name, value[:64])
    for name in ("render_id", "mapping_id", "run", "size_bytes", "width", "height"):
        value = getattr(command, name, None)
        if value is not None and not 0 <= value < 2**53:
            yield _invalid("It must be a number from 0 on", name, value)
    if isinstance(command, c.RequestRender):
        if isinstance(command.cue_item_id, int) and not -(2**63) <= command.cue_item_id < 2**63:
            yield _invalid("It must be a number of 64 bits, or a text", "cue_item_id", str(command.cue_item_id)[:64])
        if len(command.gfx_data) > SEALED_CHARS_MAX:
            yield Rejection(Code.TOO_LARGE, "gfx_data is too large", {"field": "gfx_data"})
        elif not (command.gfx_data.isascii() and command.gfx_data.isprintable() and command.gfx_data):
            yield Rejection(Code.VALIDATION_ERROR, "It must be sealed", {"field": "gfx_data"})
    if isinstance(command, c.GetRuns) and len(command.render_ids) > c.IDS_PER_QUESTION_MAX:
        yield _invalid(f"At most {c.IDS_PER_QUESTION_MAX} ids", "render_ids", len(command.render_ids))


_TEXTS: Final = (
    ("composition_id", ID_CHARS_MAX, False),
    ("composition", NAME_CHARS_MAX, True),
    ("cue_item_id", ID_CHARS_MAX, True),
    ("worker_id", ID_CHARS_MAX, False),
    ("gfx_id", ID_CHARS_MAX, False),
    ("uid", ID_CHARS_MAX, False),
    ("nexrender_job_id", ID_CHARS_MAX, False),
    ("reason", c.MESSAGE_CHARS_MAX, True),
    ("output_file_path", PATH_CHARS_MAX, False),
    ("sha256", SHA256_CHARS, False),
    ("codec", NAME_CHARS_MAX, True),
    ("name", NAME_CHARS_MAX, True),
    ("template", PATH_CHARS_MAX, True),
    ("output_module", NAME_CHARS_MAX, True),
    ("field_name", NAME_CHARS_MAX, False),
    ("layer_name", NAME_CHARS_MAX, False),
    ("property", NAME_CHARS_MAX, False),
)
"""By text field of any command: the maximum number of characters, and whether it may be empty. Texts of reports that
come from nexrender or gfx_data are not listed: `texts` cuts them, so that no report is refused."""


def _invalid(message: str, field: str, value: Any) -> Rejection:
    return Rejection(Code.VALIDATION_ERROR, message, {"field": field, "value": value})
