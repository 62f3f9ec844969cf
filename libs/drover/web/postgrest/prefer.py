"""Parses the header `Prefer`: what the client prefers, and which of these preferences the answer reports as applied."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, cast

import msgspec

from drover.web.errors import ApiError

PREFERENCES_MAX: Final = 16
AFFECTED_DIGITS_MAX: Final = 9

# Supported preferences, by name. Every count is exact, whichever kind was asked for.
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
    """The value of `Preference-Applied`. Empty: no such header."""
    resolution: Resolution | None = None
    """What to do with a row that exists already. Few writes support it; those call `resolving`."""
    affected_max: int | None = None
    """The value of `max-affected`: a write that would change more rows is refused. None: no limit. As in PostgREST, it
    counts only together with handling=strict."""

    @property
    def representation(self) -> bool:
        return self.returns == "representation"

    def resolving(self) -> Preferences:
        """A copy with the resolution marked as applied, for a write that supports it."""
        if self.resolution is None:
            return self
        applied = f"{self.applied}, resolution={self.resolution}".removeprefix(", ")
        return msgspec.structs.replace(self, applied=applied)


_NONE: Final = Preferences()


def parse_prefer(headers: Iterable[str]) -> Preferences:
    """Parse all `Prefer` headers of a request. Unknown preferences are ignored, or refused with handling=strict."""
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
    """Refuse a write of more rows than `max-affected` allows. Call it before the write."""
    if preferences.affected_max is not None and rows > preferences.affected_max:
        raise ApiError(
            400,
            "PGRST124",
            "Query result exceeds max-affected preference constraint",
            details=f"The query affects {rows} rows",
        )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= AFFECTED_DIGITS_MAX
