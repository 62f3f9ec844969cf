"""The fleet's numbers and patterns, as the users wrote them (seeds 000 and 002)."""

from __future__ import annotations

from typing import Final

DEVICE_ID_PATTERN: Final = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
SERIAL_PATTERN: Final = r"^[A-Z0-9]{8,32}$"
GROUP_PATTERN: Final = r"^P[0-9]+-G[0-9]+$"
PC_ID_PATTERN: Final = r"^[A-Za-z0-9._-]{1,64}$"
CAPABILITY_PATTERN: Final = r"^[a-z0-9_]{1,64}$"
CAPABILITIES_MAX: Final = 32

PC_CAPACITY_DEFAULT: Final = 20
PC_CAPACITY_MAX: Final = 20

OFFLINE_AFTER_S: Final = 30.0
"""An online device that has not been heard for this long is offline."""
