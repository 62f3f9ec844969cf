"""The header User-Agent as text that can be encoded, for the access log and the audit."""

from __future__ import annotations

from collections.abc import Mapping


def user_agent_of(headers: Mapping[str, str], chars_max: int) -> str | None:
    """Return the first `chars_max` characters of the header; None if there is none. aiohttp decodes bytes that are not
    UTF-8 into lone surrogates, which JSON encoders refuse; each of them becomes a question mark."""
    agent = headers.get("User-Agent")
    return None if agent is None else agent[:chars_max].encode("utf-8", "replace").decode()
