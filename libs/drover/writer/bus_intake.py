"""Connects a writer to the bus during a term. Through it the writer receives commands, probes (questions whether it
would accept a command), and requests for the keys of its subjects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from nats.aio.client import Client

from drover.bus.messages import Rejected, Submission
from drover.bus.server import Done, answering
from drover.writer.acceptance import answering_probes
from drover.writer.intake import BatchPending, BatchSink
from drover.writer.key_server import serving_keys
from drover.writer.writer import Serve, Writer


def bus_intake(client: Client) -> Serve:
    """Make the function that connects a writer to the bus while it leads: it receives commands on
    `cmd.<context>.<partition>`, answers probes, and serves keys."""

    @asynccontextmanager
    async def serve(writer: Writer[Any], epoch: int) -> AsyncIterator[None]:
        def handle(submissions: list[Submission[Any] | Rejected], done: Done) -> None:
            sink = BatchSink(len(submissions), done)
            pending = []
            for index, submission in enumerate(submissions):
                if isinstance(submission, Rejected):
                    sink.settle(index, submission)
                else:
                    pending.append(BatchPending(submission, sink, index))
            writer.intake.put_all(pending)

        subject = f"cmd.{writer.partition.context}.{writer.partition.name}"
        async with (
            answering(client, subject, writer.decider.commands, epoch, handle),
            answering_probes(client, writer),
            serving_keys(client, writer),
        ):
            yield

    return serve
