"""The receiver of the demo's reminders: some are refused at first, few for good."""

from __future__ import annotations

from collections import Counter

import aiohttp

from drover.platform.settings import load
from drover.reminder.providers.choice import chosen_provider
from drover.reminder.settings import ReminderSettings
from drover.simulator.reminder_receiver import (
    FAILS_EVERY,
    GONE_EVERY,
    OWN_RECEIVER,
    REFUSALS,
    REMEMBERED_MAX,
    Receiver,
    demo_receiver,
)

SERVERS = {
    "DROVER_NATS_URL": "nats://x",
    "DROVER_NATS_SYSTEM_URL": "nats://x",
    "DROVER_POSTGRES_URL": "postgresql://x",
    "DROVER_JWT_SECRETS": "x" * 64,
}


def test_the_second_reminder_is_refused_twice_and_then_taken():
    receiver = Receiver()
    assert receiver.status_for("first") == 200
    assert [receiver.status_for("second") for _ in range(REFUSALS + 2)] == [503] * REFUSALS + [200, 200]
    assert receiver.status_for("first") == 200


def test_most_are_taken_some_refused_and_few_are_gone_for_good():
    receiver = Receiver()
    statuses = Counter(receiver.status_for(str(number)) for number in range(10 * GONE_EVERY))
    assert statuses[410] == 10
    assert statuses[503] == 10 * GONE_EVERY // FAILS_EVERY
    assert statuses[200] > 0.6 * statuses.total()
    assert receiver.status_for(str(GONE_EVERY - 1)) == 410


def test_it_remembers_a_bounded_number():
    receiver = Receiver()
    for number in range(REMEMBERED_MAX + 10):
        receiver.status_for(str(number))
    assert len(receiver._known) == REMEMBERED_MAX


async def test_its_settings_are_good_and_it_answers_over_http():
    async with demo_receiver() as settings, aiohttp.ClientSession() as session:
        reminder = load({**SERVERS, **settings})[ReminderSettings]
        assert chosen_provider(reminder).name == "webhook"
        assert all(name.startswith(OWN_RECEIVER) for name in settings)
        url = settings["DROVER_REMINDER_WEBHOOK_URL"]
        answers = [await session.post(url, json={"key": key, "title": "t"}) for key in ("a", "b")]
        assert [answer.status for answer in answers] == [200, 503]
        assert await answers[0].json() == {"id": "simulated-1"}
        assert (await session.post(url, data=b"nonsense")).status == 400
