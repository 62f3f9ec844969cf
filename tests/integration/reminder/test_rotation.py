"""A sealing key is rotated on a real NATS and a real Postgres, and the old one is retired."""

import base64

import msgspec
import pytest

from drover.service.sealing import Ring, UnknownSealingKey
from drover.service.subject_sealing import rewrap
from drover.web.alarm_texts import AlarmTexts
from tests.integration.reminder.test_erasure import (
    SECRET_TEXT,
    _files,
    drover,
    register_two,
    stored_key,
    texts_in_the_log,
)
from tests.subject_keys import served_keys

pytestmark = pytest.mark.req("SE-10")
SECOND = b"2" * 32


def setting(**keys: bytes) -> dict[str, str]:
    return {"DROVER_SEALING_KEYS": ",".join(f"{kid}:{base64.b64encode(key).decode()}" for kid, key in keys.items())}


BOTH = setting(k2=SECOND, k1=b"1" * 32)


async def opened_with(platform, ring, text):
    names = [partition.name for partition in platform.partitions]
    return (await AlarmTexts(served_keys(platform.nats, "reminder", ring=ring, partitions=names)).opener([text]))(
        "title", text
    )


async def test_after_a_rotation_the_old_key_can_be_retired(platform, tmp_path):
    await register_two(platform)
    (text, _) = await texts_in_the_log(platform)
    _, key = await stored_key(platform)
    said = await drover(platform, "sealing", "status", **BOTH)
    assert "reminder: k1 opens 2 keys of people and renders. `drover sealing rotate` changes that." in said
    assert "reminder: 2 of 2 keys are wrapped anew, with k2." in await drover(platform, "sealing", "rotate", **BOTH)
    assert await opened_with(platform, Ring({"k2": SECOND}), text) == SECRET_TEXT
    mark = base64.b64encode(key.wrap)
    assert [path for path, content in _files(tmp_path) if mark in content] == [], "the old wrap is overwritten"
    said = await drover(platform, "sealing", "status", **BOTH)
    assert "reminder: k2 opens 2 keys of people and renders." in said
    assert "reminder: k1 opens no key and nothing in the tables any more." in said
    assert "reminder: 0 of 2 keys are wrapped anew, with k2." in await drover(platform, "sealing", "rotate", **BOTH)


@pytest.mark.control
async def test_without_a_rotation_nothing_opens_after_the_old_key_is_retired(platform):
    await register_two(platform)
    (text, _) = await texts_in_the_log(platform)
    with pytest.raises(UnknownSealingKey):
        await opened_with(platform, Ring({"k2": SECOND}), text)


async def test_a_rotation_that_was_interrupted_is_completed_by_the_next_one(platform, tmp_path):
    await register_two(platform)
    partition, key = await stored_key(platform)
    # As if the leader had died after it had stored the new wrap, and before it had overwritten the old one.
    new = rewrap(Ring({"k2": SECOND, "k1": b"1" * 32}), "reminder", key)
    subject = f"key.reminder.{partition}.{key.token}"
    await platform.nats.jetstream().publish(subject, msgspec.json.encode(new), stream="KEYS_REMINDER")
    assert "reminder: k1 opens 2" in await drover(platform, "sealing", "status", **BOTH)
    assert "reminder: 2 of 2 keys are wrapped anew, with k2." in await drover(platform, "sealing", "rotate", **BOTH)
    assert (await stored_key(platform))[1] == new
    mark = base64.b64encode(key.wrap)
    assert [path for path, content in _files(tmp_path) if mark in content] == []


async def test_a_key_that_is_needed_and_gone_is_named_and_nothing_is_changed(platform):
    await register_two(platform)
    _, key = await stored_key(platform)
    only_new = setting(k2=SECOND)
    said = await drover(platform, "sealing", "status", code=1, **only_new)
    assert "reminder: k1 opens 2 keys of people and renders. It is NOT in the settings: put it back." in said
    said = await drover(platform, "sealing", "rotate", code=1, **only_new)
    assert "reminder: 2 keys cannot be opened" in said
    assert (await stored_key(platform))[1] == key
    said = await drover(platform, "doctor", code=1, **only_new)
    assert "reminder needs k1" in " ".join(said.split())
