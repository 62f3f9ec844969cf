"""Somebody has taken over a container and tries to be an admin, with everything that compose has given to it."""

from __future__ import annotations

import base64
import hmac
import json
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import aiohttp
import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from drover.service import access_tokens, api_keys
from drover.service.access_tokens import issue_access_token
from drover.service.api_keys import Role, issue_api_key, sign_api_key
from drover.service.identity_keys import IdentityKeys
from drover.service.secret_files import COMMENT
from tests.deploy.apart import Apart
from tests.deploy.compose import given_to

pytestmark = [
    pytest.mark.req("SE-01", "SE-08"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is missing: it makes secrets"),
]

DOORS = {
    "gateway": "/rest/v1/pcs",
    "cleanup": "/api/saju/tests",
    "reminder": "/api/reminder/alarms?user_id=kim",
    "api": "/api/devices",
}
"""A path of each service that takes requests, which admins and the back office may read."""
OTHERS = ("gateway", "cleanup", "reminder", "projector", "migrate", "scheduler", "notifier")
SECRET_CHARS_MIN = 32
"""Shorter texts are no secret that Drover accepts."""
LIFETIME_S = 900
MANY = {"DROVER_REQUESTS_PER_S": "100000", "DROVER_REQUESTS_BURST": "100000"}
"""A limit that the attempts do not reach: each must be refused for what it is."""


def loot(given):
    """Every text that somebody finds in a container: values, contents of files, and the parts of both."""
    texts = set()
    for value in given.values():
        path = Path(value)
        texts |= {value, path.read_text().strip()} if value.startswith("/") and path.is_file() else {value}
    for text in tuple(texts):
        texts |= {*text.split(","), *re.split(r"[:@/,]", text)}
    return sorted(text for text in texts if len(text) >= SECRET_CHARS_MIN and not text.startswith(COMMENT))


def material(texts):
    """What could be a key: the texts, and what is base64 in them."""
    for text in texts:
        yield text.encode()
        with suppress(ValueError):
            yield base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def forged(texts, published):
    """Tokens of an admin and keys of the back office, signed with all that was found, in every way."""
    now_s = time.time()
    person = {
        "iss": access_tokens.ISSUER,
        "aud": access_tokens.AUDIENCE,
        "sub": str(uuid4()),
        "role": "admin",
        "session_id": str(uuid4()),
    }
    program = {"iss": api_keys.ISSUER, "role": "service_role", "jti": str(uuid4())}
    times = {"iat": int(now_s), "exp": int(now_s) + LIFETIME_S}
    # What is public may be used as a shared secret, too.
    keys = [*material(texts), *(_pem(pair.public) for pair in (*published.access, *published.api))]
    for key in keys:
        for kid in (None, published.access[0].kid, published.api[0].kid):
            yield _hs256(person | times, key, kid)
            yield _hs256(program | times, key, kid)
    for text in texts:
        yield issue_api_key(text, Role.SERVICE_ROLE, now_s=now_s, lifetime_s=LIFETIME_S)  # of before, without an id
        own = IdentityKeys([text])
        yield admin_token(own)
        yield sign_api_key(own, Role.SERVICE_ROLE, key_id=str(uuid4()), now_s=now_s, expires_s=now_s + LIFETIME_S)
        for claims, mine, theirs in ((person, own.access, published.access), (program, own.api, published.api)):
            headers = {"kid": theirs[0].kid}  # as if it were signed with the platform's key
            yield jwt.encode(claims | times, mine[0].private, algorithm="ES256", headers=headers)


def admin_token(keys):
    who = {"account_id": str(uuid4()), "session_id": str(uuid4())}
    return issue_access_token(keys, **who, role=Role.ADMIN, now_s=time.time(), lifetime_s=LIFETIME_S)


def _hs256(claims, key, kid):
    head = {"alg": "HS256", "typ": "JWT"} | ({"kid": kid} if kid else {})
    said = b".".join(_encoded(json.dumps(part).encode()) for part in (head, claims))
    return (said + b"." + _encoded(hmac.digest(key, said, "sha256"))).decode()


def _encoded(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def _pem(public):
    return public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


class Platform:
    def __init__(self, session, apart):
        self._session = session
        self._apart = apart

    async def statuses(self, token):
        """How each service answers, with the token in either header."""
        found = set()
        for service, path in DOORS.items():
            for headers in ({"apikey": token}, {"Authorization": f"Bearer {token}"}):
                async with self._session.get(self._apart.url(service) + path, headers=headers) as answer:
                    found.add(answer.status)
        return found

    async def get(self, path, token):
        headers = {"Authorization": f"Bearer {token}"}
        async with self._session.get(self._apart.url("api") + path, headers=headers) as answer:
            return answer.status, await answer.json()


async def test_the_secrets_of_other_containers_than_the_api_make_nobody_an_admin(
    permitted_nats, postgres_dsn, tmp_path
):
    apart = Apart(permitted_nats, postgres_dsn, tmp_path, **MANY)
    published = IdentityKeys(apart.identity_secrets)
    async with apart.running((*DOORS, "projector", "scheduler")), aiohttp.ClientSession() as session:
        platform = Platform(session, apart)
        texts = {text for name in OTHERS for text in loot(given_to(apart.project, name))}
        assert any(text.startswith("tls://gateway:") for text in texts), "what is in files is found"
        for token in forged(texts, published):
            assert await platform.statuses(token) == {401}, jwt.decode(token, options={"verify_signature": False})

        # Control: the same attempts with what the api has succeed. So they are made in the right way.
        stolen = [text for text in loot(given_to(apart.project, "api")) if text not in texts]
        accepted = [token for token in forged(stolen, published) if await platform.statuses(token) != {401}]
        roles = {jwt.decode(token, options={"verify_signature": False})["role"] for token in accepted}
        assert roles == {"admin", "service_role"}

        # The api seals addresses with the ring of accounts, the only one that it has for them.
        admin = admin_token(published)
        await platform.get("/api/audit", admin)
        status, page = await platform.get("/api/audit", admin)
        assert status == 200
        assert {entry["address"] for entry in page["items"]} == {"127.0.0.1"}
