"""Ended sessions: learnt from the log, from as far back as a token can live, and forgotten after that."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from drover.eventlog.log import Commit, Partition, StoredCommit
from drover.eventlog.memory import MemoryLog
from drover.testing.waiting import eventually
from drover.web import ended_sessions
from drover.web.ended_sessions import KEPT_S, EndedSessions

NOW = 1_800_000_000.0


class DatedLog(MemoryLog):
    """One whose commits were stored when a test says."""

    def __init__(self) -> None:
        super().__init__(Partition("identity"))
        self.gets = 0
        self._dates: dict[int, float] = {}

    async def write(self, at_s: float, *events: dict) -> int:
        last = await super().last()
        payload = b"".join(json.dumps(event).encode() + b"\n" for event in events)
        seq = await self.append(Commit(str(at_s), 1, payload), last.seq if last else 0)
        self._dates[seq] = at_s
        return seq

    def _dated(self, commit: StoredCommit) -> StoredCommit:
        at = datetime.fromtimestamp(self._dates[commit.seq], UTC)
        return StoredCommit(commit.seq, commit.id, commit.epoch, at, commit.payload)

    async def get(self, seq):
        self.gets += 1
        commit = await super().get(seq)
        return None if commit is None else self._dated(commit)

    def read(self, after):
        return _DatedReader(super().read(after), self._dated)


class _DatedReader:
    def __init__(self, inner, dated) -> None:
        self._inner, self._dated = inner, dated

    async def __aenter__(self):
        self._reader = await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error):
        return await self._inner.__aexit__(*error)

    async def next(self):
        return [self._dated(commit) for commit in await self._reader.next()]


def ended(session: str, reason: str = "signed_out") -> dict:
    return {"type": "SessionEnded", "session_id": session, "reason": reason}


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def log():
    return DatedLog()


@pytest.fixture
def clock():
    return Clock()


@pytest.mark.req("SY-13")
async def test_what_ended_before_and_what_ends_now_is_known(log, clock):
    told = []
    await log.write(NOW - KEPT_S - 1, ended("long ago"))
    await log.write(NOW - 100, {"type": "SessionStarted", "session_id": "alive"}, ended("before"))
    sessions = EndedSessions(log, told=told.append, clock=clock)
    assert sessions.why_not_ready()
    async with sessions.running():
        await eventually(lambda: sessions.why_not_ready() is None)
        assert "before" in sessions
        assert "long ago" not in sessions
        assert "alive" not in sessions
        await log.write(NOW, {"type": "Novel", "text": "SessionEnded"}, ended("now", "expired"))
        await eventually(lambda: "now" in sessions)
    assert told == ["expired"], "what happened before is not counted again"


async def test_it_does_not_read_the_whole_log_to_begin(log, clock):
    for number in range(500):
        await log.write(NOW - 100_000 + number, ended(f"old-{number}"))
    await log.write(NOW - 10, ended("new"))
    sessions = EndedSessions(log, clock=clock)
    async with sessions.running():
        await eventually(lambda: "new" in sessions)
    assert log.gets < 15
    assert len(sessions) == 1


async def test_they_are_forgotten_when_no_token_of_theirs_can_be_left(log, clock):
    sessions = EndedSessions(log, clock=clock)
    async with sessions.running():
        await log.write(NOW, ended("first"))
        await eventually(lambda: "first" in sessions)
        clock.now += KEPT_S + 1
        await log.write(clock.now, ended("second"))
        await eventually(lambda: "second" in sessions)
    assert "first" not in sessions


async def test_their_number_has_a_bound(log, clock, monkeypatch):
    monkeypatch.setattr(ended_sessions, "REMEMBERED_MAX", 3)
    sessions = EndedSessions(log, clock=clock)
    async with sessions.running():
        await log.write(NOW, *(ended(str(number)) for number in range(10)))
        await eventually(lambda: "9" in sessions)
    assert len(sessions) == 3


async def test_an_empty_log_is_ready_at_once(log, clock):
    sessions = EndedSessions(log, clock=clock)
    async with sessions.running():
        await eventually(lambda: sessions.why_not_ready() is None)
