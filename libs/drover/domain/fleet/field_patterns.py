"""The patterns of the fleet's text fields."""

from __future__ import annotations

from typing import Final

from drover.domain.field_checks import TextPatterns
from drover.domain.fleet.policy import (
    CAPABILITY_PATTERN,
    DEVICE_ID_PATTERN,
    ERROR_CODE_PATTERN,
    GROUP_PATTERN,
    PC_ID_PATTERN,
    SERIAL_PATTERN,
    TARGET_URL_PATTERN,
)

TEXTS: Final = TextPatterns(
    shown_chars_max=None,
    in_words={
        "serial_number": "8 to 32 capital letters and digits",
        "group_id": "a group like P1-G1",
        "pc_id": "1 to 64 letters, digits and . _ -",
        "target_url": "an address of youtube.com or youtu.be, such as https://youtu.be/abc",
    },
    id=DEVICE_ID_PATTERN,
    device_id=DEVICE_ID_PATTERN,
    job_id=DEVICE_ID_PATTERN,
    device_ids=DEVICE_ID_PATTERN,
    serial_number=SERIAL_PATTERN,
    group_id=GROUP_PATTERN,
    pc_id=PC_ID_PATTERN,
    capabilities=CAPABILITY_PATTERN,
    target_url=TARGET_URL_PATTERN,
    error_code=ERROR_CODE_PATTERN,
)
