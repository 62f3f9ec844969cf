"""The words in which relations are described here: a read model's own, what it embeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from drover.web.postgrest.relation import PgType, Relation, Relationship


def relation(
    context: str,
    name: str,
    columns: Mapping[str, PgType],
    *,
    order: tuple[str, ...] = ("id",),
    embeds: tuple[Relationship, ...] = (),
    aliases: Mapping[str, Mapping[str, str]] | None = None,
    owner: str | None = None,
    sealed: Mapping[str, str] | None = None,
) -> Relation:
    """Of one context's read model. Each embedded relation is called by its own name."""
    return Relation(
        name=name,
        schema=f"rm_{context}",
        context=context,
        columns=columns,
        order=order,
        relationships={to.target: to for to in embeds},
        aliases=aliases or {},
        owner=owner,
        sealed=sealed or {},
    )


def one(target: str, column: str, target_column: str = "id") -> Relationship:
    return _relationship(target, "to-one", column, target_column)


def many(target: str, target_column: str, column: str = "id") -> Relationship:
    return _relationship(target, "to-many", column, target_column)


def _relationship(target: str, kind: Literal["to-one", "to-many"], column: str, target_column: str) -> Relationship:
    return Relationship(target=target, kind=kind, column=column, target_column=target_column)
