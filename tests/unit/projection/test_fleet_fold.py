"""The fleet's fold, pure, in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest

from drover.domain.event import Event, TermStarted
from drover.domain.fleet.events import (
    DeviceCameOnline,
    DeviceRegistered,
    DeviceWentOffline,
    FleetEvent,
    PcCapacityChanged,
    PcRegistered,
)
from drover.eventlog.codec import Codec
from drover.eventlog.log import StoredCommit
from drover.projection.errors import RowMissing
from drover.projection.event_table import EVENTS, jsonb_text
from drover.projection.memory import MemoryTables
from drover.projection.projection import raw_lines
from drover.projector.fleet import _RULES, DEVICES, FLEET_PROJECTION, PCS

START = datetime(2026, 3, 1, tzinfo=UTC)
PHONE = "0197f0a0-0000-7000-8000-000000000001"


def minute(number: int) -> datetime:
    return START + timedelta(minutes=number)


def folded(*events: Event) -> MemoryTables:
    tables = MemoryTables(FLEET_PROJECTION)
    for n, event in enumerate(events, start=1):
        event.n, event.at, event.by, event.cause = n, minute(n), event.by or "service_role", f"command-{n}"
    tables.fold(StoredCommit(7, "c", 1, START, Codec(FleetEvent).encode(events)))
    return tables


def registered() -> DeviceRegistered:
    return DeviceRegistered(PHONE, "SERIAL0001", "P1-G1", "pc-1", ["youtube"])


def test_a_registered_phone_is_offline_and_was_never_heard() -> None:
    row = folded(PcRegistered("pc-1", 20), registered()).get(DEVICES, UUID(PHONE))
    assert row is not None
    assert (row.status, row.heard_at, row.created_at, row.pc_id) == ("offline", None, minute(2), "pc-1")


def test_a_phone_that_comes_and_goes_keeps_when_it_was_made_and_when_it_was_heard() -> None:
    tables = folded(registered(), DeviceCameOnline(PHONE), DeviceWentOffline(PHONE, None))
    row = tables.get(DEVICES, UUID(PHONE))
    assert row is not None
    assert (row.status, row.heard_at, row.created_at, row.updated_at) == ("offline", minute(2), minute(1), minute(3))


def test_a_new_capacity_changes_the_row_of_the_pc() -> None:
    row = folded(PcRegistered("pc-1", 20), PcCapacityChanged("pc-1", 5)).get(PCS, "pc-1")
    assert row is not None
    assert (row.capacity, row.created_at, row.updated_at) == (5, minute(1), minute(2))


def test_every_event_is_a_row_named_by_its_place_in_the_log() -> None:
    rows = folded(TermStarted(1, "w"), registered()).rows(EVENTS)
    assert [(seq, line, n, type_) for seq, line, n, _, type_, *_ in rows] == [
        (7, 0, 1, "TermStarted"),
        (7, 1, 2, "DeviceRegistered"),
    ]
    assert rows[1][8] == (PHONE, "pc-1")
    assert msgspec.json.decode(rows[1][9])["serial_number"] == "SERIAL0001"


def test_an_event_about_a_phone_that_nobody_registered_is_an_error() -> None:
    with pytest.raises(RowMissing) as caught:
        folded(DeviceCameOnline(PHONE))
    assert (caught.value.table, caught.value.key) == ("device_rows", UUID(PHONE))


def test_the_fold_knows_every_type_of_event_that_the_context_has() -> None:
    types = set(FleetEvent.__args__)
    assert set(_RULES) == types
    assert set(FLEET_PROJECTION.reads) == types
    assert all(type_.__struct_config__.tag == type_.__name__ for type_ in types)  # what `events.type` shows


def test_nul_which_postgres_cannot_hold_is_shown_as_a_replacement_character() -> None:
    event = registered()
    event.by = "user:\0"
    row = folded(event).rows(EVENTS)[0]
    assert row[5] == "user:�"
    assert msgspec.json.decode(row[9])["by"] == "user:�"


def test_a_backslash_before_u0000_is_text_and_stays() -> None:
    text = "\\u0000 and \0\0 and \\\0"
    assert msgspec.json.decode(jsonb_text(msgspec.json.encode(text).decode())) == text.replace("\0", "�")


def test_a_line_separator_within_a_text_does_not_end_the_line() -> None:
    events = [PcRegistered("a\u2028b\r\n", 1), PcRegistered("c", 1)]
    lines = raw_lines(Codec(FleetEvent).encode(events))
    assert [msgspec.json.decode(line)["pc_id"] for line in lines] == ["a\u2028b\r\n", "c"]
