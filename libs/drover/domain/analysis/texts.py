"""Texts from outside, cut to what a decision can hold."""

from __future__ import annotations


def cut(text: str | None, bytes_max: int) -> str | None:
    if text is None:
        return None
    # A control character takes six bytes on the wire, and nobody reads it.
    plain = "".join(character if character >= " " or character in "\n\t" else " " for character in text[:bytes_max])
    return plain.encode("utf-8", "replace")[:bytes_max].decode("utf-8", "ignore")
