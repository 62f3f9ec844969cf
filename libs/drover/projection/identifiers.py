"""Quotes identifiers for SQL."""

from __future__ import annotations


def quoted(identifier: str) -> str:
    """Quote an identifier for SQL. Only for our own identifiers, never for a client's."""
    return '"' + identifier.replace('"', '""') + '"'
