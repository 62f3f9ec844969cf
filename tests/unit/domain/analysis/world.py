"""Scenarios of analyses: users, tests as far as a test wants them to have come. No expectations here."""

from __future__ import annotations

from datetime import timedelta

from drover.domain.analysis import ANALYSIS
from drover.domain.analysis import commands as c
from drover.domain.analysis import events as e
from drover.domain.analysis.state import User
from drover.domain.event import Event
from drover.testing.scenario import NOON, Scenario, given

ANN, BEN = "user_ann", "user_ben"
NOBODY = "user_nobody"


def numbered(number: int) -> str:
    return f"00000000-0000-7000-8000-{number:012d}"


def run_id(number: int) -> str:
    return f"11111111-0000-7000-8000-{number:012d}"


T1, T2, T3, T4 = map(numbered, range(1, 5))
R1, R2, R3 = map(run_id, range(1, 4))


def registered(user: str = ANN, tests: int = 10, tier: str = "free") -> e.UserRegistered:
    return e.UserRegistered(user, tier, tests)


def started(*tests: str, user: str = ANN, left: int = 10) -> list[Event]:
    """Of a user who had so many left."""
    events: list[Event] = []
    for place, test in enumerate(tests, 1):
        events += [e.TestStarted(test, user), e.TestCharged(test, user, left - place)]
    return events


def with_tests(*tests: str, user: str = ANN, tier: str = "free") -> Scenario:
    """A user who had ten tests left and has just started these."""
    return given(ANALYSIS, registered(user, tier=tier), *started(*tests, user=user))


def cleanup(run: str = R1, **options: object) -> c.Cleanup:
    return c.Cleanup(run, **options)


def by_cron(run: str = R1, hour: int = 12) -> c.Cleanup:
    return c.Cleanup(run, c.CRON, NOON + timedelta(hours=hour - 12))


def user_of(scenario: Scenario, user: str = ANN) -> User:
    return scenario.state.users[user]


def timed_out(test: str, run: str = R1, user: str = ANN) -> e.TestFailed:
    return e.TestFailed(test, user, "timeout", None, "시스템 타임아웃으로 자동 정리됨", run)


def kinds(scenario: Scenario) -> list[str]:
    return [type(event).__name__ for event in scenario.decision.events]
