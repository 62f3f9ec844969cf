"""When the streams of a process are woken: once for each batch, soon if there are few of them, seldom if many."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest
import uvloop

from drover.api.rows.hub import BATCH_S, RING_EVERY_MAX_S, RING_EVERY_S, STREAM_S, Hub
from drover.bus.rows import RowsChanged
from drover.testing.virtual_time import run_virtually


class Ears:
    """A hub with streams, and when they were woken."""

    def __init__(self, streams: int = 1) -> None:
        self.hub = Hub({})
        self.woken_at: list[float] = []
        self._open = ExitStack()
        for _ in range(streams):
            self._bell = self._open.enter_context(self.hub.listening())

    async def settled(self) -> Ears:
        """Its projector was heard of before, and some time ago."""
        self.tell("workers", 0)
        await asyncio.sleep(1.0)
        return self

    async def listen(self, for_s: float) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(for_s):
                while True:
                    await self._bell.listen().wait()
                    self.woken_at.append(round(loop.time() - began, 6))
        except TimeoutError:
            pass

    def tell(self, relation: str, after: int, *, more: bool = False) -> None:
        message = RowsChanged(epoch="e", partition="main", after=after, to=after + 1, more=more)
        self.hub.changed("fleet", relation, message)

    async def batches(self, number: int, every_s: float) -> None:
        for turn in range(number):
            self.tell("devices", turn)
            await asyncio.sleep(every_s)

    def close_all(self) -> None:
        self._open.close()


def test_the_messages_of_a_batch_wake_streams_once_with_the_last_of_them():
    async def main():
        ears = await Ears().settled()
        listening = asyncio.create_task(ears.listen(1.0))
        await asyncio.sleep(0)
        for relation in ("devices", "jobs"):
            ears.tell(relation, 0, more=True)
            await asyncio.sleep(0.01)
        ears.tell("job_assignments", 0)
        await listening
        assert ears.woken_at == [0.02]

    run_virtually(main())


def test_messages_that_come_at_the_same_moment_wake_streams_on_the_event_loop_of_the_product():
    async def main():
        ears = Ears()
        listening = asyncio.create_task(ears.listen(0.2))
        await asyncio.sleep(0)
        for relation in ("devices", "jobs", "job_assignments"):
            ears.tell(relation, 0)
        await listening
        assert ears.woken_at

    uvloop.run(main())


def test_if_the_rest_of_a_batch_is_lost_streams_are_woken_all_the_same():
    async def main():
        ears = await Ears().settled()
        listening = asyncio.create_task(ears.listen(1.0))
        await asyncio.sleep(0)
        ears.tell("devices", 0, more=True)
        await listening
        assert ears.woken_at == [BATCH_S]

    run_virtually(main())


@pytest.mark.parametrize(
    ("streams", "every_s"),
    [(1, RING_EVERY_S), (100, 100 * STREAM_S), (100_000, RING_EVERY_MAX_S)],
)
def test_the_more_streams_there_are_the_less_often_they_are_woken(streams, every_s):
    async def main():
        ears = await Ears(streams).settled()
        listening = asyncio.create_task(ears.listen(1.5))
        await asyncio.sleep(0)
        await ears.batches(400, 0.002)
        await listening
        gaps = [after - before for before, after in zip(ears.woken_at, ears.woken_at[1:], strict=False)]
        assert min(gaps) == pytest.approx(every_s, abs=0.003)
        assert max(gaps) == pytest.approx(every_s, abs=0.003)

    run_virtually(main())


def test_a_stream_that_is_closed_is_not_counted_any_more():
    async def main():
        ears = await Ears(1000).settled()
        ears.close_all()
        listening = asyncio.create_task(ears.listen(0.5))
        await asyncio.sleep(0)
        await ears.batches(100, 0.001)
        await listening
        assert len(ears.woken_at) >= 0.1 / RING_EVERY_S

    run_virtually(main())
