"""The issuer's small parts: passwords in earnest, names of clients, what is counted."""

from __future__ import annotations

import asyncio
import base64
import threading

import pytest

from drover.api.identity import passwords
from drover.api.identity.metrics import count_end
from drover.api.identity.passwords import AT_ONCE_MAX, CONTEXT, Passwords
from drover.api.identity.user_agents import label
from drover.domain.identity.policy import USER_AGENT_CHARS_MAX
from drover.service.sealing import SealDamaged, Sealer
from drover.web.errors import ApiError
from tests.unit.api.identity.conftest import CHEAP
from tests.unit.api.identity.test_sign_in import metric

SEALER = Sealer.from_settings([f"k:{base64.b64encode(b'k' * 32).decode()}"])
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"


async def test_a_password_is_argon2id_as_it_should_be_and_sealed():
    kept = Passwords(SEALER)
    sealed = await kept.sealed("correct horse battery", "kim")
    hashed = SEALER.open(sealed, context=CONTEXT, subject="kim").decode()
    assert hashed.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert await kept.matches("correct horse battery", sealed, "kim")
    assert not await kept.matches("correct horse batter", sealed, "kim")
    assert not await kept.matches("", sealed, "kim")
    assert not await kept.matches("\ud800", sealed, "kim")
    with pytest.raises(SealDamaged):
        await kept.matches("correct horse battery", sealed, "lee")


async def test_few_are_hashed_at_once_and_not_on_the_loop():
    kept = Passwords(SEALER, CHEAP)
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
    kept = Passwords(SEALER, CHEAP)
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
