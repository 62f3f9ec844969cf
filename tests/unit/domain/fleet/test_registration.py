"""PCs and phones become known, change, and are reset by people."""

import pytest

from drover.domain.errors import Code
from drover.domain.fleet import FLEET
from drover.domain.fleet.commands import ChangeDevice, MarkOnline, RegisterDevice, RegisterPc, ResetDevice
from drover.domain.fleet.events import (
    AttemptCreated,
    DeviceChanged,
    DeviceRegistered,
    DeviceReset,
    PcCapacityChanged,
    PcRegistered,
    Target,
)
from drover.domain.fleet.policy import DEVICES_PER_PC_MAX
from drover.domain.fleet.state import DeviceStatus
from drover.testing.scenario import given
from tests.unit.domain.fleet.world import (
    D1,
    D2,
    D3,
    G1,
    G2,
    J1,
    NOBODY,
    Work,
    active,
    create,
    device_id,
    farm,
    in_hand,
    online,
    pc,
    phone,
    registered,
    told,
)


def register(**changes):
    fields = {"device_id": D1, "serial_number": "SERIAL0001", "group_id": G1, "pc_id": "pc1"} | changes
    return RegisterDevice(**fields)


@pytest.mark.req("DF-01")
def test_a_new_device_is_registered_as_offline_and_brings_its_pc():
    (
        given(FLEET)
        .when(register(capabilities=["age_verified"]))
        .then(PcRegistered("pc1", 20), DeviceRegistered(D1, "SERIAL0001", G1, "pc1", ["age_verified"]))
        .then_answers(
            id=D1,
            serial_number="SERIAL0001",
            group_id=G1,
            pc_id="pc1",
            status="offline",
            last_seen_at=None,
            capabilities=["age_verified"],
        )
    )


def test_a_device_on_a_known_pc_brings_no_second_pc():
    given(FLEET, pc()).when(register()).then(registered(D1))


@pytest.mark.req("DF-01")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("device_id", "d1"),
        ("device_id", D1.upper().replace("0", "A")),
        ("serial_number", "short"),
        ("serial_number", "SERIAL1"),
        ("serial_number", "lowercase01"),
        ("serial_number", "SERIAL0001\n"),
        ("serial_number", "S" * 33),
        ("group_id", "G1"),
        ("group_id", "P1-G"),
        ("group_id", "p1-g1"),
        ("pc_id", ""),
        ("pc_id", "../etc"),
    ],
)
def test_a_malformed_field_is_refused_by_name(field, value):
    given(FLEET).when(register(**{field: value})).then_rejected(Code.VALIDATION_ERROR, field=field, value=value)


@pytest.mark.req("DF-01")
@pytest.mark.parametrize("serial_number", ["SERIAL01", "S" * 32, "12345678"])
def test_a_serial_number_has_eight_to_thirty_two_capitals_and_digits(serial_number):
    given(FLEET, pc()).when(register(serial_number=serial_number)).then(DeviceRegistered)


def test_a_malformed_capability_is_refused():
    given(FLEET).when(register(capabilities=("Age Verified",))).then_rejected(
        Code.VALIDATION_ERROR, field="capabilities"
    )


def test_more_capabilities_than_anybody_needs_are_refused():
    given(FLEET).when(register(capabilities=tuple(f"c{n}" for n in range(33)))).then_rejected(
        Code.VALIDATION_ERROR, field="capabilities"
    )


@pytest.mark.req("DF-01")
def test_a_serial_number_is_unique():
    given(FLEET, pc(), registered(D1)).when(register(device_id=D2)).then_rejected(
        Code.UNIQUE_VIOLATION, field="serial_number", id=D1, pc_id="pc1"
    )


def test_a_device_id_is_unique_too():
    given(FLEET, pc(), registered(D1)).when(register(serial_number="SERIAL0002")).then_rejected(
        Code.UNIQUE_VIOLATION, field="id", value=D1, id=D1
    )


def test_an_id_and_a_serial_number_of_two_devices_are_not_taken_for_one():
    given(FLEET, pc(), registered(D1), registered(D2)).when(register(device_id=D2)).then_rejected(
        Code.CONFLICT, field="id", value=D2
    )


def test_a_pc_is_registered_once_and_changes_capacity_only_when_it_differs():
    scenario = given(FLEET).when(RegisterPc("pc1", 10)).then(PcRegistered("pc1", 10))
    scenario.when(RegisterPc("pc1", 10)).then_nothing()
    scenario.when(RegisterPc("pc1", 12)).then(PcCapacityChanged("pc1", 12)).then_answers(id="pc1", capacity=12)


@pytest.mark.req("OQ-03")
@pytest.mark.parametrize("capacity", [0, -1, 21])
def test_a_pc_holds_one_to_twenty(capacity):
    given(FLEET).when(RegisterPc("pc1", capacity)).then_rejected(Code.VALIDATION_ERROR, field="capacity")


def test_a_pc_takes_only_so_many_devices():
    full = [registered(device_id(number)) for number in range(1, DEVICES_PER_PC_MAX + 1)]
    newcomer = device_id(DEVICES_PER_PC_MAX + 1)
    scenario = given(FLEET, pc(), pc("pc2"), *full, registered(newcomer, "pc2"))
    scenario.when(register(device_id=NOBODY, serial_number="SERIAL9999")).then_rejected(Code.CONFLICT, field="pc_id")
    scenario.when(ChangeDevice(newcomer, pc_id="pc1")).then_rejected(Code.CONFLICT, field="pc_id")


def test_a_change_says_the_whole_device_and_leaves_alone_what_it_does_not_name():
    scenario = given(FLEET, pc(), registered(D1))
    scenario.when(ChangeDevice(D1, group_id=G2)).then(DeviceChanged(D1, G2, "pc1", []))
    scenario.when(ChangeDevice(D1, capabilities=["age_verified"])).then(DeviceChanged(D1, G2, "pc1", ["age_verified"]))
    scenario.when(ChangeDevice(D1, capabilities=[])).then(DeviceChanged(D1, G2, "pc1", []))


def test_a_change_that_changes_nothing_is_no_event():
    given(FLEET, pc(), registered(D1)).when(ChangeDevice(D1, group_id=G1, pc_id="pc1")).then_nothing()


def test_a_device_brings_a_new_pc_along_when_it_moves():
    (
        given(FLEET, pc(), registered(D1))
        .when(ChangeDevice(D1, pc_id="pc9"))
        .then(PcRegistered("pc9", 20), DeviceChanged(D1, G1, "pc9", []))
        .then_answers(id=D1, group_id=G1, pc_id="pc9", capabilities=[])
    )


def test_a_device_with_work_in_hand_stays_where_it_is():
    work = Work()
    (
        given(FLEET, *farm(1), *active(), *work.running())
        .when(ChangeDevice(D1, pc_id="pc2"))
        .then_rejected(Code.CONFLICT, field="pc_id")
        .when(ChangeDevice(D1, group_id=G2))
        .then(DeviceChanged(D1, G2, "pc1", []))
    )


def test_a_device_that_moves_within_a_group_job_is_supplied_on_its_new_pc():
    scenario = given(FLEET, pc(), pc("pc2"), *online(D1), *online(D2, "pc2", G2))
    scenario.when(create(J1, target=Target(group_id=G1)))
    scenario.when(ChangeDevice(D2, group_id=G1))
    assert [created.device_id for created in told(scenario, AttemptCreated)] == [D2]
    assert in_hand(scenario, D2).job_id == J1


def test_a_device_that_moves_takes_its_place_on_the_new_pc():
    scenario = given(FLEET, pc(capacity=1), pc("pc2", 1), *online(D1), *online(D2), *online(D3, "pc2"))
    scenario.when(create(J1))
    assert phone(scenario, D2).assignment is None
    scenario.when(ChangeDevice(D2, pc_id="pc3")).then(PcRegistered, DeviceChanged, AttemptCreated)
    assert in_hand(scenario, D2).job_id == J1


@pytest.mark.parametrize(("field", "value"), [("group_id", "G1"), ("pc_id", "a b"), ("capabilities", ("A",))])
def test_a_malformed_change_is_refused(field, value):
    given(FLEET, pc(), registered(D1)).when(ChangeDevice(D1, **{field: value})).then_rejected(
        Code.VALIDATION_ERROR, field=field
    )


@pytest.mark.req("DF-04")
def test_a_person_resets_a_device_in_error_and_it_is_offline_until_it_is_heard():
    work = Work()
    crashed = [*work.running(3, after="APP_CRASH")]
    scenario = given(FLEET, *farm(1), *active(), *crashed).when(work.fails("APP_CRASH", 3))
    assert phone(scenario, D1).status is DeviceStatus.ERROR
    scenario.when(ResetDevice(D1)).then(DeviceReset(D1))
    assert phone(scenario, D1).status is DeviceStatus.OFFLINE
    assert (phone(scenario, D1).failures, phone(scenario, D1).crashes) == (0, 0)
    scenario.when(MarkOnline(D1))
    assert phone(scenario, D1).status is DeviceStatus.ONLINE


def test_a_reset_of_a_healthy_device_is_no_event():
    given(FLEET, *farm(1)).when(ResetDevice(D1)).then_nothing()


@pytest.mark.parametrize("command", [ChangeDevice(NOBODY, group_id=G2), ResetDevice(NOBODY)])
def test_an_unknown_device_can_be_neither_changed_nor_reset(command):
    given(FLEET, *farm(1)).when(command).then_rejected(Code.NOT_FOUND, device_id=NOBODY)
