"""Start, ready, drain: order, bounds, exit codes, signals."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import asynccontextmanager

import pytest

from drover.service.health import Health
from drover.service.lifecycle import EXIT_FORCED, Component, Phase, run


@pytest.fixture
def happened() -> list[str]:
    return []


def component(happened, name, phase, *, failure=None, start=None, stop=None):
    @asynccontextmanager
    async def context():
        if start is not None:
            await start()
        happened.append(f"start {name}")
        yield
        if stop is not None:
            await stop()
        happened.append(f"stop {name}")

    return Component(name, phase, context(), failure)


def sigterm() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


async def raises() -> None:
    raise RuntimeError("broken")


async def never() -> None:
    await asyncio.Event().wait()


async def test_components_drain_edges_first_and_start_the_other_way_round(happened):
    components = [
        component(happened, "http", Phase.EDGE),
        component(happened, "push", Phase.REACTOR),
        component(happened, "writer", Phase.WRITER),
        component(happened, "nats", Phase.SERVER),
        component(happened, "pool", Phase.SERVER),
        component(happened, "projector", Phase.PROJECTOR),
    ]
    assert await run(components, Health(), grace_s=1, on_ready=sigterm) == 0
    assert happened == [
        *("start nats", "start pool", "start projector", "start writer", "start push", "start http"),
        *("stop http", "stop push", "stop writer", "stop projector", "stop pool", "stop nats"),
    ]


async def test_a_process_is_ready_only_between_start_and_drain(happened):
    health = Health()
    seen: list[dict[str, str]] = []

    async def look() -> None:
        seen.append(health.not_ready())

    def ready() -> None:
        seen.append(health.not_ready())
        sigterm()

    await run([component(happened, "a", Phase.EDGE, start=look, stop=look)], health, grace_s=1, on_ready=ready)
    assert seen == [{"process": "The process is starting."}, {}, {"process": "The process is draining."}]


async def test_a_component_that_fails_drains_the_others_and_exits_with_one(happened):
    components = [
        component(happened, "a", Phase.EDGE, failure=never),
        component(happened, "b", Phase.WRITER, failure=raises),
    ]
    assert await run(components, Health(), grace_s=1) == 1
    assert happened == ["start b", "start a", "stop a", "stop b"]


async def test_a_start_that_fails_drains_what_had_started(happened):
    components = [component(happened, "a", Phase.SERVER), component(happened, "b", Phase.EDGE, start=raises)]
    assert await run(components, Health(), grace_s=1) == 1
    assert happened == ["start a", "stop a"]


async def test_a_signal_during_the_start_interrupts_it(happened):
    async def endless() -> None:
        sigterm()
        await never()

    components = [component(happened, "a", Phase.SERVER), component(happened, "b", Phase.EDGE, start=endless)]
    assert await run(components, Health(), grace_s=1) == 0
    assert happened == ["start a", "stop a"]


async def test_a_component_that_does_not_drain_in_time_is_abandoned(happened):
    components = [component(happened, "stuck", Phase.EDGE, stop=never), component(happened, "b", Phase.SERVER)]
    assert await run(components, Health(), grace_s=0.01, on_ready=sigterm) == 1
    assert happened[-1] == "stop b"


def test_a_second_signal_exits_at_once():
    program = textwrap.dedent("""
        import asyncio, contextlib, sys
        from drover.service.health import Health
        from drover.service.lifecycle import Component, Phase, run

        @contextlib.asynccontextmanager
        async def stuck():
            yield
            print("draining", flush=True)
            await asyncio.Event().wait()

        ready = lambda: print("ready", flush=True)
        sys.exit(asyncio.run(run([Component("stuck", Phase.EDGE, stuck())], Health(), grace_s=60, on_ready=ready)))
    """)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        _wait_for_line(process, "ready")
        process.send_signal(signal.SIGINT)
        _wait_for_line(process, "draining")
        process.send_signal(signal.SIGINT)
        assert process.wait(50) == EXIT_FORCED  # before its grace is over


def _wait_for_line(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:  # logs go to stdout too, as long as nobody configured them
        if line.strip() == word:
            return
    raise AssertionError(f"the process ended without {word}")


def test_checks_answer_in_words_and_a_broken_one_is_a_reason():
    health = Health()
    health.started()
    health.add_ready("log", lambda: None)
    health.add_ready("roster", lambda: "The roster is 12 commits behind.")
    health.add_ready("broken", lambda: str(1 / 0))
    assert health.not_ready() == {
        "roster": "The roster is 12 commits behind.",
        "broken": "The check itself failed: ZeroDivisionError('division by zero')",
    }
