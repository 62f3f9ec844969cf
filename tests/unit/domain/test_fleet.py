"""The fleet's rules, given / when / then."""

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import MarkOffline, MarkOnline, RegisterDevice, RegisterPc
from drover.domain.fleet.events import (
    DeviceCameOnline,
    DeviceRegistered,
    DeviceWentOffline,
    PcCapacityChanged,
    PcRegistered,
)
from drover.testing.scenario import given

ID1, ID2 = "00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"
PC1 = PcRegistered("pc1", 20)
D1 = DeviceRegistered(ID1, "SERIAL0001", "P1-G1", "pc1", [])


def register(**changes):
    fields = {"device_id": ID1, "serial_number": "SERIAL0001", "group_id": "P1-G1", "pc_id": "pc1"} | changes
    return RegisterDevice(**fields)


@pytest.mark.req("DF-01")
def test_a_new_device_is_registered_as_offline_and_brings_its_pc():
    (
        given(FLEET)
        .when(register())
        .then(PcRegistered("pc1", 20), D1)
        .then_answers(id=ID1, status="offline", last_seen_at=None)
    )


def test_a_device_on_a_known_pc_brings_no_second_pc():
    given(FLEET, PcRegistered("pc1", 20)).when(register()).then(D1)


@pytest.mark.req("DF-01")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("device_id", "d1"),
        ("serial_number", "short"),
        ("serial_number", "lowercase01"),
        ("serial_number", "SERIAL0001\n"),
        ("serial_number", "S" * 33),
        ("group_id", "G1"),
        ("group_id", "P1-G"),
        ("pc_id", ""),
        ("pc_id", "../etc"),
    ],
)
def test_a_malformed_field_is_refused_by_name(field, value):
    given(FLEET).when(register(**{field: value})).then_rejected(Code.VALIDATION_ERROR, field=field, value=value)


def test_a_malformed_capability_is_refused():
    given(FLEET).when(register(capabilities=("Age Verified",))).then_rejected(
        Code.VALIDATION_ERROR, field="capabilities"
    )


@pytest.mark.req("DF-01")
def test_a_serial_number_is_unique():
    given(FLEET, PC1, D1).when(register(device_id=ID2)).then_rejected(Code.UNIQUE_VIOLATION, field="serial_number")


def test_a_device_id_is_unique_too():
    given(FLEET, PC1, D1).when(register(serial_number="SERIAL0002")).then_rejected(Code.UNIQUE_VIOLATION)


def test_a_pc_is_registered_once_and_changes_capacity_only_when_it_differs():
    scenario = given(FLEET).when(RegisterPc("pc1", 10)).then(PcRegistered("pc1", 10))
    scenario.when(RegisterPc("pc1", 10)).then_nothing()
    scenario.when(RegisterPc("pc1", 12)).then(PcCapacityChanged("pc1", 12)).then_answers(id="pc1", capacity=12)


@pytest.mark.parametrize("capacity", [0, -1, 21])
def test_a_pc_holds_one_to_twenty(capacity):
    given(FLEET).when(RegisterPc("pc1", capacity)).then_rejected(Code.VALIDATION_ERROR, field="capacity")


@pytest.mark.req("DF-04")
def test_an_offline_device_that_is_heard_comes_online_once():
    scenario = given(FLEET, PC1, D1).when(MarkOnline(ID1)).then(DeviceCameOnline(ID1))
    scenario.when(MarkOnline(ID1)).then_nothing()


@pytest.mark.req("DF-04")
def test_an_online_device_that_falls_silent_goes_offline_once():
    scenario = given(FLEET, PC1, D1, DeviceCameOnline(ID1))
    scenario.when(MarkOffline(ID1, None)).then(DeviceWentOffline(ID1, None))
    scenario.when(MarkOffline(ID1, None)).then_nothing()


@pytest.mark.parametrize("command", [MarkOnline("nobody"), MarkOffline("nobody")])
def test_presence_of_an_unknown_device_is_refused(command):
    given(FLEET, PC1, D1).when(command).then_rejected(Code.NOT_FOUND, device_id="nobody")
