"""Accounts: made once, changed by whoever may, never left without an admin."""

from __future__ import annotations

import pytest

from drover.domain.errors import Code
from drover.domain.identity import IDENTITY
from drover.domain.identity import events as e
from drover.domain.identity.commands import (
    ChangePassword,
    ChangeRole,
    CreateAccount,
    DisableAccount,
    EnableAccount,
    FindAccount,
    ReadAccount,
    ResealAccount,
)
from drover.domain.identity.policy import ACCOUNTS_MAX
from drover.domain.identity.state import Account
from drover.testing.scenario import NOON, given
from tests.unit.domain.identity.world import (
    KIM,
    LEE,
    PARK,
    S1,
    S2,
    created,
    digest,
    refresh,
    signed_in,
    start,
)


def create(account: str = LEE, email: str = "lee", **more) -> CreateAccount:
    return CreateAccount(account, digest(email), "sealed", "viewer", "sealed", **more)


def test_an_account_is_created_with_nothing_readable_in_it():
    (
        given(IDENTITY)
        .when(create())
        .then(e.AccountCreated(LEE, digest("lee"), "sealed", "viewer", "sealed"))
        .then_answers(account_id=LEE, role="viewer")
    )


def test_an_address_has_one_account_also_under_a_key_on_its_way_out():
    scenario = given(IDENTITY).when(create())
    scenario.when(create(PARK)).then_rejected(Code.UNIQUE_VIOLATION)
    scenario.when(create(PARK, "lee, new key", also_hashes=(digest("lee"),))).then_rejected(Code.UNIQUE_VIOLATION)
    scenario.when(create(LEE, "another")).then_rejected(Code.UNIQUE_VIOLATION)
    scenario.when(create(PARK, "park")).then(e.AccountCreated)


def test_there_is_a_bound_on_accounts():
    scenario = given(IDENTITY)
    account = Account(
        account_id=KIM,
        email_hash="",
        email_sealed="",
        role="viewer",
        password_sealed="",
        created_at=NOON,
        updated_at=NOON,
    )
    scenario.state.accounts = dict.fromkeys(map(str, range(ACCOUNTS_MAX)), account)
    scenario.when(create()).then_rejected(Code.CONFLICT, accounts_max=ACCOUNTS_MAX)


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (create("LEE"), "account_id"),
        (create(LEE + "\n"), "account_id"),
        (CreateAccount(LEE, "lee@example.com", "s", "viewer", "s"), "email_hash"),
        (CreateAccount(LEE, digest("x"), "", "viewer", "s"), "email_sealed"),
        (CreateAccount(LEE, digest("x"), "s", "root", "s"), "role"),
        (CreateAccount(LEE, digest("x"), "s", "viewer", "s" * 2001), "password_sealed"),
        (create(also_hashes=(digest("x"),) * 3), "also_hashes"),
        (ChangeRole(LEE, "service_role"), "role"),
        (start("S1"), "session_id"),
        (FindAccount(("lee@example.com",)), "email_hashes"),
    ],
)
def test_what_is_malformed_is_refused_without_repeating_it(command, field):
    scenario = given(IDENTITY).when(command).then_rejected(Code.VALIDATION_ERROR, field=field)
    assert "value" not in scenario.decision.rejection.details


def test_an_account_is_found_by_its_address_under_either_key():
    scenario = given(IDENTITY, created())
    for hashes in ((digest(KIM),), (digest("other key"), digest(KIM))):
        scenario.when(FindAccount(hashes)).then_nothing().then_answers(account_id=KIM, role="admin", revision=1)
    scenario.when(FindAccount((digest("nobody"),))).then_rejected(Code.NOT_FOUND)
    scenario.when(ReadAccount(KIM)).then_answers(account_id=KIM, disabled=False)
    scenario.when(ReadAccount(LEE)).then_rejected(Code.NOT_FOUND)


def test_a_changed_password_ends_all_sessions_but_the_one_that_changed_it():
    scenario = signed_in().when(start(S2)).when(ChangePassword(KIM, "new", keep_session_id=S1))
    scenario.then(e.PasswordChanged(KIM, "new"), e.SessionEnded).then_answers(ended=1)
    assert scenario.decision.events[1].session_id == S2
    scenario.when(refresh(0, S1)).then(e.RefreshRotated)
    scenario.when(ChangePassword(KIM, "newer")).then(e.PasswordChanged, e.SessionEnded)
    scenario.when(ChangePassword(LEE, "x")).then_rejected(Code.NOT_FOUND)


def test_a_changed_role_ends_the_sessions_whose_tokens_say_the_old_one():
    scenario = signed_in(LEE).when(ChangeRole(LEE, "admin")).then(e.RoleChanged(LEE, "admin"))
    scenario.when(ChangeRole(KIM, "viewer")).then(e.RoleChanged(KIM, "viewer"), e.SessionEnded)
    scenario.when(ChangeRole(KIM, "viewer")).then_nothing()


def test_a_disabled_account_is_signed_out_and_cannot_sign_in():
    scenario = signed_in(LEE).when(start(S2, LEE)).when(DisableAccount(LEE))
    scenario.then(e.AccountDisabled(LEE), e.SessionEnded)
    scenario.when(refresh(0, S2)).then_rejected(Code.NOT_FOUND, reason="disabled")
    scenario.when(start("99999999-0000-4000-8000-000000000000", LEE, revision=2)).then_rejected(Code.CONFLICT)
    scenario.when(DisableAccount(LEE)).then_nothing()
    scenario.when(EnableAccount(LEE)).then(e.AccountEnabled(LEE)).when(EnableAccount(LEE)).then_nothing()
    scenario.when(start("99999999-0000-4000-8000-000000000000", LEE, revision=3)).then(e.SessionStarted)


@pytest.mark.parametrize("command", [DisableAccount(KIM), ChangeRole(KIM, "operator")])
def test_the_last_admin_stays_one(command):
    scenario = given(IDENTITY, created(KIM, "admin"), created(LEE, "admin"), created(PARK, "viewer"))
    scenario.when(DisableAccount(LEE)).then(e.AccountDisabled)
    scenario.when(command).then_rejected(Code.CONFLICT)
    scenario.when(ChangeRole(PARK, "admin")).then(e.RoleChanged)
    assert not scenario.when(command).decision.rejection
    assert scenario.state.admins == 1


def test_an_account_is_put_under_other_keys_unless_it_has_changed_meanwhile():
    scenario = signed_in(LEE)
    again = ResealAccount(KIM, 1, digest("kim, new key"), "address resealed", "password resealed")
    scenario.when(again).then(e.AccountResealed(KIM, digest("kim, new key"), "address resealed", "password resealed"))
    scenario.when(FindAccount((digest("kim, new key"),))).then_answers(account_id=KIM, revision=1)
    scenario.when(FindAccount((digest(KIM),))).then_rejected(Code.NOT_FOUND)
    scenario.when(refresh(0)).then(e.RefreshRotated)
    scenario.when(ResealAccount(LEE, 1, digest("kim, new key"), "x", "x")).then_rejected(Code.UNIQUE_VIOLATION)
    scenario.when(ChangePassword(KIM, "new")).when(again).then_rejected(Code.CONFLICT)
