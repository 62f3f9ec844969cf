"""What people may do: viewers look, operators work on the farm, admins keep accounts too."""

from __future__ import annotations

import pytest

from drover.service.access_tokens import PEOPLE
from drover.service.api_keys import Role
from drover.web.auth import Principal
from drover.web.errors import ApiError
from drover.web.permissions import TABLE, Verb, demand

RELATIONS = {relation for rule in TABLE for relation in rule.relations}


def person(role: Role) -> Principal:
    return Principal(role, "user:kim", float("inf"), user_id="kim", session_id="s", issuer="drover-identity")


def may(role: Role, verb: Verb, relation: str) -> bool:
    try:
        demand(person(role), relation, verb)
    except ApiError:
        return False
    return True


def allowed(role: Role) -> set[str]:
    return {f"{verb} {relation}" for relation in RELATIONS for verb in Verb if may(role, verb, relation)}


def is_own(can: str) -> bool:
    """About what belongs to the person alone, whatever their role."""
    relation = can.split()[1]
    return relation == "me" or relation.startswith("my_")


def test_each_role_may_what_the_one_below_may():
    assert allowed(Role.VIEWER) < allowed(Role.OPERATOR) < allowed(Role.ADMIN)


def test_a_viewer_looks_and_keeps_their_own_account():
    changes = {can for can in allowed(Role.VIEWER) if not can.startswith("read ")}
    assert {can for can in changes if not is_own(can)} == {"call rpc/why", "connect public_channels"}
    for relation in ("devices", "jobs", "job_assignments", "tasks", "events", "alerts", "status", "stream"):
        assert may(Role.VIEWER, Verb.READ, relation)


def test_a_viewer_sees_nothing_of_the_people_whom_films_and_alarms_are_for():
    for relation in ("render_queue.gfx_data", "render_files", "alarm"):
        assert relation in RELATIONS
        assert not may(Role.VIEWER, Verb.READ, relation)


def test_an_operator_commands_the_farm_and_nobodys_account():
    for relation in ("jobs", "devices", "job_assignments", "pcs"):
        assert may(Role.OPERATOR, Verb.CREATE, relation)
        assert may(Role.OPERATOR, Verb.UPDATE, relation)
    for relation in ("accounts", "sessions", "keys", "audit", "erasures"):
        assert relation in RELATIONS
        assert not any(may(Role.OPERATOR, verb, relation) for verb in Verb)


def test_an_admin_keeps_accounts_and_ends_sessions_of_others():
    assert {"read accounts", "create accounts", "update accounts", "read sessions", "delete sessions"} <= allowed(
        Role.ADMIN
    )


@pytest.mark.parametrize("role", [Role.ANON, Role.DEVICE, Role.SERVICE_ROLE])
def test_no_key_touches_people(role):
    for relation in ("accounts", "sessions", "me"):
        for verb in Verb:
            assert not may(role, verb, relation)


def test_whoever_another_issuer_knows_and_has_no_role_sees_nothing_of_the_farm():
    assert "read me" in allowed(Role.AUTHENTICATED)
    assert all(map(is_own, allowed(Role.AUTHENTICATED) - {"connect public_channels"}))


def test_nobody_is_an_agent():
    for role in PEOPLE:
        assert not may(role, Verb.CONNECT, "agent")
        assert not may(role, Verb.CALL, "rpc/claim_task_devices_for_pc")
