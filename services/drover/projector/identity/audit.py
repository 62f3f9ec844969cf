"""Rows of the audit: who accessed what, and when."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET

from drover.domain.identity.audit import AccessRecorded
from drover.postgres.types import uuid_of
from drover.projection.projection import Tables
from drover.projection.rule import Rule, Rules
from drover.readmodel.identity import ACCESSES, AccessRow


def _recorded(tables: Tables, event: AccessRecorded) -> None:
    row = AccessRow(
        id=uuid_of(event.access_id),
        at=event.at,
        by=event.by,
        kind=event.kind,
        what=event.what,
        user_agent=event.user_agent,
        address_sealed=event.address_sealed,
        trace=None if event.trace is UNSET else event.trace,
    )
    tables.put(ACCESSES, row)


AUDIT_RULES: Final[Rules] = {AccessRecorded: Rule(_recorded, lambda event: (event.access_id,))}
