"""Identity's decider: which rule decides which command. Pure; a decision's cost does not grow with the accounts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

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
from drover.domain.identity.deadlines import next_deadline, tick
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
from drover.domain.identity.validation import validate
from drover.domain.rules import decide_by
from drover.domain.wall_clock import deadline_on_wall_clock, on_wall_clock

_DECIDE: Final[dict[type[Command], Callable[[Identity, Any, datetime], Decision]]] = {
    c.CreateAccount: create_account,
    c.ChangePassword: change_password,
    c.ChangeRole: change_role,
    c.DisableAccount: disable_account,
    c.EnableAccount: enable_account,
    c.ResealAccount: reseal_account,
    c.StartSession: start_session,
    c.RotateRefresh: rotate_refresh,
    c.EndSession: end_session,
    c.EndAllSessions: end_all_sessions,
    c.FindAccount: find_account,
    c.ReadAccount: read_account,
    c.ListSessions: list_sessions,
    Tick: tick,
}

IDENTITY: Final = Decider(
    context="identity",
    initial=Identity,
    decide=on_wall_clock(decide_by(_DECIDE, validate=validate)),
    evolve=evolve,
    next_deadline=deadline_on_wall_clock(next_deadline),
    answer=answer,
    commands=c.IdentityCommand,
    events=IdentityEvent,
    state=Identity,
    image_migrations={"7a838cb457d35778": None},
)
