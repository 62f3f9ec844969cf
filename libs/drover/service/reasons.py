"""Describes an exception for people, without the name of its class."""

from __future__ import annotations

import os
import re
import ssl
from typing import Final

NO_ANSWER: Final = "no answer in time"

_ERROR_NUMBER: Final = re.compile(r"\[Errno (\d+)\]")
_WORD_ENDS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def reason_of(error: BaseException | None) -> str:
    """Describe an exception as a clause for the middle of a sentence, as in `NATS does not answer (Connection
    refused).`"""
    if isinstance(error, TimeoutError):
        return NO_ANSWER
    if isinstance(error, ssl.SSLError):  # its number is not one of the operating system
        return _reason_of_tls(error)
    if isinstance(error, OSError):
        return _reason_of_the_system(error)
    if described := getattr(error, "description", None):  # an error answer of JetStream has its text there
        return str(described)
    text = str(error or "").removeprefix("nats: ").strip(" .'")
    return text or _WORD_ENDS.sub(" ", type(error).__name__.removesuffix("Error")).lower()


def _reason_of_tls(error: ssl.SSLError) -> str:
    # Only errors that OpenSSL reports have these attributes.
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted: {getattr(error, 'verify_message', '') or 'no reason was given'}"
    return f"TLS failed: {getattr(error, 'reason', '') or 'no reason was given'}"


def _reason_of_the_system(error: OSError) -> str:
    """Describe an error of the operating system by its number, because the text that asyncio makes also has addresses
    and sometimes several errors."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    if found := _ERROR_NUMBER.search(str(error)):
        return os.strerror(int(found[1]))
    return error.strerror or str(error) or "no connection"
