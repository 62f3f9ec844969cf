"""How long an agent waits after an answer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from drover.agent.backoff import RETRY_AFTER_MAX_S, AgentBackoff
from drover.agent.client import retry_after_s
from drover.agent.protocol import NO_ANSWER, NO_CONNECTION, Answer

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


def pauses(backoff: AgentBackoff, *answers: Answer) -> list[float]:
    now, waited = 0.0, []
    for answer in answers:
        waited.append(backoff.pause_after(answer, now))
        now += waited[-1]
    return waited


@pytest.mark.parametrize("answer", [NO_CONNECTION, NO_ANSWER, Answer(500), Answer(503), Answer(401), Answer(404)])
@pytest.mark.req("DF-12")
def test_errors_back_off_to_a_minute(answer):
    assert pauses(AgentBackoff(), *[answer] * 7) == [5, 10, 20, 40, 60, 60, 60]


def test_a_good_answer_ends_the_backoff():
    assert pauses(AgentBackoff(), Answer(500), Answer(500), Answer(204), Answer(500)) == [5, 10, 0, 5]


@pytest.mark.req("DF-28")
def test_a_429_is_obeyed_and_without_a_time_means_a_minute():
    assert pauses(AgentBackoff(), Answer(429, 7)) == [7]
    assert pauses(AgentBackoff(), Answer(429)) == [60]


@pytest.mark.req("DF-19")
def test_three_429_in_a_row_stop_the_device_for_five_minutes():
    assert pauses(AgentBackoff(), *[Answer(429, 2)] * 4) == [2, 2, 300, 2]
    assert pauses(AgentBackoff(), Answer(429, 2), Answer(429, 2), Answer(204), Answer(429, 2)) == [2, 2, 0, 2]


def test_an_overloaded_platform_can_ask_for_more_than_the_backoff_but_not_for_less():
    assert pauses(AgentBackoff(), Answer(503, 2), Answer(503, 30)) == [5, 30]


def test_nothing_makes_an_agent_wait_for_ever():
    assert pauses(AgentBackoff(), Answer(429, 1e9)) == [RETRY_AFTER_MAX_S]


@pytest.mark.req("DF-27")
def test_after_five_minutes_without_a_connection_the_agent_knocks_every_ten_seconds():
    waited = pauses(AgentBackoff(), *[NO_CONNECTION] * 12)
    assert waited[:8] == [5, 10, 20, 40, 60, 60, 60, 60]
    assert waited[8:] == [10, 10, 10, 10]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("120", 120),
        ("Mon, 05 Jan 2026 12:00:30 GMT", 30),
        ("Mon, 05 Jan 2026 11:00:00 GMT", 0),
        ("soon", None),
        ("-5", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(header, seconds):
    assert retry_after_s(header, NOW) == seconds
