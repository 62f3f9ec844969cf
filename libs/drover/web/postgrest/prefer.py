"""The header `Prefer`: what the client would like, and what of it was done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, cast

import msgspec

from drover.web.errors import ApiError

PREFERENCES_MAX: Final = 16

# What is understood, by name. Counts are always exact: a total must be a number, and an exact one is one.
_KNOWN: Final[dict[str, frozenset[str]]] = {
    "return": frozenset({"representation", "minimal", "headers-only"}),
    "count": frozenset({"exact", "planned", "estimated"}),
    "handling": frozenset({"strict", "lenient"}),
    "missing": frozenset({"default"}),
    "resolution": frozenset(),  # writes are commands: a duplicate is a conflict, never merged
}


class Preferences(msgspec.Struct, frozen=True):
    returns: Literal["representation", "minimal", "headers-only"] = "minimal"
    count: bool = False
    applied: str = ""
    """The value of `Preference-Applied`; empty: no such header."""

    @property
    def representation(self) -> bool:
        return self.returns == "representation"


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
        if choice in _KNOWN.get(name, ()):
            chosen.setdefault(name, choice)
        elif value:
            unknown.append(value[:64])
    if chosen.get("handling") == "strict" and unknown:
        raise ApiError(
            400,
            "PGRST122",
            "Invalid preferences given with handling=strict",
            details=f"Invalid preferences: {', '.join(unknown)}",
        )
    returns = cast(Literal["representation", "minimal", "headers-only"], chosen.get("return", "minimal"))
    return Preferences(returns, "count" in chosen, ", ".join(f"{name}={choice}" for name, choice in chosen.items()))
