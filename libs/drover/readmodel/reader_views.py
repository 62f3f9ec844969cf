"""Which relations people may read with SQL, and which of their columns."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from drover.readmodel.relation import Relation


class ReaderView(msgspec.Struct, frozen=True):
    name: str
    columns: tuple[str, ...]


def reader_views(relations: Sequence[Relation]) -> tuple[ReaderView, ...]:
    """One for each relation, without what is personal or sealed."""
    return tuple(ReaderView(one.name, _columns(one)) for one in relations)


def _columns(relation: Relation) -> tuple[str, ...]:
    left_out = {*relation.personal, *relation.sealed, *relation.sealed.values()}
    return tuple(name for name in relation.columns if name not in left_out)
