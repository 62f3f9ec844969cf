"""Decides erasures of people, and refuses what arrives sealed with a destroyed key."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from drover.domain.decider import Command, Decision, Rejection, accept
from drover.domain.erasure import names_erased_key
from drover.domain.errors import Code
from drover.domain.identity.accounts import is_last_admin, last_admin
from drover.domain.identity.commands import ErasePerson
from drover.domain.identity.events import AccountRemoved, PersonErased
from drover.domain.identity.sessions import end_all
from drover.domain.identity.state import Identity

ERASED: Final = "erased"
"""Why a session ended: its person was erased."""


def erase_person(identity: Identity, command: ErasePerson, now: datetime) -> Decision:
    """Record the erasure. This also works for somebody without an account, because the audit may have their network
    addresses."""
    account = identity.accounts.get(command.user_id)
    if account is None:
        return accept(PersonErased(command.user_id))
    if is_last_admin(identity, account):
        return last_admin()
    return accept(
        PersonErased(command.user_id),
        *end_all(identity, account, ERASED, now),
        AccountRemoved(account.account_id),
    )


def erased_answer(event: PersonErased, *, had_account: bool) -> dict[str, Any]:
    return {"user_id": event.user_id, "had_account": had_account}


def refuse_erased(identity: Identity, command: Command) -> Rejection | None:
    """Refuse an address or a password that was sealed with a destroyed key: nobody could read it."""
    if not identity.erased or not names_erased_key(
        identity.erased, *(getattr(command, name, None) for name in ("email_sealed", "password_sealed"))
    ):
        return None
    return Rejection(Code.UNAVAILABLE, "The person was erased a moment ago; try again in some seconds")
