"""Counts what each sealing key still opens, so that an operator knows which ones can be removed from the settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import asyncpg
import msgspec
from nats.aio.client import Client
from nats.js.errors import NotFoundError

from drover.bus.subject_keys import OPENING_S, KeyQuestion, asking
from drover.domain.contexts import SUBJECT_CONTEXTS
from drover.eventlog.streams import partitions_of
from drover.postgres.pool import Connection
from drover.readmodel.form import placed

READ_S: Final = 10.0
KEYS: Final = "keys of people and renders"
ACCOUNTS: Final = "accounts"

_KIDS: Final = """
SELECT {column}::jsonb->>'kid' AS kid, count(*) AS count FROM {table} WHERE {column} LIKE '{{%' GROUP BY 1
"""
_TABLES: Final = (
    ("identity", ACCOUNTS, "rm_identity.account_rows", "email_sealed"),
    ("identity", "addresses in the audit", "rm_identity.access_rows", "address_sealed"),
    ("render", "gfx_data of earlier versions", "rm_render.render_gfx", "gfx_data"),
)
"""Tables with data that earlier versions sealed: it contains its own key, which is encrypted with a key of the ring
(the sealing keys)."""


class RingUse(msgspec.Struct, frozen=True, order=True):
    context: str
    kid: str
    """The id of a sealing key."""
    what: str
    count: int


async def stored_uses(client: Client, *, all_pages: bool) -> list[RingUse]:
    """Count, by context and sealing key, the keys of subjects that it opens. Unless `all_pages`, only the oldest 1,000
    keys of each partition are counted: a key that is wrapped again becomes the newest, so those that were not are among
    the oldest. Raises KeysUnreachable."""
    found: Counter[tuple[str, str]] = Counter()
    for context in SUBJECT_CONTEXTS:
        try:
            partitions = await partitions_of(client, context)
        except NotFoundError:  # no service has ever used this context
            continue
        ask = asking(client, context)
        for partition in partitions:
            after: int | None = 0
            while after is not None:
                answer = await ask(partition.name, KeyQuestion(list_after=after), OPENING_S)
                found.update((context, key.kid) for key in answer.keys)
                after = answer.next if all_pages else None
    return [RingUse(context, kid, KEYS, count) for (context, kid), count in found.items()]


async def sealed_uses(postgres: Connection) -> list[RingUse]:
    """Count, by sealing key, the data of `_TABLES` that it opens."""
    found: list[RingUse] = []
    for context, what, table, column in _TABLES:
        query = placed(_KIDS.format(table=table, column=column))
        try:
            rows = await postgres.fetch(query, timeout=READ_S)
        except asyncpg.UndefinedTableError:  # the projector has not run yet
            continue
        found += [RingUse(context, row["kid"], what, row["count"]) for row in rows]
    return found


def missing(uses: list[RingUse], rings: Mapping[str, tuple[str, ...]]) -> list[RingUse]:
    """Return what cannot be opened. `rings`: the ids of the sealing keys in the settings, by context."""
    return [use for use in uses if use.kid not in rings[use.context]]


def unneeded(uses: list[RingUse], rings: Mapping[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    """Return the context and the id of each sealing key that opens nothing and does not seal."""
    used = {(use.context, use.kid) for use in uses}
    return [(context, kid) for context, kids in rings.items() for kid in kids[1:] if (context, kid) not in used]


def ids_of(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids of sealing keys from the settings, which have the form `id:base64`."""
    return tuple(key.partition(":")[0] for key in keys)
