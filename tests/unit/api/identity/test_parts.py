"""The issuer's small parts: passwords in earnest, names of clients, what is counted."""

from __future__ import annotations

import asyncio
import threading

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import VerifyMismatchError

from drover.api.identity import passwords
from drover.api.identity.metrics import count_end
from drover.api.identity.passwords import AT_ONCE_MAX, PURPOSE, Passwords
from drover.api.identity.personal_data import PersonalData
from drover.api.identity.user_agents import label
from drover.domain.erasure import parse_sealed
from drover.domain.identity.policy import USER_AGENT_CHARS_MAX
from drover.domain.identity.subjects import person, person_token
from drover.service.sealing import Ring, SealDamaged, Sealer
from drover.web.errors import ApiError
from tests.subject_keys import RING, Leaders, local_keys
from tests.unit.api.identity.conftest import CHEAP
from tests.unit.api.identity.test_sign_in import metric

PERSONAL = PersonalData(local_keys("identity"))
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"


async def test_a_password_is_argon2id_as_it_should_be_and_sealed():
    kept = Passwords(PERSONAL)
    sealed = await kept.sealed("correct horse battery", "kim")
    opener = await PERSONAL.opener([sealed])
    hashed = opener.open(sealed, subject=person("kim"), purpose=PURPOSE, before="")
    assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert await kept.matches("correct horse battery", sealed, "kim")
    assert not await kept.matches("correct horse batter", sealed, "kim")
    assert not await kept.matches("", sealed, "kim")
    assert not await kept.matches("\ud800", sealed, "kim")
    with pytest.raises(SealDamaged):
        opener.open(sealed, subject=person("lee"), purpose=PURPOSE, before="lee")
    assert not await kept.matches("correct horse battery", sealed, "lee"), "a hash that was moved to another account"


def test_what_is_checked_without_an_account_takes_the_work_of_a_real_hash():
    for hasher in (PasswordHasher(), CHEAP):
        kept, another = Passwords(PERSONAL, hasher), Passwords(PERSONAL, hasher)
        real = hasher.hash("correct horse battery")
        assert extract_parameters(kept._nobodys) == extract_parameters(real)
        assert len(kept._nobodys) == len(real)
        assert kept._nobodys != another._nobodys
        with pytest.raises(VerifyMismatchError):  # it is computed and compared; a malformed hash is another error
            hasher.verify(kept._nobodys, "correct horse battery")


@pytest.mark.req("SE-09")
async def test_a_password_that_an_earlier_version_sealed_is_right_and_sealed_anew_with_the_key_of_its_person():
    kept = Passwords(PERSONAL, CHEAP)
    before = Sealer(RING).seal(CHEAP.hash("correct horse battery").encode(), context=PURPOSE, subject="kim")
    assert await kept.matches("correct horse battery", before, "kim")
    assert not await kept.matches("wrong", before, "kim")
    anew = await kept.resealed(before, "kim")
    assert parse_sealed(anew).ref.token == person_token("kim")
    assert await kept.matches("correct horse battery", anew, "kim")
    assert await kept.resealed(anew, "kim") == anew, "its key is wrapped anew instead"


@pytest.mark.req("SE-09")
async def test_a_password_whose_key_is_destroyed_is_wrong_after_the_same_work():
    leaders = Leaders()
    kept = Passwords(PersonalData(local_keys("identity", leaders=leaders)), CHEAP)
    sealed = await kept.sealed("correct horse battery", "kim")
    assert not await kept.matches("correct horse battery", None, ""), "makes the decoy"
    asked = []
    for text in (sealed, None):
        leaders.store.kept.pop(("main", person_token("kim")), None)
        leaders.questions.clear()
        assert not await kept.matches("correct horse battery", text, "kim")
        asked.append([len(question.fetch) for question in leaders.questions])
    assert asked == [[1], [1]]


@pytest.mark.req("SE-09")
async def test_a_decoy_whose_key_was_lost_is_made_anew():
    leaders = Leaders()
    kept = Passwords(PersonalData(local_keys("identity", leaders=leaders)), CHEAP)
    for _ in range(3):
        leaders.store.kept.clear()
        assert not await kept.matches("correct horse battery", None, "")


async def test_who_has_a_key_of_their_own_can_sign_in_after_a_sealing_key_was_lost():
    leaders = Leaders()
    before = Passwords(PersonalData(local_keys("identity", leaders=leaders)), CHEAP)
    lost = await before.sealed("correct horse battery", "kim")
    assert not await before.matches("correct horse battery", None, "")
    for ring in (Ring({"k2": b"2" * 32}), Ring({"k1": b"another key of the same name....."[:32]})):
        kept = Passwords(PersonalData(local_keys("identity", ring=ring, leaders=leaders)), CHEAP)
        assert not await kept.matches("correct horse battery", lost, "kim")
        assert not await kept.matches("correct horse battery", None, "")
        sealed = await kept.sealed("correct horse battery", ring.current)
        assert await kept.matches("correct horse battery", sealed, ring.current)
        with pytest.raises(ApiError) as caught:
            await kept.sealed("correct horse battery", "kim")
        assert caught.value.status == 503


async def test_few_are_hashed_at_once_and_not_on_the_loop():
    kept = Passwords(PERSONAL, CHEAP)
    inside, most, lock = 0, 0, threading.Lock()
    both = threading.Barrier(AT_ONCE_MAX)
    where = set()

    def work() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
            where.add(threading.current_thread().name)
        both.wait(30)
        with lock:
            inside -= 1

    await asyncio.gather(*(kept._in_thread(work) for _ in range(AT_ONCE_MAX * 5)))
    assert most == AT_ONCE_MAX
    assert all(name.startswith("argon2") for name in where)


async def test_a_queue_that_is_full_turns_people_away_and_empties_again(monkeypatch):
    monkeypatch.setattr(passwords, "WAITING_MAX", 3)
    kept = Passwords(PERSONAL, CHEAP)
    gate = threading.Event()
    waiting = [asyncio.create_task(kept._in_thread(lambda: gate.wait(30))) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(ApiError) as caught:
        await kept._in_thread(lambda: None)
    assert (caught.value.status, caught.value.code) == (503, "OVERLOADED")
    gate.set()
    assert await asyncio.gather(*waiting) == [True] * 3
    assert await kept._in_thread(lambda: "again") == "again"


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (CHROME, "Chrome on Linux"),
        (CHROME.replace("Safari", "Edg/140.0 Safari"), "Edge on Linux"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Windows"),
        ("supabase-py/2.34.1", "supabase-py"),
        ("supabase-js-node/2.60.0", "Supabase client"),
        ("curl/8.0", "curl"),
        ("Linux", "Unknown client on Linux"),
        ("\x1b[31mevil\x00" * 1000, "Unknown client"),
        ("", "Unknown client"),
        (None, "Unknown client"),
    ],
)
def test_a_client_has_a_name_and_its_header_is_kept_nowhere(header, name):
    assert label(header) == name
    assert len(label(header)) <= USER_AGENT_CHARS_MAX


@pytest.mark.req("SY-14")
def test_sign_outs_are_counted_by_reason_and_new_reasons_together():
    before = {reason: metric("drover_sign_outs_total", reason=reason) for reason in ("expired", "other")}
    count_end("expired")
    count_end("a reason of a newer version")
    count_end("and another")
    assert metric("drover_sign_outs_total", reason="expired") == before["expired"] + 1
    assert metric("drover_sign_outs_total", reason="other") == before["other"] + 2
