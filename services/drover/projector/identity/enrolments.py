"""Rows of enrolments, and of the keys that phones get by them."""

from __future__ import annotations

from typing import Any, Final

from drover.domain.identity.events import DevicesEnrolled, EnrolmentCreated, EnrolmentEnded
from drover.domain.identity.policy import KeyRole
from drover.postgres.types import uuid_of
from drover.projection.projection import Tables, change
from drover.projection.rule import Rule, Rules
from drover.projector.identity.api_keys import end_key
from drover.readmodel.identity import API_KEYS, ENROLMENTS, ApiKeyRow, EnrolmentRow

ENROLLED_AGAIN: Final = "enrolled_again"
"""The reason why a key ended: its device was enrolled again and got another key."""


def _created(tables: Tables, event: EnrolmentCreated) -> None:
    row = EnrolmentRow(
        id=uuid_of(event.enrolment_id),
        pc_id=event.pc_id,
        devices_max=event.devices_max,
        created_at=event.at,
        created_by=event.by,
        expires_at=event.expires_at,
    )
    tables.put(ENROLMENTS, row)


def _enrolled(tables: Tables, event: DevicesEnrolled) -> None:
    enrolment_id = uuid_of(event.enrolment_id)
    enrolment = change(tables, ENROLMENTS, enrolment_id, devices=len(event.keys), used_at=event.at)
    for key_id in event.revoked:
        end_key(tables, key_id, event.at, ENROLLED_AGAIN)
    for key in event.keys:
        row = ApiKeyRow(
            id=uuid_of(key.key_id),
            name=enrolment.pc_id,
            role=KeyRole.DEVICE,
            created_at=event.at,
            created_by=event.by,
            expires_at=event.expires_at,
            adopted=False,
            device_id=uuid_of(key.device_id),
            enrolment_id=enrolment_id,
        )
        tables.put(API_KEYS, row)


def _ended(tables: Tables, event: EnrolmentEnded) -> None:
    change(tables, ENROLMENTS, uuid_of(event.enrolment_id), ended_at=event.at, reason=event.reason)


def _entities(event: Any) -> tuple[str, ...]:
    return (event.enrolment_id,)


_OWN: Final = ((ENROLMENTS, lambda e: uuid_of(e.enrolment_id)),)

ENROLMENT_RULES: Final[Rules] = {
    EnrolmentCreated: Rule(_created, _entities),
    DevicesEnrolled: Rule(_enrolled, _entities, _OWN),
    EnrolmentEnded: Rule(_ended, _entities, _OWN),
}
