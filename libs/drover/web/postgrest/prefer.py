"""The header `Prefer`: what the client would like, and what of it was done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, cast

import msgspec

from drover.web.errors import ApiError

PREFERENCES_MAX: Final = 16
AFFECTED_DIGITS_MAX: Final = 9

# What is understood, by name. Counts are always exact: a total must be a number, and an exact one is one.
_KNOWN: Final[dict[str, frozenset[str]]] = {
    "return": frozenset({"representation", "minimal", "headers-only"}),
    "count": frozenset({"exact", "planned", "estimated"}),
    "handling": frozenset({"strict", "lenient"}),
    "missing": frozenset({"default"}),
    "resolution": frozenset({"merge-duplicates", "ignore-duplicates"}),
}

Returns = Literal["representation", "minimal", "headers-only"]
Resolution = Literal["merge-duplicates", "ignore-duplicates"]


class Preferences(msgspec.Struct, frozen=True):
    returns: Returns = "minimal"
    count: bool = False
    applied: str = ""
    """The value of `Preference-Applied`; empty: no such header."""
    resolution: Resolution | None = None
    """What to do with a row that is there already. Few writes can; those say so with `resolving`."""
    affected_max: int | None = None
    """`max-affected=`: a write that would touch more rows is refused. As in PostgREST, only with handling=strict."""

    @property
    def representation(self) -> bool:
        return self.returns == "representation"

    def resolving(self) -> Preferences:
        """The same, with the resolution among what was applied: for a write that honours it."""
        if self.resolution is None:
            return self
        applied = f"{self.applied}, resolution={self.resolution}".removeprefix(", ")
        return msgspec.structs.replace(self, applied=applied)


_NONE: Final = Preferences()


def parse_prefer(headers: Iterable[str]) -> Preferences:
    """From all `Prefer` headers of a request. What is not understood is ignored, or refused with handling=strict."""
    values = [part.strip() for header in headers for part in header.split(",")]
    if not values:
        return _NONE
    chosen: dict[str, str] = {}
    unknown: list[str] = []
    for value in values[:PREFERENCES_MAX]:
        name, _, choice = value.partition("=")
        if choice in _KNOWN.get(name, ()) or (name == "max-affected" and _is_number(choice)):
            chosen.setdefault(name, choice)
        elif value:
            unknown.append(value[:64])
    strict = chosen.get("handling") == "strict"
    if strict and unknown:
        raise ApiError(
            400,
            "PGRST122",
            "Invalid preferences given with handling=strict",
            details=f"Invalid preferences: {', '.join(unknown)}",
        )
    resolution = cast(Resolution | None, chosen.pop("resolution", None))
    if not strict:
        chosen.pop("max-affected", None)
    affected = chosen.get("max-affected")
    return Preferences(
        cast(Returns, chosen.get("return", "minimal")),
        "count" in chosen,
        ", ".join(f"{name}={choice}" for name, choice in chosen.items()),
        resolution,
        None if affected is None else int(affected),
    )


def check_affected(preferences: Preferences, rows: int) -> None:
    """Before a write of this many rows."""
    if preferences.affected_max is not None and rows > preferences.affected_max:
        raise ApiError(
            400,
            "PGRST124",
            "Query result exceeds max-affected preference constraint",
            details=f"The query affects {rows} rows",
        )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= AFFECTED_DIGITS_MAX
