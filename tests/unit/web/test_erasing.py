"""In which order a person is erased, what is said if not everything was done, and which renders are looked for when
one is to be erased."""

from __future__ import annotations

import asyncpg
import pytest

from drover.bus.messages import Accepted, Rejected
from drover.bus.subject_keys import KeyAnswer
from drover.domain.erasure import token_of
from drover.domain.identity import IDENTITY
from drover.domain.identity.subjects import person_token
from drover.domain.reminder import REMINDER
from drover.projection.positions import POSITION_HEADER
from drover.service.subject_sealing import KeysUnreachable
from drover.testing.scenario import Scenario
from drover.web.commands import Origin
from drover.web.erasing import Eraser
from drover.web.errors import ApiError
from tests.unit.domain.identity.world import KIM, LEE, created

pytestmark = pytest.mark.req("SE-09")


class Int4:
    """A database with no renders, whose ids have 4 bytes."""

    async def fetch(self, query, *args, timeout=None):  # noqa: ASYNC109
        if not all(-(2**31) <= arg < 2**31 for arg in args):
            raise asyncpg.DataError("value out of int32 range")
        return []


@pytest.mark.parametrize("render_id", [0, 2**31 - 1, 2**31, 2**53, -(2**31) - 1])
async def test_a_render_that_cannot_be_there_is_not_found(render_id):
    eraser = Eraser(None, Int4(), None, {"identity": ["main"], "reminder": ["main"], "render": ["main"]})
    with pytest.raises(ApiError) as caught:
        await eraser.erase_render(render_id, Origin(by="admin"))
    assert caught.value.status == 404


class Leaders:
    """Deciders and keys of all contexts: what is sent, and in which order."""

    def __init__(self):
        self.deciders = {decider.context: Scenario(decider) for decider in (IDENTITY, REMINDER)}
        self.steps = []
        self.keys_away = False

    async def send(self, context, command, **about):
        decision = self.deciders[context].when(command).decision
        if decision.rejection is not None:
            return Rejected(decision.rejection.code, decision.rejection.message)
        self.steps.append((context, *(type(event).__name__ for event in decision.events)))
        return Accepted(1, self.deciders[context].decider.answer(decision.events))

    def ask(self, context):
        async def ask(partition, question, patience_s):
            if self.keys_away:
                raise KeysUnreachable("nobody leads")
            self.steps.append((context, "destroys", *question.destroy))
            return KeyAnswer(erased=dict.fromkeys(question.destroy, 1))

        return ask

    async def fetch(self, query, *args, timeout=None):  # noqa: ASYNC109
        return [{"seq": 1}] if "checkpoints" in query else []


@pytest.fixture
def leaders():
    return Leaders()


@pytest.fixture
def eraser(leaders):
    return Eraser(leaders, leaders, leaders.ask, {name: ["main"] for name in ("identity", "reminder", "render")})


ORIGIN = Origin(by="admin")
IN_REMINDER = (("reminder", "UserErased"), ("reminder", "destroys", token_of("reminder", LEE)))
KEY = ("identity", "destroys", person_token(LEE))


async def test_a_person_is_erased_in_both_contexts_each_time_the_event_first_and_then_the_key(leaders, eraser):
    leaders.deciders["identity"].given(created(KIM), created(LEE, "viewer"))
    done, positions = await eraser.erase_user(LEE, ORIGIN)
    assert positions == {POSITION_HEADER: "identity=1,reminder=1"}
    assert (done.contexts, done.had_account, done.is_complete) == (["identity", "reminder"], True, True)
    assert leaders.steps == [("identity", "PersonErased", "AccountRemoved"), KEY, *IN_REMINDER]


async def test_an_erasure_that_died_between_event_and_key_is_completed_by_the_next_one(leaders, eraser):
    leaders.deciders["identity"].given(created(KIM), created(LEE, "viewer"))
    leaders.keys_away = True
    with pytest.raises(ApiError) as caught:
        await eraser.erase_user(LEE, ORIGIN)
    assert (caught.value.status, "The erasure is recorded" in caught.value.message) == (503, True)
    assert caught.value.headers[POSITION_HEADER] == "identity=1", "so that it is in the audit"
    leaders.keys_away = False
    leaders.steps.clear()
    done, _ = await eraser.erase_user(LEE, ORIGIN)
    assert (done.contexts, done.had_account) == (["identity", "reminder"], False), "the account is gone already"
    assert leaders.steps == [("identity", "PersonErased"), KEY, *IN_REMINDER]


async def test_the_last_admin_is_refused_and_nothing_is_erased(leaders, eraser):
    leaders.deciders["identity"].given(created(KIM))
    with pytest.raises(ApiError) as caught:
        await eraser.erase_user(KIM, ORIGIN)
    assert (caught.value.status, caught.value.message) == (409, "This is the last admin: make somebody else one first")
    assert leaders.steps == []


async def test_somebody_whose_id_reminders_cannot_have_is_erased_in_identity(leaders, eraser):
    done, _ = await eraser.erase_user("https://issuer.example.com/kim", ORIGIN)
    assert (done.contexts, done.had_account, done.alarms, done.is_complete) == (["identity"], False, 0, True)
    assert [step[0] for step in leaders.steps] == ["identity", "identity"]


@pytest.mark.parametrize("user_id", ["", "\n", "x" * 201, "\ud800"])
async def test_an_id_that_nobody_can_have_is_refused(leaders, eraser, user_id):
    with pytest.raises(ApiError) as caught:
        await eraser.erase_user(user_id, ORIGIN)
    assert (caught.value.status, leaders.steps) == (400, [])
