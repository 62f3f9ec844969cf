"""Callers that are refused are reported to the writer that the process may command, and never too many at once."""

from __future__ import annotations

import asyncio

import pytest

from drover.bus.messages import Accepted
from drover.domain.limited_callers import ReportLimited
from drover.eventlog.log import Partition
from drover.hosting import limited_callers
from drover.hosting.limited_callers import LimitedCallers
from drover.platform.registry import REGISTRY
from drover.testing.waiting import eventually
from tools.nats_users import USERS

pytestmark = pytest.mark.req("SE-05")


class Bus:
    def __init__(self) -> None:
        self.sent = []
        self.go = asyncio.Event()

    async def send(self, context, command, *, by, id=None, trace=None, partition="main"):
        self.sent.append((context, partition, command, by))
        await self.go.wait()
        return Accepted(1)


async def test_a_caller_is_reported():
    bus = Bus()
    LimitedCallers(bus, Partition("reminder", "p0")).report("user:kim")
    await eventually(lambda: bus.sent)
    assert bus.sent == [("reminder", "p0", ReportLimited("user:kim"), "limits")]


async def test_reports_that_wait_for_the_writer_are_bounded(monkeypatch):
    monkeypatch.setattr(limited_callers, "UNDER_WAY_MAX", 2)
    bus = Bus()
    reporter = LimitedCallers(bus, Partition("fleet"))
    for number in range(5):
        reporter.report(f"user:{number}")
    await eventually(lambda: len(bus.sent) == 2)
    bus.go.set()
    await eventually(lambda: not reporter._under_way)
    assert len(bus.sent) == 2


def test_each_service_with_routes_for_tokens_tells_a_writer_that_its_nats_user_may_command():
    telling = {name: service.tells for name, service in REGISTRY.items() if service.tells is not None}
    guarded = {
        name
        for name, service in REGISTRY.items()
        for handlers in service.handlers
        for member in vars(handlers).values()
        for route in getattr(member, "__routes__", ())
        if route.caller == "token"
    }
    assert telling.keys() == guarded
    assert all(context in USERS[name].commands for name, context in telling.items())
