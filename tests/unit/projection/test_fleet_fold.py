"""The fleet's fold, pure, in memory: PCs, devices, alerts, and the table of events."""

from __future__ import annotations

from uuid import UUID

import msgspec
import pytest

from drover.domain.event import TermStarted
from drover.domain.fleet.events import (
    AlertRaised,
    AlertResolved,
    DeviceCameOnline,
    DeviceChanged,
    DeviceHeld,
    DeviceHoldEnded,
    DeviceQuarantined,
    DeviceReleased,
    DeviceReset,
    DeviceWentOffline,
    FleetEvent,
    PcCapacityChanged,
    PcHeld,
    PcHoldEnded,
    PcRegistered,
)
from drover.eventlog.codec import Codec
from drover.projection.errors import RowMissing
from drover.projection.event_table import jsonb_text
from drover.projection.projection import raw_lines
from drover.projector.fleet import FLEET_PROJECTION, RULES
from drover.readmodel.alerts import ALERTS
from drover.readmodel.events import EVENTS
from drover.readmodel.fleet.devices import PCS
from tests.unit.projection.checked_tables import minute
from tests.unit.projection.folding import PHONE, SEQ, folded, registered


def test_a_registered_phone_is_not_heard_runs_nothing_and_is_well() -> None:
    device = folded(PcRegistered("pc-1", 20), registered()).device
    assert (device.alive, device.running, device.error_rule, device.heard_at) == (False, False, None, None)
    assert (device.created_at, device.pc_id, device.capabilities) == (minute(2), "pc-1", ["youtube"])


def test_a_phone_that_comes_and_goes_keeps_when_it_was_made_and_when_it_was_heard() -> None:
    device = folded(registered(), DeviceCameOnline(PHONE), DeviceWentOffline(PHONE, None)).device
    assert (device.alive, device.heard_at, device.created_at, device.updated_at) == (
        False,
        minute(2),
        minute(1),
        minute(3),
    )


def test_what_telemetry_held_of_a_phone_that_left_is_kept() -> None:
    device = folded(registered(), DeviceCameOnline(PHONE), DeviceWentOffline(PHONE, minute(30))).device
    assert device.heard_at == minute(30)


def test_a_changed_phone_has_another_group_pc_and_capabilities() -> None:
    device = folded(registered(), DeviceChanged(PHONE, "P2-G2", "pc-2", ["age_verified"])).device
    assert (device.group_id, device.pc_id, device.capabilities, device.updated_at) == (
        "P2-G2",
        "pc-2",
        ["age_verified"],
        minute(2),
    )


def test_a_phone_in_error_shows_by_which_rule_and_until_when() -> None:
    device = folded(registered(), DeviceQuarantined(PHONE, "APP_CRASH", minute(32), None, None)).device
    assert (device.error_rule, device.error_until, device.error_condition) == ("APP_CRASH", minute(32), None)
    locked = folded(registered(), DeviceQuarantined(PHONE, "SCREEN_LOCKED", None, "screen_locked", None)).device
    assert (locked.error_until, locked.error_condition) == (None, "screen_locked")


def test_a_phone_that_is_heard_while_in_error_stays_in_error() -> None:
    device = folded(registered(), DeviceQuarantined(PHONE, "X", None, None, None), DeviceCameOnline(PHONE)).device
    assert (device.alive, device.error_rule) == (True, "X")


def test_a_released_phone_is_well_and_as_alive_as_before() -> None:
    quarantined = DeviceQuarantined(PHONE, "X", minute(9), "c", None)
    device = folded(registered(), DeviceCameOnline(PHONE), quarantined, DeviceReleased(PHONE, "time")).device
    assert (device.error_rule, device.error_until, device.error_condition) == (None, None, None)
    assert (device.alive, device.updated_at) == (True, minute(4))


def test_a_phone_that_a_person_has_reset_is_well_and_offline_until_it_is_heard() -> None:
    quarantined = DeviceQuarantined(PHONE, "X", None, None, None)
    device = folded(registered(), DeviceCameOnline(PHONE), quarantined, DeviceReset(PHONE)).device
    assert (device.error_rule, device.alive, device.updated_at) == (None, False, minute(4))


def test_a_phone_that_takes_no_offers_is_held_until_the_hold_ends() -> None:
    held = [registered(), DeviceHeld(PHONE, minute(7), 1)]
    assert folded(*held).device.held_until == minute(7)
    assert folded(*held, DeviceHoldEnded(PHONE)).device.held_until is None


def test_a_new_capacity_changes_the_row_of_the_pc() -> None:
    pc = folded(PcRegistered("pc-1", 20), PcCapacityChanged("pc-1", 5)).row(PCS, "pc-1")
    assert (pc.capacity, pc.created_at, pc.updated_at) == (5, minute(1), minute(2))


def test_a_pc_whose_phones_all_fail_is_held_until_the_hold_ends() -> None:
    held = [PcRegistered("pc-1", 20), PcHeld("pc-1", minute(12))]
    assert folded(*held).row(PCS, "pc-1").held_until == minute(12)
    ended = folded(*held, PcHoldEnded("pc-1")).row(PCS, "pc-1")
    assert (ended.held_until, ended.updated_at) == (None, minute(3))


def test_an_alert_is_open_until_it_is_resolved() -> None:
    raised = AlertRaised("alert-1", "poison_job", "job-1", "Three phones failed", {"rule": "UNKNOWN"}, minute(6))
    alert = folded(raised).row(ALERTS, "alert-1")
    assert (alert.kind, alert.subject, alert.message) == ("poison_job", "job-1", "Three phones failed")
    assert (alert.raised_at, alert.until) == (minute(1), minute(6))
    assert (msgspec.json.decode(alert.details), alert.resolved_at, alert.reason) == ({"rule": "UNKNOWN"}, None, None)
    resolved = folded(raised, AlertResolved("alert-1", "poison_job", "job-1", "resumed")).row(ALERTS, "alert-1")
    assert (resolved.raised_at, resolved.resolved_at, resolved.reason) == (minute(1), minute(2), "resumed")


def test_every_event_is_a_row_named_by_its_place_in_the_log() -> None:
    rows = folded(TermStarted(1, "w"), registered()).rows(EVENTS)
    assert [(seq, line, n, type_) for seq, line, n, _, type_, *_ in rows] == [
        (SEQ + 1, 0, 1, "TermStarted"),
        (SEQ + 2, 0, 2, "DeviceRegistered"),
    ]
    assert rows[1][8] == (PHONE, "pc-1")
    assert msgspec.json.decode(rows[1][9])["serial_number"] == "SERIAL0001"


def test_an_event_about_a_phone_that_nobody_registered_is_an_error() -> None:
    with pytest.raises(RowMissing) as caught:
        folded(DeviceCameOnline(PHONE))
    assert (caught.value.table, caught.value.key) == ("device_rows", UUID(PHONE))


def test_the_fold_knows_every_type_of_event_that_the_context_has() -> None:
    types = set(FleetEvent.__args__)
    assert set(RULES) == types
    assert set(FLEET_PROJECTION.reads) == types
    assert all(type_.__struct_config__.tag == type_.__name__ for type_ in types)  # what `events.type` shows


def test_nul_which_postgres_cannot_hold_is_shown_as_a_replacement_character() -> None:
    event = registered()
    event.by = "user:\0"
    row = folded(event).rows(EVENTS)[0]
    assert row[5] == "user:�"
    assert msgspec.json.decode(row[9])["by"] == "user:�"


def test_nul_is_in_no_row_of_any_table() -> None:
    tables = folded(AlertRaised("alert-1", "kind", "a\0b", "said \0", {"key\0": ["\0"]}))
    alert = tables.row(ALERTS, "alert-1")
    assert (alert.subject, alert.message) == ("a�b", "said �")
    assert msgspec.json.decode(alert.details) == {"key�": ["�"]}


def test_a_backslash_before_u0000_is_text_and_stays() -> None:
    text = "\\u0000 and \0\0 and \\\0"
    assert msgspec.json.decode(jsonb_text(msgspec.json.encode(text).decode())) == text.replace("\0", "�")
    alert = folded(AlertRaised("alert-1", "kind", "s", "\\u0000", {})).row(ALERTS, "alert-1")
    assert alert.message == "\\u0000"


def test_a_line_separator_within_a_text_does_not_end_the_line() -> None:
    events = [PcRegistered("a\u2028b\r\n", 1), PcRegistered("c", 1)]
    lines = raw_lines(Codec(FleetEvent).encode(events))
    assert [msgspec.json.decode(line)["pc_id"] for line in lines] == ["a\u2028b\r\n", "c"]
