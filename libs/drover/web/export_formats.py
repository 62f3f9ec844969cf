"""The files that exports make: CSV (RFC 4180) and JSON, piece by piece. Nothing here reads rows.

CSV begins with a byte order mark: without it Excel reads UTF-8 as the system's own encoding, and Korean titles become
question marks. Every CSV parser knows it (`utf-8-sig` in Python). Lines end with CRLF.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import msgspec

from drover.web.route import JSON, Answer

BOM: Final = "\ufeff"
_NEEDS_QUOTES: Final = re.compile(r'[",\r\n]|^ | $')
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Characters at the beginning of a text that make spreadsheets calculate it. The last four are the full-width forms of
the first four, which a spreadsheet set to Korean, Japanese or Chinese takes for the same."""
_NUMBER: Final = re.compile(r"[+-]?[0-9]+([.][0-9]+)?")


class Format(StrEnum):
    CSV = "csv"
    JSON = "json"


MEDIA: Final = {Format.CSV: "text/csv; charset=utf-8", Format.JSON: "application/json"}


def cell(value: Any) -> str:
    """Return a value as a cell of a CSV line. A text that a spreadsheet would calculate gets an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if _NEEDS_QUOTES.search(text) else text


def csv_line(values: Sequence[Any]) -> str:
    # A line with one empty cell would be an empty line, which parsers skip.
    return (",".join(map(cell, values)) or '""') + "\r\n"


def head(format_: Format, columns: Sequence[str]) -> bytes:
    """Return what a file begins with."""
    return f"{BOM}{csv_line(columns)}".encode() if format_ is Format.CSV else b"["


def piece(format_: Format, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], *, is_first: bool) -> bytes:
    """Return some rows. `is_first`: no rows were written before them."""
    if format_ is Format.CSV:
        return "".join(csv_line([row.get(column) for column in columns]) for row in rows).encode()
    text = b",\n".join(map(msgspec.json.encode, rows))
    return text if is_first or not rows else b",\n" + text


def tail(format_: Format) -> bytes:
    return b"" if format_ is Format.CSV else b"]\n"


def headers(name: str, format_: Format, *, rows: int, is_cut: bool, now: datetime) -> dict[str, str]:
    """Return the headers of a file: its name, and whether it has all rows."""
    file = f"{name}-{now:%Y%m%d-%H%M}.{format_}"
    return {
        "Content-Type": MEDIA[format_],
        "Content-Disposition": f'attachment; filename="{file}"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Drover-Export-Rows": str(rows),
        "Drover-Export-Cut": "true" if is_cut else "false",
    }


TOLD: Final = {
    "Drover-Export-Rows": "How many rows the file has.",
    "Drover-Export-Cut": "`true` if the search has more rows than an export may have.",
}
"""The headers of an export, described."""


def answer(rows: Any, *, headers: Mapping[str, str]) -> Answer:
    """Describe the answer of a route that exports. `rows`: the type of the body in JSON. `headers`: further headers."""
    return Answer(str, "The file", media="text/csv", or_else={JSON: rows}, headers={**TOLD, **headers})
