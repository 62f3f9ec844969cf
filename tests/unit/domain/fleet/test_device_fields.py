"""What a client may set on a device, and those who have the same fields."""

from drover.domain.fleet.commands import ChangeDevice, RegisterDevice
from drover.domain.fleet.events import DeviceChanged, DeviceRegistered
from drover.domain.fleet.state import DeviceSettings, DeviceSpec
from drover.readmodel.fleet.devices import DeviceRow


def test_the_command_can_set_exactly_its_fields_and_event_and_row_have_them():
    fields = set(DeviceSpec.__struct_fields__)
    assert set(RegisterDevice.__struct_fields__) == fields | {"device_id"}
    assert set(DeviceRegistered.__struct_fields__) >= fields
    assert set(DeviceRow.__struct_fields__) >= fields


def test_a_change_can_set_exactly_the_settings():
    fields = set(DeviceSettings.__struct_fields__)
    assert set(ChangeDevice.__struct_fields__) == fields | {"device_id"}
    assert set(DeviceChanged.__struct_fields__) >= fields
