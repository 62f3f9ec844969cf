"""Which keys are in use: for admins, by names that give nothing away."""

from __future__ import annotations

import base64

import pytest

from drover.api.identity.key_ring import key_ring
from tests.settings import load
from tests.unit.api.identity.conftest import API_SECRET, bearer

pytestmark = pytest.mark.req("SY-15")
NEW, OLD = "n" * 32, "o" * 32


def ring(**other: str):
    sealing = f"k2:{base64.b64encode(b'k' * 32).decode()},k1:{base64.b64encode(b'j' * 32).decode()}"
    environment = {
        "DROVER_NATS_URL": "nats://n",
        "DROVER_POSTGRES_URL": "postgresql://p",
        "DROVER_JWT_SECRETS": f"{NEW},{OLD}",
        "DROVER_IDENTITY_SECRETS": f"{NEW},{OLD}",
        "DROVER_SEALING_KEYS": sealing,
    }
    return key_ring(load(environment | other))


def test_the_first_one_is_current_and_the_others_are_on_their_way_out():
    found = ring()
    for keys in (found.api_keys, found.shared_secrets, found.access_tokens, found.sealing):
        assert [key.use for key in keys] == ["current", "former"]
    assert [key.id for key in found.sealing] == ["k2", "k1"]


def test_the_same_secret_has_the_same_name_wherever_it_stands():
    new, old = (key.id for key in ring().shared_secrets)
    assert [key.id for key in ring(DROVER_JWT_SECRETS=f"{OLD},{NEW}").shared_secrets] == [old, new]


async def test_only_admins_are_told_and_no_secret_is_in_it(world):
    assert (await world.client.get("/api/keys/signing")).status == 401
    admin = bearer(await world.signed_in())
    answer = await world.client.get("/api/keys/signing", headers=admin)
    text = await answer.text()
    assert answer.status == 200
    assert API_SECRET not in text
    new = {"email": "lee@example.com", "password": "a password of his own", "role": "operator"}
    await world.client.post("/api/accounts", json=new, headers=admin)
    operator = bearer(await world.signed_in(new["email"], new["password"]))
    assert (await world.client.get("/api/keys/signing", headers=operator)).status == 403
