"""The audit of people: who read sensitive data, who changed something, and from where. Accesses are recorded as events
for good. No rule depends on them, so the state keeps nothing of them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from drover.domain.decider import Command, Decision, accept
from drover.domain.erasure import is_erased, parse_sealed
from drover.domain.event import Event
from drover.domain.identity.state import Identity

WHAT_CHARS_MAX: Final = 300


class AccessKind(StrEnum):
    """What somebody accessed. All kinds are reads, except `SIGN_IN` and `CHANGE`."""

    FILM = "film"
    GFX_DATA = "gfx_data"
    EVIDENCE = "evidence"
    """A picture that a phone sent along with a failure."""
    REMINDER_TEXT = "reminder_text"
    PEOPLE = "people"
    """Accounts with their e-mail addresses, and the sessions of other people."""
    KEYS = "keys"
    AUDIT = "audit"
    """The audit itself."""
    EXPORT = "export"
    """A copy of the log: an export or an archive."""
    SIGN_IN = "sign_in"
    CHANGE = "change"


class RecordAccess(Command):
    """Record an access. The actor is the `by` of the command."""

    access_id: str
    kind: str
    what: str
    """What was read or changed: the path of the request, or the command of the CLI."""
    user_agent: str
    address_sealed: str | None = None


class AccessRecorded(Event):
    """Somebody (`by`) read something sensitive, signed in, or changed something. The events of a change have the same
    trace."""

    access_id: str
    kind: str
    what: str
    user_agent: str
    """A label such as `Firefox on Windows`, never the header itself."""
    address_sealed: str | None = None
    """The IP address, sealed (encrypted) with the key of the actor. None: there is none, there was no key to seal it
    with, or the actor is erased."""


def record_access(identity: Identity, command: RecordAccess, now: datetime) -> Decision:
    return accept(
        AccessRecorded(
            access_id=command.access_id,
            kind=command.kind,
            what=command.what,
            user_agent=command.user_agent,
            address_sealed=_kept(identity, command.address_sealed),
        )
    )


def _kept(identity: Identity, address_sealed: str | None) -> str | None:
    """Return the sealed address to record, or None to record no address. None if its key was destroyed, so that nobody
    could read it. Also None if its account was erased: an access from before the erasure may arrive late, and is then
    sealed with a newer key."""
    sealed = parse_sealed(address_sealed) if identity.erased and address_sealed else None
    if sealed is None:
        return address_sealed
    is_gone = sealed.ref.token in identity.removed or is_erased(identity.erased, sealed.ref)
    return None if is_gone else address_sealed


def access_recorded(identity: Identity, event: AccessRecorded) -> None:
    """Change nothing: no rule depends on accesses."""
