"""Connects the bus to a writer's intake for the length of a term."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

from nats.aio.client import Client

from drover.bus.messages import Rejected, Submission
from drover.bus.server import Done, answering
from drover.writer.intake import BatchPending, BatchSink
from drover.writer.writer import Serve, Writer


def commands_over(client: Client) -> Serve:
    """Serve `cmd.<context>.<partition>` while the writer leads."""

    def serve(writer: Writer[Any], epoch: int) -> AbstractAsyncContextManager[None]:
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
        return answering(client, subject, writer.decider.commands, epoch, handle)

    return serve
