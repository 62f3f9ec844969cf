"""`drover up` on a data directory from before API keys had an id: its keys go on working, and can be taken back."""

from __future__ import annotations

import json
import time

import aiohttp
import msgspec
import pytest

from drover.embedded.credentials import Credentials, load_or_create_secrets
from drover.service.api_keys import Role, issue_api_key
from drover.service.private_file import write_private
from drover.testing.waiting import eventually
from tests.e2e.up import Platform

pytestmark = pytest.mark.req("SE-01")

SHARED = "o" * 64
PATH = "/rest/v1/jobs"


async def status(platform, key):
    async with (
        aiohttp.ClientSession() as session,
        session.get(platform.url + PATH, headers={"apikey": key}) as answer,
    ):
        return answer.status, await answer.text()


@pytest.fixture
def older(tmp_path):
    """A directory that an older version has made: keys have a shared secret."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    secrets = msgspec.to_builtins(load_or_create_secrets(folder)) | {"jwt_secret": SHARED}
    write_private(folder / "secrets.json", json.dumps(secrets).encode())
    anon, office = (issue_api_key(SHARED, role, now_s=time.time()) for role in (Role.ANON, Role.SERVICE_ROLE))
    made = Credentials("http://127.0.0.1", anon, office, "c" * 64, "admin@drover.local", "p" * 24, "", "")
    write_private(folder / "credentials.json", msgspec.json.encode(made))
    return folder


async def test_keys_of_an_older_directory_go_on_working_and_the_secret_can_be_retired(older):
    before = msgspec.json.decode((older / "credentials.json").read_bytes(), type=Credentials)
    spare = issue_api_key(SHARED, Role.SERVICE_ROLE, now_s=time.time(), lifetime_s=3600)
    platform = Platform(older)
    try:
        await platform.ready()
        assert platform.credentials["anon_key"] == before.anon_key
        for key in (before.anon_key, before.service_key, spare):
            assert (await status(platform, key))[0] == 200
        assert "shared_secret_accepted" in platform.output
    finally:
        await platform.end()

    secrets = json.loads((older / "secrets.json").read_bytes())
    write_private(older / "secrets.json", json.dumps(secrets | {"jwt_secret": ""}).encode())
    platform = Platform(older)
    try:
        await platform.ready()
        code, text = await status(platform, spare)
        assert (code, "drover key adopt" in text) == (401, True)

        async def adopted():
            return [(await status(platform, key))[0] for key in (before.anon_key, before.service_key)] == [200, 200]

        # The directory has no secret that fits them any more, so it has new ones; those of before were adopted.
        await eventually(adopted)
        assert platform.credentials["anon_key"] != before.anon_key
        assert (await status(platform, platform.credentials["anon_key"]))[0] == 200
        assert "shared_secret_accepted" not in platform.output.rpartition("starting")[2]
    finally:
        await platform.end()
