"""What `drover erase user` says."""

from __future__ import annotations

import pytest

from drover.cli.erase import told
from drover.cli.errors import ErasureRefused, NothingToErase
from drover.cli.exits import Exit, exit_code_of
from drover.web.erasing import ErasedUser

pytestmark = pytest.mark.req("SE-09")


def erased(*, had_account: bool, alarms: int) -> ErasedUser:
    contexts = ["identity", "reminder"]
    return ErasedUser(user_id="kim", contexts=contexts, had_account=had_account, alarms=alarms, is_complete=True)


def test_it_says_what_was_removed():
    said = told(erased(had_account=True, alarms=2))
    assert said == "Erased: the keys of kim are destroyed. Their account is removed. Alarms deleted: 2."
    assert "account" not in told(erased(had_account=False, alarms=2))


def test_a_mistyped_id_does_not_look_like_success():
    assert told(erased(had_account=False, alarms=0)).endswith("check it if you expected some.")


def test_a_render_that_does_not_exist_has_the_exit_code_of_that():
    assert exit_code_of(NothingToErase("NOT_FOUND", "Render not found")) is Exit.NOT_FOUND
    assert exit_code_of(ErasureRefused("CONFLICT", "It has not ended")) is Exit.FAILED
