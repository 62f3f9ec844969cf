"""Enrolment codes, with which the agent of a PC gets keys for its phones: how a code looks, and the record of it that
admins see."""

from __future__ import annotations

import secrets
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, Literal, Protocol
from uuid import UUID

import msgspec

from drover.domain.identity.policy import DEVICES_PER_ENROLMENT_MAX
from drover.readmodel.form import placed

LETTERS: Final = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The characters of codes. 0, 1, I, L, O and U are left out, because people type codes and would confuse them."""
GROUPS: Final = 5
GROUP_CHARS: Final = 5
"""Characters in each group of a code. A code has 25 characters from `LETTERS`, which is 122 random bits: nobody can
guess a code, or find it from its digest in the log."""
CODE_CHARS_MAX: Final = 100

PHONES_MAX: Final = DEVICES_PER_ENROLMENT_MAX
HOURS_DEFAULT: Final = 24

LISTED: Final = """
SELECT id, pc_id, devices_max, created_at, created_by, expires_at, devices, used_at, ended_at, reason
FROM rm_identity.enrolment_rows ORDER BY created_at DESC, id LIMIT $1 OFFSET $2
"""
PC_KNOWN: Final = "SELECT 1 FROM rm_fleet.pc_rows WHERE id = $1"

State = Literal["open", "used", "ended"]


class EnrolmentRecord(msgspec.Struct, frozen=True):
    """What admins see of an enrolment code: everything except the code itself."""

    id: UUID
    pc_id: str
    devices_max: int
    """The maximum of phones that may enrol with the code."""
    created_at: datetime
    created_by: str
    expires_at: datetime
    devices: int
    """How many phones got a key when the code was last used."""
    used_at: datetime | None
    ended_at: datetime | None
    reason: str | None
    """Why the code ended: `expired` or `withdrawn`; null if it has not ended."""

    @classmethod
    def of(cls, row: Any) -> EnrolmentRecord:
        return cls(**{field: row[field] for field in cls.__struct_fields__})

    def state(self, now: datetime) -> State:
        if self.ended_at is not None or self.expires_at <= now:
            return "ended"
        return "open" if self.used_at is None else "used"


class Fetcher(Protocol):
    async def fetch(self, query: str, /, *args: Any) -> Any: ...


def new_code() -> str:
    return "-".join("".join(secrets.choice(LETTERS) for _ in range(GROUP_CHARS)) for _ in range(GROUPS))


def digest_of(code: str) -> str:
    """Return the digest of a code. Case, spaces and hyphens make no difference, because people type codes."""
    return sha256("".join(letter for letter in code.upper() if letter.isalnum()).encode()).hexdigest()


def digest_of_nonce(nonce: str) -> str:
    return sha256(nonce.encode()).hexdigest()


async def is_pc_known(fetcher: Fetcher, pc_id: str) -> bool:
    return bool(await fetcher.fetch(placed(PC_KNOWN), pc_id))


def unknown_pc(pc_id: str, way_out: str) -> str:
    """Make the message that there is no such PC. `way_out`: how to request a code for a new PC."""
    return f"There is no PC {pc_id}. If it is a new one, say so ({way_out}): it is registered with its first phone"
