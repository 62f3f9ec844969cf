"""Who may do what: the table, read from outside."""

from __future__ import annotations

import itertools
import re

import pytest

from drover.readmodel.column import PgType
from drover.readmodel.relation import Relation
from drover.service.api_keys import Role
from drover.web.auth import Principal
from drover.web.errors import ApiError
from drover.web.permissions import PUBLIC_CHANNELS, TABLE, Permissions, Verb, check_columns, check_own, demand
from drover.web.postgrest.sight import Sight
from tests.settings import load

DEVICE_ID = "018f2b5e-0000-7000-8000-00000000000a"
OTHER_ID = "018f2b5e-0000-7000-8000-00000000000b"
ANON = Principal(Role.ANON, "anon", float("inf"))
DEVICE = Principal(Role.DEVICE, f"device:{DEVICE_ID}", float("inf"), DEVICE_ID)
OFFICE = Principal(Role.SERVICE_ROLE, "service_role", float("inf"))
PERMISSIONS = Permissions()

RELATIONS = {relation for rule in TABLE for relation in rule.relations}


def allowed(principal: Principal, permissions: Permissions = PERMISSIONS) -> set[str]:
    """Everything in reach, as `verb relation`."""
    found = set()
    for relation, verb in itertools.product(RELATIONS, Verb):
        try:
            permissions.demand(principal, relation, verb)
        except ApiError:
            continue
        found.add(f"{verb} {relation}")
    return found


def test_the_key_that_is_in_every_phone_reads_work_beats_reports_and_no_more():
    assert allowed(ANON) == {
        "read devices",
        "read jobs",
        "read job_assignments",
        "update devices",
        "update job_assignments",
        "connect agent",
        "connect public_channels",
        "create evidence",
    }


@pytest.mark.req("DF-07")
def test_it_creates_jobs_only_where_a_setting_says_so():
    environment = {
        "DROVER_NATS_URL": "nats://n",
        "DROVER_POSTGRES_URL": "postgresql://p",
        "DROVER_JWT_SECRETS": "s" * 32,
        "DROVER_ANON": "agent",
    }
    permissions = Permissions.of(load(environment | {"DROVER_ANON_MAY_CREATE_JOBS": "1"}))
    assert allowed(ANON, permissions) == allowed(ANON) | {"create jobs"}
    assert allowed(DEVICE, permissions) == allowed(DEVICE)
    assert allowed(ANON, Permissions.of(load(environment))) == allowed(ANON)


def test_a_key_of_one_device_is_for_that_one():
    assert allowed(DEVICE) == allowed(ANON) | {"call rpc/why"}
    for can in allowed(DEVICE) - {"read jobs", "connect public_channels"}:
        verb, relation = can.split()
        grant = PERMISSIONS.demand(DEVICE, relation, Verb(verb))
        assert grant.own
        check_own(grant, DEVICE, DEVICE_ID)
        with pytest.raises(ApiError) as caught:
            check_own(grant, DEVICE, OTHER_ID)
        assert (caught.value.status, caught.value.code) == (403, "42501")
    check_own(PERMISSIONS.demand(ANON, "devices", Verb.UPDATE), ANON, OTHER_ID)


def test_the_back_office_reads_all_and_calls_functions():
    office = allowed(OFFICE)
    assert office >= allowed(ANON) | {"create jobs", "create pcs", "read events", "call rpc/why"}
    assert office >= {"delete aep_compositions", "delete aep_field_mapping"}
    kept = ("devices", "pcs", "jobs", "job_assignments", "render_queue", "events", "alerts")
    assert not office & {f"delete {relation}" for relation in kept}
    assert PERMISSIONS.demand(OFFICE, "devices", Verb.UPDATE).columns is None


def test_what_is_not_in_the_table_is_denied():
    for principal in (ANON, DEVICE, OFFICE):
        for relation, verb in (("nope", Verb.READ), ("jobs", Verb.DELETE), ("rpc/nope", Verb.CALL)):
            with pytest.raises(ApiError) as caught:
                demand(principal, relation, verb)
            assert (caught.value.status, caught.value.code) == (403, "42501")
            assert caught.value.details == {"role": principal.role, "relation": relation, "verb": verb}


@pytest.mark.parametrize("principal", [ANON, DEVICE])
def test_a_column_that_may_not_be_written_is_named(principal):
    grant = PERMISSIONS.demand(principal, "job_assignments", Verb.UPDATE)
    check_columns(grant, ["status", "run", "progress_pct", "screenshot_ref"])
    with pytest.raises(ApiError, match=re.escape("column device_id of table job_assignments")) as caught:
        check_columns(grant, ["status", "device_id"])
    assert caught.value.status == 403
    assert caught.value.details["column"] == "device_id"
    with pytest.raises(ApiError):
        check_columns(PERMISSIONS.demand(principal, "devices", Verb.UPDATE), ["pc_id"])
    check_columns(PERMISSIONS.demand(OFFICE, "devices", Verb.UPDATE), ["pc_id"])


def relation(name: str, owner: str | None = None) -> Relation:
    return Relation(name, "rm_fleet", {"id": PgType.UUID, "device_id": PgType.UUID}, "fleet", owner=owner)


def test_sight_is_what_may_be_read_and_whose():
    known = {
        "devices": relation("devices", owner="id"),
        "jobs": relation("jobs"),
        "job_assignments": relation("job_assignments", owner="device_id"),
        "events": relation("events"),
    }
    farm = {name: known[name] for name in ("devices", "jobs", "job_assignments")}
    assert PERMISSIONS.sight(ANON, known) == Sight(farm, depth_max=1, bytes_max=4 * 1024 * 1024)
    assert PERMISSIONS.sight(OFFICE, known) == Sight(known)
    only = {"devices": {"id": DEVICE_ID}, "job_assignments": {"device_id": DEVICE_ID}}
    assert PERMISSIONS.sight(DEVICE, known) == Sight(farm, only)
    with pytest.raises(AssertionError, match="devices does not say"):
        PERMISSIONS.sight(DEVICE, {"devices": relation("devices")})


@pytest.mark.req("DI-12", "SE-02")
@pytest.mark.parametrize(
    ("level", "reads", "reports", "creates"),
    [
        ("off", False, False, False),
        ("read", True, False, False),
        ("agent", True, True, False),
        ("full", True, True, True),
    ],
)
def test_a_setting_says_what_the_anon_key_may_do(level, reads, reports, creates):
    permissions, anon = Permissions(anon=level), Principal(Role.ANON, "anon", float("inf"))
    assert permissions.may(anon, "jobs", Verb.READ) is reads
    assert permissions.may(anon, "job_assignments", Verb.UPDATE) is reports
    assert permissions.may(anon, "agent", Verb.CONNECT) is reports
    assert permissions.may(anon, PUBLIC_CHANNELS, Verb.CONNECT) is reads
    for relation in ("devices", "jobs", "job_assignments"):
        assert permissions.may(anon, relation, Verb.CREATE) is creates
    assert permissions.may(anon, "jobs", Verb.UPDATE) is creates
    if reports:  # dashboards with the anon key move and reset phones, if they may create them
        assert (permissions.demand(anon, "devices", Verb.UPDATE).columns is None) is creates
    assert not permissions.may(anon, "users", Verb.READ)


@pytest.mark.req("SE-02")
@pytest.mark.parametrize(
    ("level", "relation", "verb", "needed"),
    [
        ("off", "jobs", Verb.READ, "read"),
        ("off", "devices", Verb.UPDATE, "agent"),
        ("off", "agent", Verb.CONNECT, "agent"),
        ("off", PUBLIC_CHANNELS, Verb.CONNECT, "read"),
        ("read", "job_assignments", Verb.UPDATE, "agent"),
        ("agent", "devices", Verb.CREATE, "full"),
    ],
)
def test_a_refused_anon_caller_learns_which_level_is_needed_and_what_to_do_instead(level, relation, verb, needed):
    with pytest.raises(ApiError) as caught:
        Permissions(anon=level).demand(ANON, relation, verb)
    assert (caught.value.status, caught.value.code) == (403, "42501")
    assert f"DROVER_ANON={needed}," in caught.value.hint
    assert "`drover key enrol`" in caught.value.hint
    with pytest.raises(ApiError) as other:
        Permissions(anon=level).demand(DEVICE, "users", verb)
    assert other.value.hint is None, "the setting is not about other keys"


@pytest.mark.req("SE-02")
def test_no_level_is_named_for_what_the_anon_key_may_do_at_none():
    with pytest.raises(ApiError) as caught:
        PERMISSIONS.demand(ANON, "users", Verb.READ)
    assert caught.value.hint is None
    with pytest.raises(ApiError) as caught:
        check_columns(PERMISSIONS.demand(ANON, "devices", Verb.UPDATE), ["pc_id"])
    assert "DROVER_ANON=full," in caught.value.hint
    with pytest.raises(ApiError) as caught:
        check_columns(PERMISSIONS.demand(ANON, "job_assignments", Verb.UPDATE), ["device_id"])
    assert caught.value.hint is None
