"""Makes the answer to a command from the events that it recorded, and from nothing else. So a repeated command gets the
same answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from drover.domain.identity import events as e
from drover.domain.identity.api_keys import adopted_answer, created_answer
from drover.domain.identity.enrolments import enrolled_answer, enrolment_answer
from drover.domain.identity.erasing import erased_answer
from drover.domain.identity.sessions import REUSE, reused_rejection, rotated

_TOLD: Final[dict[type, Callable[[Any], Any]]] = {
    e.ApiKeyCreated: created_answer,
    e.ApiKeyAdopted: adopted_answer,
    e.EnrolmentCreated: enrolment_answer,
    e.DevicesEnrolled: enrolled_answer,
}


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
        if isinstance(event, e.PersonErased):
            return erased_answer(event, had_account=any(isinstance(one, e.AccountRemoved) for one in events))
        if (tell := _TOLD.get(type(event))) is not None:
            return tell(event)
    return {"ended": sum(isinstance(event, e.SessionEnded) for event in events)}
