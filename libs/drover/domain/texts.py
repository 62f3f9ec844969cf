"""Cuts texts from outside to a size that fits into a decision."""

from __future__ import annotations


def cut(text: str | None, bytes_max: int) -> str | None:
    if text is None:
        return None
    # JSON encodes a control character as six bytes, and nobody can read it.
    plain = "".join(character if character >= " " or character in "\n\t" else " " for character in text[:bytes_max])
    return plain.encode("utf-8", "replace")[:bytes_max].decode("utf-8", "ignore")
