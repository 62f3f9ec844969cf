"""Which relations people may read with SQL, and which of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import msgspec

from drover.domain.contexts import Context
from drover.readmodel.relation import Relation


class ReaderView(msgspec.Struct, frozen=True):
    name: str
    columns: tuple[str, ...]
    blank: tuple[str, ...] = ()
    """Sealed (encrypted) columns. They are always null, so that queries that name them still run."""


def reader_views(context: Context, relations: Sequence[Relation]) -> tuple[ReaderView, ...]:
    """Declare a view for each relation, without texts that users wrote and without sealed (encrypted) values. A private
    context has no views."""
    if context.is_private:
        return ()
    hidden = context.hidden_fields
    return tuple(
        ReaderView(one.name, _columns(one, hidden), tuple(name for name in one.sealed if name not in hidden))
        for one in relations
    )


def _columns(relation: Relation, hidden: AbstractSet[str]) -> tuple[str, ...]:
    left_out = {*hidden, *relation.sealed, *relation.sealed.values()}
    return tuple(name for name in relation.columns if name not in left_out)
