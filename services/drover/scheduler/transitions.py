"""Decides which commands follow from a sign of life or the silence of a device, given its state. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from drover.domain.decider import Command
from drover.domain.fleet.commands import ClearCondition, MarkOffline, MarkOnline, MarkSilent
from drover.domain.fleet.policy import CHARGED_PCT, SILENT_AFTER_S, DeviceEffect
from drover.domain.fleet.state import Assignment, Device, Fleet, Phase
from drover.scheduler.presence import Silent

Claims = Mapping[str, Any]
"""What an agent reports about its device. Untrusted: even the types may be wrong."""


def _is_unlocked(claims: Claims) -> bool:
    return claims.get("screen_locked") is False


def _is_charged(claims: Claims) -> bool:
    percent = claims.get("battery_pct")
    return isinstance(percent, int | float) and percent >= CHARGED_PCT


_ENDS_CONDITION: Final[Mapping[str, Callable[[Claims], bool]]] = {
    DeviceEffect.SCREEN_LOCKED: _is_unlocked,
    DeviceEffect.BATTERY_LOW: _is_charged,
}


def on_sign_of_life(device: Device, claims: Claims | None) -> list[Command]:
    """Return the commands to send, in this order, when a device has sent a sign of life."""
    commands: list[Command] = []
    if not device.alive:
        commands.append(MarkOnline(device.device_id))
    condition = device.error.condition if device.error is not None else None
    if claims and condition is not None and (is_over := _ENDS_CONDITION.get(condition)) and is_over(claims):
        commands.append(ClearCondition(device.device_id, condition))
    return commands


def after_silence(device: Device, silent: Silent) -> Command | None:
    """Return the command to send for a silent device. None: it runs an attempt and has not been silent for long enough,
    or is already offline."""
    if device.running:
        return MarkSilent(device.device_id, silent.last_seen) if silent.for_s >= SILENT_AFTER_S else None
    return MarkOffline(device.device_id, silent.last_seen) if device.alive else None


def is_watched(device: Device) -> bool:
    """Whether a silence of this device would change its state."""
    return device.alive or device.running


def running_on(fleet: Fleet, device_id: str) -> Assignment | None:
    device = fleet.devices.get(device_id)
    if device is None or not device.running or device.assignment is None:
        return None
    assignment = fleet.assignments.get(device.assignment)
    return assignment if assignment is not None and assignment.phase is Phase.RUNNING else None
