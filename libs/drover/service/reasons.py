"""Describes an exception for people, without the name of its class."""

from __future__ import annotations

import os
import re
from typing import Final

NO_ANSWER: Final = "no answer in time"

_ERROR_NUMBER: Final = re.compile(r"\[Errno (\d+)\]")
_WORD_ENDS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def reason_of(error: BaseException | None) -> str:
    """Describe an exception as a clause for the middle of a sentence, as in `NATS does not answer (Connection
    refused).`"""
    if isinstance(error, TimeoutError):
        return NO_ANSWER
    if isinstance(error, OSError):
        return _reason_of_the_system(error)
    if described := getattr(error, "description", None):  # the text of a JetStream server
        return str(described)
    text = str(error or "").removeprefix("nats: ").strip(" .'")
    return text or _WORD_ENDS.sub(" ", type(error).__name__.removesuffix("Error")).lower()


def _reason_of_the_system(error: OSError) -> str:
    """Describe an error of the operating system by its number. asyncio puts addresses and sometimes several errors into
    the text."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    if found := _ERROR_NUMBER.search(str(error)):
        return os.strerror(int(found[1]))
    return error.strerror or str(error) or "no connection"
