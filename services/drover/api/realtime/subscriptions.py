"""Finds the subscribers of a change. Pure.

Subscriptions are indexed by relation, and those with an `eq` filter also by its value. So an inserted or updated row is
tested only against those whose value it has, and against those without an `eq` filter, whose comparisons are limited
(`COMPARISONS_MAX`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

import msgspec

from drover.api.realtime.filters import Condition, comparable
from drover.readmodel.column import PgType


class Type(StrEnum):
    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


ALL: Final = "*"

Select = tuple[str, ...] | None
"""The columns that a subscriber wants. None: all."""


class Wish(msgspec.Struct, frozen=True):
    """What a subscription asks for. Equal wishes are evaluated once."""

    relation: str
    event: str
    """A `Type`, or `ALL`."""
    conditions: tuple[Condition, ...] = ()
    owner: Condition | None = None
    """The condition that a row belongs to the caller; None if the caller may read all rows. Unlike a filter, it also
    limits which deleted rows are sent."""
    select: Select = None

    def wants(self, type_: Type) -> bool:
        return self.event in (ALL, type_)

    def indexed(self) -> Condition | None:
        """Return the condition by which the wish is indexed. None: it has no such condition."""
        if self.owner is not None:
            return self.owner
        return next((one for one in self.conditions if one.is_equality), None)

    @property
    def comparisons(self) -> int:
        """How many comparisons it costs to test a row. The condition in the index costs none."""
        found = self.indexed()
        return sum(one.comparisons for one in self.conditions if one is not found)


S = TypeVar("S")
"""A subscriber."""

Hits = dict[tuple[S, Select], list[int]]
"""Who gets a change: for each subscriber and its wanted columns, the ids of its subscriptions that match."""


class _Values:
    """The values of one row, converted at most once."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.row = row
        self._known: dict[str, Any] = {}

    def get(self, column: str, type_: PgType) -> Any:
        if column not in self._known:
            self._known[column] = comparable(self.row.get(column), type_)
        return self._known[column]

    def satisfy(self, condition: Condition) -> bool:
        return condition.holds(self.get(condition.column, condition.type))


class _Wishes(Generic[S]):
    """Wishes, each with its subscribers."""

    def __init__(self) -> None:
        self.members: dict[Wish, dict[tuple[S, int], None]] = {}

    def add(self, wish: Wish, subscriber: S, id_: int) -> bool:
        """Add a subscriber. Return whether it is the first of this wish."""
        members = self.members.setdefault(wish, {})
        members[subscriber, id_] = None
        return len(members) == 1

    def remove(self, wish: Wish, subscriber: S, id_: int) -> bool:
        """Remove a subscriber. Return whether it was the last of this wish."""
        members = self.members[wish]
        del members[subscriber, id_]
        if members:
            return False
        del self.members[wish]
        return True


class _Relation(Generic[S]):
    def __init__(self) -> None:
        self.others: _Wishes[S] = _Wishes()
        self.by_value: dict[tuple[str, PgType], dict[Any, _Wishes[S]]] = {}

    def place(self, wish: Wish) -> _Wishes[S]:
        found = wish.indexed()
        if found is None:
            return self.others
        return self.by_value.setdefault((found.column, found.type), {}).setdefault(found.value, _Wishes())

    def tidy(self, wish: Wish) -> None:
        """Remove index entries that have become empty."""
        found = wish.indexed()
        if found is None or self.place(wish).members:
            return
        by_value = self.by_value[found.column, found.type]
        del by_value[found.value]
        if not by_value:
            del self.by_value[found.column, found.type]

    def candidates(self, values: _Values) -> Iterator[_Wishes[S]]:
        yield self.others
        for (column, type_), by_value in self.by_value.items():
            if (wishes := by_value.get(values.get(column, type_))) is not None:
                yield wishes

    def concerned(self, key: _Values) -> Iterator[_Wishes[S]]:
        """Find wishes that may match a deleted row. Only the columns of its key are known."""
        yield self.others
        for (column, type_), by_value in self.by_value.items():
            if column not in key.row:
                yield from by_value.values()
            elif (wishes := by_value.get(key.get(column, type_))) is not None:
                yield wishes

    def everything(self) -> Iterator[_Wishes[S]]:
        yield self.others
        for by_value in self.by_value.values():
            yield from by_value.values()


class Subscriptions(Generic[S]):
    def __init__(self) -> None:
        self._relations: dict[str, _Relation[S]] = {}
        self.total = 0
        """The number of subscriptions."""
        self.comparisons = 0
        """How many comparisons all distinct wishes cost together."""

    def __contains__(self, relation: str) -> bool:
        return relation in self._relations

    def __len__(self) -> int:
        """The number of distinct wishes."""
        return sum(len(wishes.members) for one in self._relations.values() for wishes in one.everything())

    def add(self, wish: Wish, subscriber: S, id_: int) -> None:
        self.total += 1
        if self._relations.setdefault(wish.relation, _Relation()).place(wish).add(wish, subscriber, id_):
            self.comparisons += wish.comparisons

    def remove(self, wish: Wish, subscriber: S, id_: int) -> None:
        self.total -= 1
        relation = self._relations[wish.relation]
        if relation.place(wish).remove(wish, subscriber, id_):
            self.comparisons -= wish.comparisons
        relation.tidy(wish)
        if not relation.others.members and not relation.by_value:
            del self._relations[wish.relation]

    def written(self, relation: str, type_: Type, row: Mapping[str, Any]) -> Hits[S]:
        """Find who gets a row that was inserted or updated."""
        values, hits = _Values(row), Hits[S]()
        for wishes in self._relations[relation].candidates(values):
            for wish, members in wishes.members.items():
                # The index has already compared the owner.
                if wish.wants(type_) and all(map(values.satisfy, wish.conditions)):
                    _hit(hits, wish, members)
        return hits

    def deleted(self, relation: str, key: Mapping[str, Any]) -> Hits[S]:
        """Find who gets a deleted row. Only its key is known, so filters on other columns let it pass."""
        values, hits = _Values(key), Hits[S]()
        for wishes in self._relations[relation].concerned(values):
            for wish, members in wishes.members.items():
                if wish.wants(Type.DELETE) and _may_concern(wish, values):
                    _hit(hits, wish, members)
        return hits

    def subscribers(self, relations: Iterable[str]) -> list[S]:
        found: dict[S, None] = {}
        for relation in relations:
            if relation in self._relations:
                for wishes in self._relations[relation].everything():
                    found.update((subscriber, None) for members in wishes.members.values() for subscriber, _ in members)
        return [*found]


def _may_concern(wish: Wish, values: _Values) -> bool:
    if wish.owner is not None and not values.satisfy(wish.owner):  # null if the key lacks the column: then not sent
        return False
    return all(values.satisfy(one) for one in wish.conditions if one.column in values.row)


def _hit(hits: Hits[S], wish: Wish, members: Iterable[tuple[S, int]]) -> None:
    for subscriber, id_ in members:
        hits.setdefault((subscriber, wish.select), []).append(id_)
