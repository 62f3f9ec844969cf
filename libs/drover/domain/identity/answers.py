"""Answers to recorded commands, derived from their events alone: a repeated command gets the same answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drover.domain.identity import events as e
from drover.domain.identity.sessions import REUSE, reused_rejection, rotated


def answer(events: Sequence[e.IdentityEvent]) -> Any:
    for event in events:
        if isinstance(event, e.AccountCreated):
            return {"account_id": event.account_id, "role": event.role, "created_at": event.at}
        if isinstance(event, e.SessionStarted):
            return {"session_id": event.session_id, "expires_at": event.expires_at, "started_at": event.at}
        if isinstance(event, e.RefreshRotated):
            return rotated(event.session_id, event.account_id, event.child, event.expires_at)
        if isinstance(event, e.SessionEnded) and event.reason == REUSE:
            return reused_rejection()
    return {"ended": sum(isinstance(event, e.SessionEnded) for event in events)}
