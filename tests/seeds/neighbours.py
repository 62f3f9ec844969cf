"""What the users have beside Supabase: Clerk, which signs their tokens, nexrender, and an address for Gemini."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa

ISSUER: Final = "https://clerk.example.com"
LIFETIME_S: Final = 60
STATES: Final = (("queued", 0), ("rendering", 45), ("encoding", 90), ("finished", 100))
"""What nexrender says of a film, from one question to the next."""


class Clerk:
    """`/jwks`, and `/token?sub=…` for a session token as Clerk makes it: without `aud`."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    async def jwks(self, request: web.Request) -> web.Response:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key()))
        return web.json_response({"keys": [{**public, "kid": "ins_1", "use": "sig", "alg": "RS256"}]})

    async def token(self, request: web.Request) -> web.Response:
        now = int(time.time())
        claims = {
            "iss": request.query.get("iss", ISSUER),
            "sub": request.query["sub"],
            "azp": "https://saju.example.com",
            "sid": "sess_1",
            "iat": now - 120,
            "nbf": now - 120,
            "exp": now + int(request.query.get("lifetime", LIFETIME_S)),
        }
        return web.Response(text=jwt.encode(claims, self._key, algorithm="RS256", headers={"kid": "ins_1"}))


class Nexrender:
    """The API of 003 §3.5."""

    def __init__(self) -> None:
        self._jobs: dict[str, Iterator[tuple[str, int]]] = {}

    async def create(self, request: web.Request) -> web.Response:
        job_id = f"job_{len(self._jobs) + 1}"
        self._jobs[job_id] = iter(STATES)
        return web.json_response({"id": job_id, "uid": f"uid_{job_id}", "status": "queued"})

    async def look(self, request: web.Request) -> web.Response:
        job_id = request.match_info["job_id"]
        status, progress = next(self._jobs[job_id], STATES[-1])
        return web.json_response({"id": job_id, "status": status, "progress": progress})


@asynccontextmanager
async def neighbours() -> AsyncIterator[str]:
    """All of them at one address."""
    clerk, nexrender = Clerk(), Nexrender()

    async def gemini(request: web.Request) -> web.Response:
        return web.Response(text="here")

    app = web.Application()
    app.router.add_get("/jwks", clerk.jwks)
    app.router.add_get("/token", clerk.token)
    app.router.add_get("/gemini", gemini)
    app.router.add_post("/api/v1/jobs", nexrender.create)
    app.router.add_get("/api/v1/jobs/{job_id}", nexrender.look)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
