"""Parses the `postgres_changes` of a join, checks the caller's rights, and gives each subscription an id. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from zlib import crc32

import msgspec

from drover.api.realtime.filters import BadFilter, Condition, parse_filter
from drover.api.realtime.limits import SUBSCRIPTIONS_PER_CHANNEL_MAX
from drover.api.realtime.subscriptions import ALL, Type, Wish
from drover.domain.errors import DroverError
from drover.readmodel.column import PgType
from drover.readmodel.live import LiveRelation
from drover.web.auth import Principal
from drover.web.errors import ApiError
from drover.web.permissions import Grant, Permissions, Verb

SCHEMA: Final = "public"
_EVENTS: Final = frozenset({ALL, *Type})

_encode: Final = msgspec.json.Encoder(order="sorted").encode

Live = Mapping[str, tuple[LiveRelation, ...]]


class BadBinding(DroverError):
    """The subscription is refused. The message says why."""


class Asked(msgspec.Struct, frozen=True):
    """One entry of `postgres_changes`. Other fields have no effect and are dropped."""

    event: str = ALL
    schema: str | None = SCHEMA
    table: str | None = None
    filter: str | None = None
    select: list[str] | None = None


class Binding(msgspec.Struct, frozen=True):
    id: int
    told: dict[str, Any]
    """The entry as the client sent it, with the id added. It is sent back to the client, which compares it with its
    own."""
    wishes: tuple[Wish, ...]
    """What to watch, one entry for each relation."""


def bind(
    asked: Sequence[Mapping[str, Any]], principal: Principal, permissions: Permissions, live: Live
) -> list[Binding]:
    """Make the subscriptions of a join. Raises `BadBinding`, or 403 for a table that the caller may not read."""
    if len(asked) > SUBSCRIPTIONS_PER_CHANNEL_MAX:
        raise BadBinding(f"A channel has at most {SUBSCRIPTIONS_PER_CHANNEL_MAX} subscriptions")
    taken: set[int] = set()
    bindings = []
    for one in asked:
        try:
            wishes = tuple(_wishes(msgspec.convert(one, Asked), principal, permissions, live))
        except (msgspec.ValidationError, BadFilter) as error:
            raise BadBinding(str(error)) from error
        id_ = _id_of(one, taken)
        bindings.append(Binding(id_, {**one, "id": id_}, wishes))
    return bindings


def meaningful(asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Drop fields that have no effect, so that clients cannot fill the memory with them."""
    return [{name: one[name] for name in one if name in Asked.__struct_fields__} for one in asked]


def filter_chars(asked: Sequence[Mapping[str, Any]]) -> int:
    """Count the characters of all filters together."""
    return sum(len(text) for one in asked if isinstance(text := one.get("filter"), str))


def pattern_chars(asked: Sequence[Mapping[str, Any]]) -> int:
    """Count the characters of all filters that contain a `like` pattern."""
    texts = (one.get("filter") for one in asked)
    return sum(len(text) for text in texts if isinstance(text, str) and "like." in text)


def _id_of(asked: Mapping[str, Any], taken: set[int]) -> int:
    """Make the id of a subscription. Equal subscriptions get equal ids, so that they can share frames. It is never 0,
    which clients take for a missing id."""
    id_ = crc32(_encode(asked)) or 1
    while id_ in taken:
        id_ += 1
    taken.add(id_)
    return id_


def _wishes(asked: Asked, principal: Principal, permissions: Permissions, live: Live) -> Iterator[Wish]:
    if asked.event not in _EVENTS:
        raise BadBinding(f"The event {asked.event[:64]} is not known; use {', '.join(sorted(_EVENTS))}")
    if asked.schema not in (SCHEMA, ALL):
        raise BadBinding(f"The schema {str(asked.schema)[:64]} has no tables here; use {SCHEMA}")
    if asked.table in (None, "", ALL):
        if asked.filter or asked.select:
            raise BadBinding("A filter or a selection of columns needs a table")
        for name, (one, *_) in live.items():
            if permissions.may(principal, name, Verb.READ):
                yield _wish(asked, one, principal, permissions.demand(principal, name, Verb.READ))
        return
    assert asked.table is not None
    if asked.table not in live:
        raise BadBinding(f"The table {asked.table[:64]} has no live rows; use {', '.join(sorted(live))}")
    grant = permissions.demand(principal, asked.table, Verb.READ)
    yield _wish(asked, live[asked.table][0], principal, grant)


def _wish(asked: Asked, live: LiveRelation, principal: Principal, grant: Grant) -> Wish:
    owner = None
    if grant.own:
        assert principal.device_id is not None
        assert live.relation.owner is not None, f"{live.name} does not say which device owns a row"
        owner = Condition(live.relation.owner, "eq", principal.device_id, PgType.UUID)
    return Wish(live.name, asked.event, parse_filter(asked.filter or "", live), owner, _select(asked, live))


def _select(asked: Asked, live: LiveRelation) -> tuple[str, ...] | None:
    if not asked.select:
        return None
    if len(asked.select) > len(live.relation.columns):
        raise BadBinding(f"It selects more columns than {live.name} has")
    for name in asked.select:
        if name not in live.relation.columns:
            raise BadBinding(f"There is no column {name[:64]} in {live.name}")
    return tuple(name for name in live.relation.columns if name in asked.select and name not in live.withheld)


def reason_of(error: BadBinding | ApiError) -> str:
    if not isinstance(error, ApiError):
        return str(error)
    return f"{error.message}. {error.hint}" if error.hint else error.message
