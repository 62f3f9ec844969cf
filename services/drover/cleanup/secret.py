"""Checks the cron secret in a request's header, in constant time. Two secrets are valid during a rotation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hmac import compare_digest
from typing import Final

HEADER: Final = "X-Cron-Secret"
_BEARER: Final = "bearer "


class CronSecrets:
    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = tuple(secret.encode() for secret in secrets)

    def match(self, headers: Mapping[str, str]) -> bool:
        """Whether one of the two accepted headers has a valid secret. Always false if no secret is configured."""
        sent = _sent(headers).encode("utf-8", "surrogateescape")
        # Compare every secret, in full: the time taken must not reveal how close a guess was.
        matches = [compare_digest(sent, secret) for secret in self._secrets]
        return any(matches)


def _sent(headers: Mapping[str, str]) -> str:
    own = headers.get(HEADER)
    if own is not None:
        return own
    authorization = headers.get("Authorization", "")
    return authorization[len(_BEARER) :].strip() if authorization[: len(_BEARER)].lower() == _BEARER else ""
