"""Identity's decider: which rule decides which command. Pure; a decision's cost does not grow with the accounts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from drover.domain import alert_handling
from drover.domain.decider import Command, Decider, Decision, Tick
from drover.domain.identity import commands as c
from drover.domain.identity.accounts import (
    change_password,
    change_role,
    create_account,
    disable_account,
    enable_account,
    find_account,
    read_account,
    reseal_account,
)
from drover.domain.identity.answers import answer
from drover.domain.identity.api_keys import adopt_api_key, create_api_key, revoke_api_key, rotate_api_key
from drover.domain.identity.audit import RecordAccess, record_access
from drover.domain.identity.deadlines import next_deadline, tick
from drover.domain.identity.enrolments import create_enrolment, end_enrolment, enrol_devices, read_enrolment
from drover.domain.identity.erasing import erase_person, refuse_erased
from drover.domain.identity.events import IdentityEvent
from drover.domain.identity.evolution import evolve
from drover.domain.identity.sessions import (
    end_all_sessions,
    end_session,
    list_sessions,
    rotate_refresh,
    start_session,
)
from drover.domain.identity.state import Identity
from drover.domain.identity.subjects import CONTEXT
from drover.domain.identity.validation import validate
from drover.domain.limited_callers import ReportLimited, report_limited
from drover.domain.rules import decide_by
from drover.domain.wall_clock import deadline_on_wall_clock, on_wall_clock

_DECIDE: Final[dict[type[Command], Callable[[Identity, Any, datetime], Decision]]] = {
    c.CreateAccount: create_account,
    c.ChangePassword: change_password,
    c.ChangeRole: change_role,
    c.DisableAccount: disable_account,
    c.EnableAccount: enable_account,
    c.ResealAccount: reseal_account,
    c.ErasePerson: erase_person,
    c.StartSession: start_session,
    c.RotateRefresh: rotate_refresh,
    c.EndSession: end_session,
    c.EndAllSessions: end_all_sessions,
    c.FindAccount: find_account,
    c.ReadAccount: read_account,
    c.ListSessions: list_sessions,
    c.CreateApiKey: create_api_key,
    c.AdoptApiKey: adopt_api_key,
    c.RotateApiKey: rotate_api_key,
    c.RevokeApiKey: revoke_api_key,
    c.CreateEnrolment: create_enrolment,
    c.ReadEnrolment: read_enrolment,
    c.EnrolDevices: enrol_devices,
    c.EndEnrolment: end_enrolment,
    RecordAccess: record_access,
    ReportLimited: report_limited,
    **alert_handling.RULES,
    Tick: tick,
}

_decide_by_rule: Final = decide_by(_DECIDE, validate=validate)


def _decide(identity: Identity, command: Command, now: datetime) -> Decision:
    refusal = refuse_erased(identity, command)
    return _decide_by_rule(identity, command, now) if refusal is None else Decision(rejection=refusal)


IDENTITY: Final = Decider(
    context=CONTEXT,
    initial=Identity,
    decide=on_wall_clock(_decide),
    evolve=evolve,
    next_deadline=deadline_on_wall_clock(next_deadline),
    answer=answer,
    commands=c.IdentityCommand,
    events=IdentityEvent,
    state=Identity,
    image_migrations={
        "7a838cb457d35778": None,
        "6e6aab6efd9b9e08": None,
        "03116eba3430f54a": None,
        "1f8cc6c41a39a6df": None,
    },
    erasures=lambda identity: identity.erased,
)
