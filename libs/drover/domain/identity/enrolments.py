"""Decides about enrolment: an admin makes a one-time code for a PC, and the PC's agent gets a key for each phone.

The code and the agent's nonce are secrets; here are only their digests.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from drover.domain.decider import Decision, accept, answer, reject
from drover.domain.errors import Code
from drover.domain.identity import events as e
from drover.domain.identity.api_keys import too_many, valid_until
from drover.domain.identity.commands import CreateEnrolment, EndEnrolment, EnrolDevices, ReadEnrolment
from drover.domain.identity.policy import ENROLMENT_S_MAX, ENROLMENT_USES_MAX, ENROLMENTS_MAX
from drover.domain.identity.state import ApiKey, Enrolment, Identity

EXPIRED: Final = "expired"
WITHDRAWN: Final = "withdrawn"


def create_enrolment(identity: Identity, command: CreateEnrolment, now: datetime) -> Decision:
    if command.enrolment_id in identity.enrolments or command.digest in identity.by_code:
        return reject(Code.UNIQUE_VIOLATION, "There is an enrolment with this id or code already")
    if len(identity.enrolments) >= ENROLMENTS_MAX:
        message = f"There are {ENROLMENTS_MAX} open enrolments, which is the maximum"
        return reject(Code.CONFLICT, message, enrolments_max=ENROLMENTS_MAX)
    if command.lifetime_s > ENROLMENT_S_MAX:
        message = f"A code can be used for {ENROLMENT_S_MAX} seconds at most"
        return reject(Code.VALIDATION_ERROR, message, field="lifetime_s")
    return accept(
        e.EnrolmentCreated(
            command.enrolment_id,
            command.pc_id,
            command.digest,
            command.devices_max,
            command.valid_s,
            now + timedelta(seconds=command.lifetime_s),
        )
    )


def read_enrolment(identity: Identity, command: ReadEnrolment, now: datetime) -> Decision:
    enrolment = _open(identity, command.digest, now)
    if enrolment is None:
        return _not_accepted()
    if (refusal := _why_not(enrolment, command.nonce)) is not None:
        return refusal
    return answer(
        {
            "enrolment_id": enrolment.enrolment_id,
            "pc_id": enrolment.pc_id,
            "devices_max": enrolment.devices_max,
            "expires_at": enrolment.expires_at,
        }
    )


def enrol_devices(identity: Identity, command: EnrolDevices, now: datetime) -> Decision:
    enrolment = _open(identity, command.digest, now)
    if enrolment is None:
        return _not_accepted()
    if (refusal := _why_not(enrolment, command.nonce)) is not None:
        return refusal
    if len(command.keys) > enrolment.devices_max:
        message = f"The code is for {enrolment.devices_max} devices at most"
        return reject(Code.VALIDATION_ERROR, message, field="devices", devices_max=enrolment.devices_max)
    if (refusal := too_many(identity, len(command.keys))) is not None:
        return refusal
    if any(key.key_id in identity.api_keys for key in command.keys):
        return reject(Code.UNIQUE_VIOLATION, "There is an API key with this id already")
    if len({key.device_id for key in command.keys}) < len(command.keys):
        return reject(Code.VALIDATION_ERROR, "A device is named twice", field="devices")
    expires_at, replaced = valid_until(now, enrolment.valid_s), _replaced(identity, enrolment, command)
    return accept(e.DevicesEnrolled(enrolment.enrolment_id, command.nonce, command.keys, expires_at, replaced))


def _replaced(identity: Identity, enrolment: Enrolment, command: EnrolDevices) -> list[str]:
    """Return the ids of the keys that the new ones replace: those of an earlier use of the code, those that the same
    devices got by earlier enrolments, and the successors of all these if they were rotated."""
    of_devices = (identity.enrolled.get(key.device_id) for key in command.keys)
    found: dict[str, ApiKey] = {}
    for key_id in (*enrolment.key_ids, *of_devices):
        key = identity.api_keys.get(key_id or "")
        while key is not None and key.key_id not in found:
            found[key.key_id] = key
            key = identity.api_keys.get(key.successor_id or "")
    return [key.key_id for key in found.values() if not key.is_revoked]


def end_enrolment(identity: Identity, command: EndEnrolment, now: datetime) -> Decision:
    if command.enrolment_id not in identity.enrolments:
        return reject(Code.NOT_FOUND, "Enrolment not found")
    return accept(e.EnrolmentEnded(command.enrolment_id, WITHDRAWN))


def enrolled_answer(event: e.DevicesEnrolled) -> dict[str, Any]:
    return {
        "enrolment_id": event.enrolment_id,
        "created_at": event.at,
        "expires_at": event.expires_at,
        "keys": event.keys,
    }


def enrolment_answer(event: e.EnrolmentCreated) -> dict[str, Any]:
    return {"enrolment_id": event.enrolment_id, "expires_at": event.expires_at}


def _open(identity: Identity, digest: str, now: datetime) -> Enrolment | None:
    enrolment = identity.enrolments.get(identity.by_code.get(digest, ""))
    return None if enrolment is None or enrolment.expires_at <= now else enrolment


def _why_not(enrolment: Enrolment, nonce: str) -> Decision | None:
    """Return why this agent cannot use the code. None: it can."""
    if enrolment.nonce not in (None, nonce):
        return _used(enrolment)
    if enrolment.uses >= ENROLMENT_USES_MAX:
        message = f"The code was used {ENROLMENT_USES_MAX} times, which is the maximum; ask an admin for a new one"
        return reject(Code.CONFLICT, message, uses_max=ENROLMENT_USES_MAX)
    return None


def _not_accepted() -> Decision:
    """Refuse a code that is unknown or has expired. Expired codes are forgotten, so the two cannot be told apart."""
    return reject(Code.NOT_FOUND, "The code is unknown or has expired; ask an admin for a new one")


def _used(enrolment: Enrolment) -> Decision:
    """Refuse a code that another agent has used, and say so. This tells a stranger nothing: the caller knows the code
    already. And if a stranger was faster, the rightful agent should learn of it."""
    message = (
        "Another agent has used the code. Ask an admin for a new one; if you do not know who used it, let the admin"
        f" revoke the keys of {enrolment.pc_id}"
    )
    return reject(Code.CONFLICT, message, pc_id=enrolment.pc_id)
