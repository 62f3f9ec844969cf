"""Which API keys were used: found out without a step more in authentication, told once a minute."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from drover.service.api_keys import Role, digest_of, issue_api_key
from drover.web import auth
from drover.web.auth import Authenticator
from drover.web.errors import ApiError
from drover.web.key_bucket import Adopted
from drover.web.key_uses import KeyUses
from tests.unit.web.known_keys import KnownKeys
from tests.unit.web.test_api_keys import KEY_ID, NOW, SECRET, SHARED, signed

pytestmark = pytest.mark.req("SE-01")

OTHER_ID = "eeeeeeee-0000-4000-8000-000000000002"
THEN = datetime(2026, 11, 17, tzinfo=UTC)


@pytest.fixture
def keys() -> KnownKeys:
    return KnownKeys(SECRET)


@pytest.fixture
def authenticator(keys) -> Authenticator:
    return Authenticator((SHARED,), keys=keys, clock=lambda: NOW)


def use(authenticator, *tokens: str) -> None:
    for token in tokens:
        authenticator.authenticate({"apikey": token})


def test_each_look_finds_the_keys_that_were_used_since_the_one_before(authenticator):
    one, two = signed(), signed(key_id=OTHER_ID)
    use(authenticator, one, two, one)
    assert authenticator.take_used_keys() == {KEY_ID, OTHER_ID}
    assert authenticator.take_used_keys() == set()
    use(authenticator, two)
    assert authenticator.take_used_keys() == {OTHER_ID}
    assert authenticator.take_used_keys() == set()
    use(authenticator, one, two)
    assert authenticator.take_used_keys() == {KEY_ID, OTHER_ID}


def test_a_refused_key_was_not_used(keys, authenticator):
    use(authenticator, signed())
    authenticator.take_used_keys()
    keys.revoke(KEY_ID)
    with pytest.raises(ApiError):
        use(authenticator, signed())
    assert authenticator.take_used_keys() == set()


def test_an_adopted_key_is_found_by_its_id_and_one_without_a_record_is_not(keys, authenticator):
    anon, service = (issue_api_key(SHARED, role, now_s=NOW) for role in (Role.ANON, Role.SERVICE_ROLE))
    keys.by_digest[digest_of(anon)] = Adopted(digest_of(anon), "anon", NOW + 10, None, KEY_ID)
    use(authenticator, anon, service)
    assert authenticator.take_used_keys() == {KEY_ID}


def test_a_caller_that_is_not_cached_counts_too(authenticator, monkeypatch):
    monkeypatch.setattr(auth, "REMEMBERED_CHARS_MAX", 10)
    use(authenticator, signed())
    assert authenticator.take_used_keys() == {KEY_ID}
    assert authenticator.take_used_keys() == set()


def test_a_full_or_a_cleared_cache_loses_no_use(keys, authenticator, monkeypatch):
    monkeypatch.setattr(auth, "VERIFIED_MAX", 2)
    use(authenticator, signed())
    authenticator.take_used_keys()
    use(authenticator, signed(key_id=OTHER_ID), signed())  # pushes the mark out
    assert authenticator.take_used_keys() == {KEY_ID, OTHER_ID}
    keys.version += 1
    use(authenticator, signed())
    assert authenticator.take_used_keys() == {KEY_ID}


class Out:
    def __init__(self) -> None:
        self.collected: list[tuple[str, datetime]] = []
        self.sent: list[list[tuple[str, datetime]]] = []

    def beat(self, device_id, seen_at, reported):
        self.collected.append((device_id, seen_at))

    async def flush(self):
        self.sent.append(self.collected)
        self.collected = []


async def test_uses_are_told_now_and_then_and_at_the_end_and_no_empty_ones(authenticator):
    out = Out()
    uses = KeyUses(authenticator, out, every_s=3600, clock=lambda: THEN)
    await uses.tell()
    assert out.sent == []
    async with uses.running():
        use(authenticator, signed())
        await asyncio.sleep(0)
    assert out.sent == [[(KEY_ID, THEN)]]
