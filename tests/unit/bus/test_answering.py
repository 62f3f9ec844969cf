"""The end of a leader's term while its connection hangs, on a simulated NATS."""

import asyncio
from contextlib import AsyncExitStack

from nats.errors import NoRespondersError

from drover.bus.connection import connected
from drover.bus.server import answering
from drover.domain.decider import Command
from drover.testing.faults import faulty_line
from drover.testing.simulated_nats.server import SimulatedNats
from drover.testing.simulated_network import run_simulated
from drover.testing.waiting import eventually


async def hears(caller):
    """Whether anybody listens for commands."""
    try:
        await caller.request("cmd.a.main", b"[{}]", timeout=5)
    except NoRespondersError:
        return False
    return True


def test_a_term_that_ends_while_its_connection_hangs_hears_no_commands_after_the_reconnect():
    """It would answer them before the new leader does, and clients drop answers of a past term."""

    async def main():
        async with AsyncExitStack() as stack:
            server = await stack.enter_async_context(SimulatedNats(asyncio.get_running_loop()).running())
            caller = await stack.enter_async_context(connected(server.url, "caller"))
            line = await stack.enter_async_context(faulty_line("127.0.0.1", server.port))
            url = server.url.replace(str(server.port), str(line.port))
            client = await stack.enter_async_context(connected(url, "leader"))
            async with answering(client, "cmd.a.main", Command, 1, lambda submissions, done: done([])):
                await eventually(lambda: hears(caller))
                line.hold()
            await eventually(lambda: not client.is_connected)
            line.resume()
            await eventually(lambda: client.is_connected)
            assert not await hears(caller)

    run_simulated(main())
