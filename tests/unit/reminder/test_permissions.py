"""Who may see whose reminders."""

import pytest

from drover.service.api_keys import Role
from drover.web.auth import Principal
from drover.web.permissions import Permissions, Verb


def may(role: Role, relation: str, verb: Verb = Verb.READ) -> bool:
    return Permissions().may(Principal(role, "x", float("inf"), user_id="x"), relation, verb)


@pytest.mark.parametrize(
    ("role", "texts", "history"),
    [
        (Role.ANON, False, False),
        (Role.DEVICE, False, False),
        (Role.AUTHENTICATED, False, False),
        (Role.VIEWER, False, True),
        (Role.OPERATOR, True, True),
        (Role.ADMIN, True, True),
        (Role.SERVICE_ROLE, True, True),
    ],
)
def test_users_words_are_for_those_who_look_after_them(role, texts, history):
    assert may(role, "alarm") is texts
    for relation in ("user_info", "alarms_event", "push_subscriptions"):
        assert may(role, relation) is history


def test_people_have_alarms_of_their_own_and_keys_of_phones_have_none():
    for role in (Role.AUTHENTICATED, Role.VIEWER, Role.OPERATOR, Role.ADMIN):
        assert all(may(role, "my_alarms", verb) for verb in (Verb.READ, Verb.CREATE, Verb.UPDATE, Verb.DELETE))
        assert not may(role, "alarm", Verb.CREATE)
    for role in (Role.ANON, Role.DEVICE):
        assert not may(role, "my_alarms")
