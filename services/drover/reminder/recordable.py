"""Keeps the texts of a reminder out of what is recorded about its sending. A provider's answer may repeat them, and
what is recorded is in the log in clear text, so that an erasure could not remove it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from drover.reminder.notification import Delivered, Failed, Notification, Uncertain
from drover.service.written_forms import written_forms

NOT_RECORDED: Final = "The answer repeats texts of the reminder, so it is not recorded"
RUN_CHARS: Final = 8
"""An error that has this many consecutive characters of a text repeats a part of it. Fewer may be a coincidence."""
TEXT_CHARS_MIN: Final = 2


def recordable(outcome: Delivered | Failed | Uncertain, notification: Notification) -> Delivered | Failed | Uncertain:
    """Return the outcome, without the error if that has the title or the body of the reminder, or a part of them."""
    if isinstance(outcome, Delivered) or not _repeats(outcome.error, (notification.title, notification.body)):
        return outcome
    return replace(outcome, error=NOT_RECORDED)


def _repeats(error: str, texts: Iterable[str]) -> bool:
    forms = {form for text in texts for form in written_forms(text) if len(form) >= TEXT_CHARS_MIN}
    if any(form in error for form in forms):
        return True
    runs = {error[at : at + RUN_CHARS] for at in range(len(error) - RUN_CHARS + 1)}
    return any(run in form for run in runs if not run.isspace() for form in forms)
