"""What the simulation does not know it refuses by name, instead of inventing an answer."""

import pytest

from drover.testing.simulated_nats.wire import OperationReader, Unreadable
from tests.contract.nats.conftest import refused

pytestmark = pytest.mark.asyncio(loop_factories=["simulated"])


def not_known(what):
    return refused(0, f"The simulated NATS does not know {what}")


async def test_an_option_of_a_stream(stream):
    with not_known("the options ['retention'] of a stream"):
        await stream.create(retention="workqueue")


async def test_atomic_batches_where_old_messages_go(stream):
    with not_known("atomic batches in a stream that discards old messages"):
        await stream.create(allow_atomic=True, discard="old")


async def test_a_change_of_a_stream(stream):
    with not_known("an update of ['subjects']"):
        await stream.update(subjects=["another"])


async def test_a_kind_of_consumer(stream):
    with not_known("consumers of the kind ('all', 'explicit', None)"):
        await stream.api("CONSUMER.CREATE", {"config": {"deliver_policy": "all", "ack_policy": "explicit"}})


async def test_a_request_of_the_api(stream):
    with not_known(f"$JS.API.STREAM.SNAPSHOT.{stream.name}"):
        await stream.api("STREAM.SNAPSHOT")


async def test_the_deletion_of_a_message(stream):
    with not_known("how to delete a single message"):
        await stream.api("STREAM.MSG.DELETE", {"seq": 1})


async def test_an_operation_of_the_protocol():
    with pytest.raises(Unreadable):
        list(OperationReader().feed(b"UNSUB 1 5\r\n"))
