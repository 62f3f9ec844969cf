"""The read model of people: which rows follow from which events, and what stays out of all of them."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any
from uuid import UUID

import msgspec
import pytest

from drover.domain.event import Event
from drover.domain.identity import IDENTITY
from drover.domain.identity import events as e
from drover.domain.identity.commands import (
    ChangePassword,
    ChangeRole,
    DisableAccount,
    EnableAccount,
    EndSession,
    ErasePerson,
    RotateApiKey,
)
from drover.eventlog.codec import Codec
from drover.eventlog.log import StoredCommit
from drover.projection.memory import MemoryTables
from drover.projector.identity import IDENTITY_PROJECTION
from drover.projector.identity.projection import RULES
from drover.readmodel.alerts import ALERTS
from drover.readmodel.events import EVENTS
from drover.readmodel.identity import ACCOUNTS, API_KEY_ENDS, API_KEYS, ENROLMENTS, SESSIONS
from drover.readmodel.table import Key, KeyedTable, R
from drover.testing.scenario import NOON, Scenario
from tests.unit.domain.identity.test_api_keys import K1, K2, YEAR_S, adopt, create
from tests.unit.domain.identity.test_enrolments import ENROLMENT, code, enrol, keys
from tests.unit.domain.identity.world import KIM, LEE, S1, S2, created, digest, refresh, session_id, start

CODEC = Codec.of(IDENTITY)


class CheckedTables(MemoryTables):
    """Gives only rows that the event's rule has declared: others would not be loaded where it matters."""

    declared: set[tuple[str, Key]]

    def get(self, table: KeyedTable[R], key: Key) -> R | None:
        assert (table.name, key) in self.declared, f"{table.name} {key} is read but not declared"
        return super().get(table, key)


class Told(Scenario):
    """A scenario whose events go into tables as they happen."""

    def __init__(self) -> None:
        super().__init__(IDENTITY)
        self.tables = CheckedTables(IDENTITY_PROJECTION)
        self.lines: list[bytes] = []

    def _fold(self, event: Event) -> None:
        super()._fold(event)
        event.by, event.cause = "user:x", "command"
        self.tables.declared = {(table.name, key(event)) for table, key in IDENTITY_PROJECTION.reads[type(event)]}
        self.lines.append(CODEC.encode([event]))
        self.tables.fold(StoredCommit(event.n, "c", 1, self.now, self.lines[-1]))

    def shown(self, table: Any) -> list[dict[str, Any]]:
        return [dict(zip(table.columns, row, strict=True)) for row in self.tables.rows(table)]


def signed_in() -> Told:
    scenario = Told()
    scenario.given(created(KIM), created(LEE, "viewer")).after(minutes=1).when(start())
    return scenario


def test_every_event_has_its_rule():
    assert RULES.keys() == {*IDENTITY.events.__args__}


def test_an_account_and_its_session():
    scenario = signed_in().after(minutes=1).when(refresh(0))
    kim = scenario.shown(ACCOUNTS)[0]
    assert kim == {
        "id": UUID(KIM),
        "email_sealed": f"sealed address of {KIM}",
        "role": "admin",
        "disabled": False,
        "created_at": NOON,
        "updated_at": NOON,
        "last_sign_in_at": NOON + timedelta(minutes=1),
    }
    (session,) = scenario.shown(SESSIONS)
    assert (session["id"], session["account_id"]) == (UUID(S1), UUID(KIM))
    assert session["last_used_at"] == NOON + timedelta(minutes=2)
    assert session["ended_at"] is None


def test_what_changes_shows():
    scenario = signed_in().when(start(S2, LEE)).after(minutes=1).when(ChangeRole(LEE, "operator"))
    lee = scenario.shown(ACCOUNTS)[1]
    assert (lee["role"], lee["updated_at"]) == ("operator", NOON + timedelta(minutes=2))
    ended = scenario.shown(SESSIONS)[1]
    assert (ended["reason"], ended["ended_at"]) == ("role_changed", scenario.now)
    scenario.when(DisableAccount(LEE))
    assert scenario.shown(ACCOUNTS)[1]["disabled"]
    scenario.when(EnableAccount(LEE)).when(ChangePassword(LEE, "new"))
    assert not scenario.shown(ACCOUNTS)[1]["disabled"]
    scenario.given(e.AccountResealed(LEE, "f" * 64, "sealed anew", "sealed anew"))
    assert scenario.shown(ACCOUNTS)[1]["email_sealed"] == "sealed anew"


@pytest.mark.req("SE-09")
def test_the_account_of_an_erased_person_leaves_the_table():
    scenario = signed_in().when(start(S2, LEE)).after(minutes=1).when(ErasePerson(LEE))
    assert [row["id"] for row in scenario.shown(ACCOUNTS)] == [UUID(KIM)]
    assert [row["reason"] for row in scenario.shown(SESSIONS)] == [None, "erased"]
    assert scenario.after(hours=2).ticked().state.ended == {}
    scenario.when(ErasePerson("somebody of another issuer"))
    told = [row["type"] for row in scenario.shown(EVENTS)]
    assert (told.count("PersonErased"), told.count("AccountRemoved")) == (2, 1)


def test_an_archived_session_stays_as_history():
    scenario = signed_in().when(EndSession(S1)).after(hours=2).ticked()
    assert not scenario.state.ended
    assert scenario.shown(SESSIONS)[0]["reason"] == "signed_out"


@pytest.mark.req("SY-13")
def test_reuse_shows_as_an_alert():
    scenario = signed_in().when(refresh(0)).after(minutes=1).when(refresh(0))
    (alert,) = scenario.shown(ALERTS)
    assert (alert["kind"], alert["subject"]) == ("refresh_token_reused", S1)
    assert scenario.shown(SESSIONS)[0]["reason"] == "reuse"


@pytest.mark.req("SY-15")
def test_what_events_say_never_enters_events_only_type_and_ids():
    scenario = signed_in().when(refresh(0)).when(ChangePassword(KIM, "new sealed hash")).after(days=8).ticked()
    rows = scenario.shown(EVENTS)
    assert len(rows) == len(scenario.lines)
    assert {row["data"] for row in rows} == {"{}"}
    assert {entity for row in rows for entity in row["entities"]} == {KIM, LEE, S1}
    assert [row["type"] for row in rows[:4]] == ["AccountCreated", "AccountCreated", "SessionStarted", "RefreshRotated"]


@pytest.mark.req("SY-15")
def test_no_table_has_a_digest_a_hash_or_a_password():
    scenario = signed_in().when(refresh(0)).after(minutes=1).when(refresh(0)).when(ChangePassword(KIM, "a new hash"))
    everything = repr([scenario.shown(table) for table in IDENTITY_PROJECTION.tables])
    for line in scenario.lines:
        fields = msgspec.json.decode(line)
        for name in ("digest", "parent", "child", "email_hash", "password_sealed"):
            assert fields.get(name, "\0") not in everything, name


def test_rows_say_what_the_decider_knows_whatever_happens():
    dice = Random(7)
    scenario = Told()
    people = [KIM, LEE]
    scenario.given(created(KIM), created(LEE))
    for step in range(400):
        who = dice.choice(people)
        living = [*scenario.state.sessions]
        choice = dice.randrange(8)
        if choice < 3:
            revision = scenario.state.accounts[who].revision
            scenario.when(start(session_id(step), who, revision=revision, sessions_max=5))
        elif choice == 3 and living:
            scenario.when(refresh(dice.randrange(2), dice.choice(living)))
        elif choice == 4 and living:
            scenario.when(EndSession(dice.choice(living)))
        elif choice == 5:
            scenario.when(dice.choice([DisableAccount(who), EnableAccount(who)]))
        elif choice == 6:
            scenario.when(ChangeRole(who, dice.choice(["admin", "viewer"])))
        else:
            scenario.after(hours=dice.choice([0.01, 3, 50])).ticked()
    rows = {str(row["id"]): row for row in scenario.shown(SESSIONS)}
    assert {id_ for id_, row in rows.items() if row["ended_at"] is None} == scenario.state.sessions.keys()
    for id_, session in scenario.state.sessions.items():
        assert (rows[id_]["last_used_at"], rows[id_]["expires_at"]) == (session.last_used_at, session.expires_at)
    for row in scenario.shown(ACCOUNTS):
        account = scenario.state.accounts[str(row["id"])]
        assert (row["role"], row["disabled"], row["updated_at"], row["last_sign_in_at"]) == (
            account.role,
            account.disabled,
            account.updated_at,
            account.last_sign_in_at,
        )


def test_an_api_key_from_its_creation_to_its_end():
    scenario = Told()
    scenario.when(create()).after(minutes=1).when(RotateApiKey(K1, K2, YEAR_S, 3600))
    first, second = scenario.shown(API_KEYS)
    assert first == {
        "id": UUID(K1),
        "name": "back office",
        "role": "service_role",
        "created_at": NOON,
        "created_by": "user:x",
        "expires_at": NOON + timedelta(seconds=YEAR_S),
        "adopted": False,
        "device_id": None,
        "enrolment_id": None,
        "replaces": None,
        "successor_id": UUID(K2),
        "ends_at": NOON + timedelta(minutes=61),
    }
    assert (second["replaces"], second["successor_id"]) == (UUID(K1), None)
    assert scenario.shown(API_KEY_ENDS) == []
    scenario.after(hours=1).ticked()
    (end,) = scenario.shown(API_KEY_ENDS)
    assert end == {"id": UUID(K1), "revoked_at": scenario.now, "reason": "rotated"}
    scenario.after(days=365).ticked()
    assert len(scenario.shown(API_KEYS)) == 2, "expired keys stay in the read model"


def test_an_adopted_key_shows_nothing_of_its_token():
    scenario = Told()
    scenario.when(adopt())
    (row,) = scenario.shown(API_KEYS)
    assert row["adopted"] is True
    assert digest("old") not in repr([scenario.shown(API_KEYS), scenario.shown(EVENTS)])


def test_an_enrolment_gives_a_row_to_each_phone_and_ends_the_keys_before():
    scenario = Told()
    scenario.when(code()).after(minutes=1).when(enrol(1, 2)).when(enrol(1, 2, round_=2))
    (row,) = scenario.shown(ENROLMENTS)
    assert (row["pc_id"], row["devices"], row["used_at"], row["ended_at"]) == ("PC-1", 2, scenario.now, None)
    keys_of = scenario.shown(API_KEYS)
    assert [(key["name"], key["enrolment_id"], key["role"]) for key in keys_of] == [
        ("PC-1", UUID(ENROLMENT), "device")
    ] * 4
    ended = {end["id"] for end in scenario.shown(API_KEY_ENDS)}
    assert ended == {UUID(key.key_id) for key in keys(1, 2)}
    scenario.after(hours=1).ticked()
    assert scenario.shown(ENROLMENTS)[0]["reason"] == "expired"
    assert not {digest("code"), digest("nonce of the agent")} & {*repr(scenario.shown(EVENTS)).split("'")}
