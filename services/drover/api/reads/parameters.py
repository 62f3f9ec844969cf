"""Parses query parameters of read endpoints into typed and bounded values. Errors say what is expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from datetime import date as date_type
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from msgspec import Meta
from multidict import MultiMapping

from drover.web.errors import ApiError, invalid
from drover.web.route import Parameter

TEXT_CHARS_MAX: Final = 256
VALUES_MAX: Final = 8
"""Maximum of values in one parameter, separated by commas; more are refused."""
LIMIT_DEFAULT: Final = 100
LIMIT_MAX: Final = 500
CURSOR_CHARS_MAX: Final = 1024
BIGINT_MAX: Final = 2**63 - 1
INT_MAX: Final = 2**31 - 1
SHOWN_CHARS_MAX: Final = 64


class Asked:
    """The values of a request, by parameter; None for those that were not given."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return self._values.get(name)

    def with_(self, **values: Any) -> Asked:
        """Return a copy with additional values, for example from the path."""
        return Asked(self._values | values)


class Kind:
    """A parameter and its parser. `parse` raises ValueError that says what is expected."""

    def __init__(self, described: Parameter, parse: Callable[[str], Any]) -> None:
        self.described = described
        self.name = described.name
        self._parse = parse

    def read(self, text: str) -> Any:
        if not self.described.many:
            return self._one(text)
        parts = [part.strip() for part in text.split(",")]
        if len(parts) > VALUES_MAX:
            raise bad_parameter(self.name, text, f"at most {VALUES_MAX} values")
        return tuple(dict.fromkeys(map(self._one, parts)))

    def _one(self, text: str) -> Any:
        try:
            return self._parse(text)
        except ValueError as error:
            raise bad_parameter(self.name, text, str(error)) from None


def text(name: str, description: str, *, many: bool = False, chars_max: int = TEXT_CHARS_MAX) -> Kind:
    type_ = Annotated[str, Meta(min_length=1, max_length=chars_max)]
    return Kind(
        Parameter(name, type_, description, many=many, many_max=VALUES_MAX if many else None),
        lambda value: parse_text(value, chars_max),
    )


def one_of(name: str, words: Sequence[str], description: str, *, many: bool = False) -> Kind:
    known = tuple(map(str, words))  # plain strings, because Literal takes no members of enums

    def parse(value: str) -> str:
        if value not in known:
            raise ValueError(f"it must be one of {', '.join(known)}")
        return value

    return Kind(Parameter(name, Literal[known], description, many=many, many_max=VALUES_MAX if many else None), parse)


def uuid(name: str, description: str) -> Kind:
    return Kind(Parameter(name, UUID, description), parse_uuid)


def flag(name: str, description: str) -> Kind:
    return Kind(Parameter(name, bool, description), _parse_flag)


def moment(name: str, description: str) -> Kind:
    return Kind(Parameter(name, datetime, description), parse_moment)


def number(name: str, description: str, *, least: int = 0, most: int = BIGINT_MAX) -> Kind:
    type_ = Annotated[int, Meta(ge=least, le=most)]
    return Kind(Parameter(name, type_, description), lambda value: parse_number(value, least, most))


def day(name: str, description: str) -> Kind:
    return Kind(Parameter(name, date_type, description), _parse_day)


def read_query(query: MultiMapping[str], kinds: Sequence[Kind]) -> Asked:
    known = {kind.name: kind for kind in kinds}
    values: dict[str, Any] = {}
    for name, value in query.items():
        kind = known.get(name)
        if kind is None:
            may = f"it takes {', '.join(known)}" if known else "it takes none"
            raise invalid(f"{name[:SHOWN_CHARS_MAX]} is not a parameter of this: {may}", field=name[:SHOWN_CHARS_MAX])
        if name in values:
            raise bad_parameter(name, value, "it appears twice")
        values[name] = kind.read(value)
    return Asked(values)


def parse_text(value: str, chars_max: int = TEXT_CHARS_MAX) -> str:
    if not 1 <= len(value) <= chars_max:
        raise ValueError(f"it must have 1 to {chars_max} characters")
    if "\0" in value or not _is_utf8(value):
        raise ValueError("it contains invalid characters")
    return value


def parse_uuid(value: str) -> UUID:
    try:
        if len(value) > SHOWN_CHARS_MAX:
            raise ValueError
        return UUID(value)
    except ValueError:
        raise ValueError("it must be a UUID") from None


def parse_number(value: str, least: int, most: int) -> int:
    if not (value.isascii() and value.isdecimal()) or len(value) > 19 or not least <= int(value) <= most:
        raise ValueError(f"it must be a number from {least} to {most}")
    return int(value)


def parse_moment(value: str) -> datetime:
    """Parse a time. Requires a UTC offset, because a time without one is ambiguous. Accepts a `+` that was not
    escaped."""
    try:
        if len(value) > SHOWN_CHARS_MAX:
            raise ValueError
        parsed = datetime.fromisoformat(value.replace(" ", "+") if "T" in value else value)
        if parsed.tzinfo is None:
            raise ValueError
        return parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("it must be a time such as 2026-03-08T09:00:00Z") from None


def _parse_day(value: str) -> date_type:
    try:
        if len(value) != len("2026-03-08"):
            raise ValueError
        return date_type.fromisoformat(value)
    except ValueError:
        raise ValueError("it must be a date such as 2026-03-08") from None


def _parse_flag(value: str) -> bool:
    if value not in ("true", "false"):
        raise ValueError("it must be true or false")
    return value == "true"


def _is_utf8(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def bad_parameter(name: str, value: str, why: str) -> ApiError:
    shown = value[:SHOWN_CHARS_MAX].encode("utf-8", "replace").decode().replace("\0", "\\u0000")
    return invalid(f"{name}: {why}", field=name, value=shown)


LIMIT: Final = number("limit", f"Rows per page; default: {LIMIT_DEFAULT}.", least=1, most=LIMIT_MAX)
CURSOR: Final = text("cursor", "`next` of the previous page, with the same filters.", chars_max=CURSOR_CHARS_MAX)
FROM: Final = moment("from", "Not before this time.")
TO: Final = moment("to", "Before this time.")
ORDER: Final = one_of("order", ["newest", "oldest"], "Which come first; default: newest.")
