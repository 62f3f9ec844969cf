"""The archiver: one process at a time, round after round, and a context that fails holds up no other."""

import asyncio

import pytest

from drover.archive.errors import ArchiveUnwritable
from drover.archiver.archiver import Archiver
from drover.platform import serve as platform
from drover.platform.settings import load
from drover.service.config import ConfigurationError
from drover.testing.lease import LocalLease
from drover.testing.waiting import eventually

pytestmark = pytest.mark.req("YR-01")


class Rounds:
    """A context whose rounds are counted, and fail while it has no room."""

    def __init__(self, context, directory, *, has_room=True):
        self.context, self.has_room, self.rounds = context, has_room, 0
        self._directory = directory

    async def round(self):
        self.rounds += 1
        if not self.has_room:
            raise ArchiveUnwritable(self._directory, "No space left on device")


async def test_a_context_that_cannot_be_archived_is_named_and_holds_up_no_other(tmp_path):
    fleet, render = Rounds("fleet", tmp_path, has_room=False), Rounds("render", tmp_path)
    archiver = Archiver([fleet, render], LocalLease(), every_s=0.001)
    async with archiver.running():
        await eventually(lambda: fleet.rounds > 2 and render.rounds > 2)
        assert "fleet: " in archiver.why_not_ready()
        assert "No space left on device" in archiver.why_not_ready()
        fleet.has_room = True
        await eventually(lambda: archiver.why_not_ready() is None)


async def test_only_the_process_with_the_lease_archives_and_another_takes_over(tmp_path):
    lock = asyncio.Lock()
    first, second = Rounds("fleet", tmp_path), Rounds("fleet", tmp_path)
    async with Archiver([second], LocalLease(lock), every_s=0.001).running():
        await eventually(lambda: second.rounds > 0)
        async with Archiver([first], LocalLease(lock), every_s=0.001).running():
            before = second.rounds
            await eventually(lambda: second.rounds > before + 5)
            assert first.rounds == 0
    async with Archiver([first], LocalLease(lock), every_s=0.001).running():
        await eventually(lambda: first.rounds > 0)


async def test_to_keep_less_than_all_needs_an_archive():
    configuration = load(
        {
            "DROVER_NATS_URL": "nats://127.0.0.1:9",
            "DROVER_POSTGRES_URL": "postgresql://127.0.0.1:9/drover",
            "DROVER_JWT_SECRETS": "x" * 32,
            "DROVER_LOG_KEEP": "30d",
        }
    )
    with pytest.raises(ConfigurationError, match="DROVER_ARCHIVE is not"):
        await platform.serve(configuration, ["archiver"])


@pytest.mark.parametrize("keep", ["30", "0d", "12.5GB", "some", "30 d"])
def test_what_to_keep_is_said_in_a_form_that_is_understood(keep):
    with pytest.raises(ConfigurationError, match="12h, 30d, 8w"):
        load({"DROVER_LOG_KEEP": keep}, without=("DROVER_NATS_URL", "DROVER_POSTGRES_URL", "DROVER_JWT_SECRETS"))


def test_an_archive_at_an_address_without_a_bucket_is_refused():
    with pytest.raises(ConfigurationError, match="a folder"):
        load(
            {"DROVER_ARCHIVE": "s3:///logs"},
            without=("DROVER_NATS_URL", "DROVER_POSTGRES_URL", "DROVER_JWT_SECRETS"),
        )
