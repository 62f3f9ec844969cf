"""The bodies of a PATCH of `devices`: a heartbeat, or a change by the back office."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from drover.domain.fleet.commands import ChangeDevice
from drover.domain.fleet.state import DeviceStatus


class Heartbeat(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a phone says about itself in a heartbeat: its claims. Drover does not rely on them, with two exceptions.
    `status: error` puts the device into error. A device that is in error because of a locked screen or a flat battery
    recovers when its claims show that this has ended."""

    last_seen_at: datetime | UnsetType | None = UNSET
    status: DeviceStatus | UnsetType = UNSET
    screen_locked: bool | UnsetType = UNSET
    battery_pct: Annotated[int, Meta(ge=0, le=100)] | UnsetType = UNSET

    @property
    def claims_life(self) -> bool:
        """Whether the body has claims that only the phone itself can make."""
        claimed = (self.last_seen_at, self.screen_locked, self.battery_pct)
        return self.status not in (UNSET, DeviceStatus.OFFLINE) or any(claim is not UNSET for claim in claimed)

    @property
    def resets(self) -> bool:
        """Whether the body clears the error of a device, if it comes from the back office."""
        return self.status is DeviceStatus.OFFLINE and not self.claims_life

    def claims(self) -> dict[str, Any] | None:
        """Return the claims, by name, as telemetry carries them. None: there are no claims."""
        claims: dict[str, Any] = {}
        if self.status is not UNSET:
            claims["status"] = self.status
        if self.last_seen_at is not UNSET and self.last_seen_at is not None:
            claims["last_seen_at"] = self.last_seen_at
        if self.screen_locked is not UNSET:
            claims["screen_locked"] = self.screen_locked
        if self.battery_pct is not UNSET:
            claims["battery_pct"] = self.battery_pct
        return claims or None


class DeviceChange(Heartbeat):
    """All columns that the back office may write: those of a heartbeat, and these."""

    group_id: str | UnsetType = UNSET
    pc_id: str | UnsetType = UNSET
    capabilities: list[str] | UnsetType = UNSET
    error: UnsetType | None = UNSET

    @property
    def changes(self) -> bool:
        return not (self.group_id is UNSET and self.pc_id is UNSET and self.capabilities is UNSET)

    @property
    def resets(self) -> bool:
        return self.error is None or super().resets

    def command(self, device_id: str) -> ChangeDevice:
        return ChangeDevice(
            device_id,
            None if self.group_id is UNSET else self.group_id,
            None if self.pc_id is UNSET else self.pc_id,
            None if self.capabilities is UNSET else self.capabilities,
        )
