"""API keys on processes of their own: verifiers without any signing secret, revoked on all of them within 2 s."""

from __future__ import annotations

import time

import aiohttp
import pytest

from drover.service.api_keys import Role, issue_api_key
from drover.testing.waiting import eventually
from tests.e2e.apart import SECRET, Farm
from tests.e2e.process import run_command
from tests.e2e.up import READY_S

pytestmark = pytest.mark.req("SE-01", "SE-08")

WITHIN_S = 2.0
SIGNING = ("DROVER_JWT_SECRETS", "DROVER_IDENTITY_SECRETS")
PATHS = {
    "gateway": "/rest/v1/pcs",
    "cleanup": "/api/saju/tests",
    "reminder": "/api/reminder/alarms?user_id=kim",
    "api": "/api/devices",
}
"""A path of each service that the back office and admins may read."""
NOT_ACCEPTED = {401, 403, 503}


async def drover(farm, *arguments, said=None, **environ):
    found = await run_command(*arguments, environ=farm.environ | environ, typed=said or "")
    assert found.code == 0, found.err
    return found.out.strip(), found.err


class Doors:
    """All processes that take requests."""

    def __init__(self, session, urls):
        self._session = session
        self.urls = urls

    async def statuses(self, key, header="apikey"):
        value = key if header == "apikey" else f"Bearer {key}"
        found = {}
        for name, url in self.urls.items():
            async with self._session.get(url + PATHS[name], headers={header: value}) as answer:
                found[name] = answer.status
        return found

    async def accepted(self, key, header="apikey"):
        return not NOT_ACCEPTED & set((await self.statuses(key, header)).values())

    async def refused(self, key):
        return set((await self.statuses(key)).values()) == {401}


@pytest.fixture
async def farm(own_nats, own_postgres, tmp_path):
    farm = Farm(own_nats, own_postgres, tmp_path)
    del farm.environ["DROVER_JWT_SECRETS"]
    await farm.migrate()
    try:
        yield farm
    finally:
        for process in farm.running:
            await process.end()


async def test_keys_are_verified_without_secrets_and_revoked_everywhere_within_two_seconds(farm, own_postgres):
    no_secrets = dict.fromkeys(SIGNING, "")
    api = await farm.serve("api", "projector")
    gateway = await farm.serve("gateway", **no_secrets)
    others = await farm.serve("cleanup", "reminder", **no_secrets)
    email, password = await farm.add_admin()
    async with aiohttp.ClientSession() as session:
        urls = {"gateway": gateway.url, "cleanup": others.url, "reminder": others.url, "api": api.url}
        doors = Doors(session, urls)

        # A person's token is verified with the public key alone.
        body = {"email": email, "password": password}
        async with session.post(f"{api.url}/auth/v1/token?grant_type=password", json=body) as answer:
            token = (await answer.json())["access_token"]
        assert await doors.accepted(token, "Authorization")

        # An old key is refused with what to do, and works everywhere once it is adopted.
        old = issue_api_key(SECRET, Role.SERVICE_ROLE, now_s=time.time())
        assert await doors.refused(old)
        (old_id, _) = await drover(farm, "key", "adopt", "-", said=old, DROVER_JWT_SECRETS=SECRET)
        await eventually(lambda: doors.accepted(old), READY_S)

        # A new key works at once; both are revoked within two seconds, also while Postgres is away.
        key, told = await drover(farm, "key", "create", "service_role", "--name", "back office")
        key_id = told.split()[1]
        assert await doors.accepted(key)
        listed, _ = await drover(farm, "key", "list")
        assert key_id in listed and old_id in listed and "back office" in listed and key not in listed
        await drover(farm, "key", "revoke", key_id)
        await eventually(lambda: doors.refused(key), WITHIN_S)
        await own_postgres.stop()
        assert 401 not in (await doors.statuses(old)).values()
        await drover(farm, "key", "revoke", old_id)
        await eventually(lambda: doors.refused(old), WITHIN_S)

        # A process that starts now knows it, without Postgres and without a leading api.
        await api.end()
        late = await farm.serve("cleanup", name="late", **no_secrets)
        doors.urls = {"cleanup": late.url}
        assert await doors.refused(key) and await doors.refused(old)
