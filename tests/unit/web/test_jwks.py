"""The keys of another issuer: which are taken, how often it is asked, and what happens while it does not answer."""

from __future__ import annotations

import asyncio
import json

import jwt
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from drover.web import jwks
from drover.web.errors import ApiError, NotYet
from drover.web.jwks import KEYS_AGE_MAX_S, REFRESH_AGAIN_S, JwksUnusable, KeySet, fetch_from, parse_keys

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def rsa_jwk(kid: str = "one", key: rsa.RSAPrivateKey = RSA_KEY, **more) -> dict:
    return {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())), "kid": kid} | more


def ec_jwk(kid: str = "two", key: ec.EllipticCurvePrivateKey = EC_KEY, **more) -> dict:
    return {**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key())), "kid": kid} | more


def key_set(*keys: dict) -> bytes:
    return json.dumps({"keys": keys}).encode()


class Issuer:
    """One that counts how often it is asked."""

    def __init__(self, *keys: dict) -> None:
        self.keys = keys
        self.asked = 0
        self.down = False
        self.gate: asyncio.Event | None = None

    async def __call__(self) -> bytes:
        self.asked += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.down:
            raise JwksUnusable("down")
        return key_set(*self.keys)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def issuer():
    return Issuer(rsa_jwk("one"))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def keys(issuer, clock):
    return KeySet(issuer, clock=clock)


async def get(keys: KeySet, kid: str):
    """As the edge of the application does it: ask again, once, after what was missing has been fetched."""
    try:
        return keys.get(kid)
    except NotYet as not_yet:
        await not_yet.ready()
        return keys.get(kid)


async def test_keys_are_fetched_when_they_are_first_needed_and_then_kept(keys, issuer):
    assert (await get(keys, "one")).algorithm == "RS256"
    assert (await get(keys, "one")).public.public_numbers() == RSA_KEY.public_key().public_numbers()
    assert issuer.asked == 1


async def test_a_new_key_is_found_by_the_first_token_that_names_it(keys, issuer, clock):
    await get(keys, "one")
    issuer.keys = (rsa_jwk("one"), ec_jwk("two"))
    clock.now += REFRESH_AGAIN_S
    assert (await get(keys, "two")).algorithm == "ES256"
    assert issuer.asked == 2


@pytest.mark.req("SY-09")
async def test_key_ids_that_are_made_up_do_not_become_requests_to_the_issuer(keys, issuer, clock):
    await get(keys, "one")
    for number in range(1000):
        assert await get(keys, f"made-up-{number}") is None
    assert issuer.asked == 1
    clock.now += REFRESH_AGAIN_S
    for number in range(1000):
        assert await get(keys, f"made-up-{number}") is None
    assert issuer.asked == 2, "one refresh in that time, whoever asks"


async def test_many_who_wait_share_one_request(keys, issuer):
    issuer.gate = asyncio.Event()
    waiting = [asyncio.create_task(get(keys, "one")) for _ in range(20)]
    await asyncio.sleep(0)
    issuer.gate.set()
    assert all(await asyncio.gather(*waiting))
    assert issuer.asked == 1


async def test_a_key_that_the_issuer_took_back_is_gone_with_the_next_refresh(keys, issuer, clock):
    await get(keys, "one")
    issuer.keys = (ec_jwk("two"),)
    clock.now += REFRESH_AGAIN_S
    await keys.refresh()
    assert await get(keys, "one") is None


async def test_while_the_issuer_is_down_known_keys_hold_and_unknown_ones_are_nobodys_fault(keys, issuer, clock):
    await get(keys, "one")
    issuer.down = True
    clock.now += REFRESH_AGAIN_S
    with pytest.raises(ApiError) as caught:
        await get(keys, "two")
    assert caught.value.status == 503, "not 401, which would sign people out"
    assert await get(keys, "one")
    issuer.down = False
    issuer.keys = (rsa_jwk("one"), ec_jwk("two"))
    clock.now += REFRESH_AGAIN_S
    assert await get(keys, "two")


async def test_keys_are_not_believed_for_ever(keys, issuer, clock):
    await get(keys, "one")
    issuer.down = True
    clock.now += KEYS_AGE_MAX_S + 1
    with pytest.raises(ApiError) as caught:
        await get(keys, "one")
    assert caught.value.status == 503


async def test_an_issuer_that_was_never_reached_is_503(keys, issuer):
    issuer.down = True
    for _ in range(3):
        with pytest.raises(ApiError) as caught:
            await get(keys, "one")
        assert (caught.value.status, caught.value.headers["Retry-After"]) == (503, "2")
    assert issuer.asked == 1


async def test_running_fetches_by_itself_and_stops_in_order(keys, issuer):
    async with keys.running():
        while not issuer.asked:
            await asyncio.sleep(0)
    assert issuer.asked == 1


@pytest.mark.parametrize(
    "unusable",
    [
        rsa_jwk(use="enc"),
        rsa_jwk(alg="RS512"),
        rsa_jwk(alg="HS256"),
        rsa_jwk(n="!!!"),
        {"kty": "oct", "k": "c2VjcmV0", "kid": "one", "alg": "HS256"},
        {"kty": "OKP", "crv": "Ed25519", "x": "AAAA", "kid": "one"},
        {"kty": "RSA", "kid": "one"},
        ec_jwk("one", ec.generate_private_key(ec.SECP384R1())),
        {key: value for key, value in rsa_jwk().items() if key != "kid"},
        rsa_jwk(key=rsa.generate_private_key(public_exponent=65537, key_size=1024)),
        {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA_KEY)), "kid": "one"},
    ],
    ids=["enc", "rs512", "hs256", "broken", "oct", "okp", "empty", "p384", "no kid", "short", "private"],
)
def test_keys_that_cannot_be_used_are_passed_over(unusable):
    assert parse_keys(key_set(unusable, ec_jwk("two"))).keys() == {"two"}
    with pytest.raises(JwksUnusable, match="no key"):
        parse_keys(key_set(unusable))


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"<html>", b'{"keys": {}}', b"[" * 100_000, b"\xff"])
def test_what_is_no_key_set_is_refused(raw):
    with pytest.raises(JwksUnusable):
        parse_keys(raw)


def test_a_key_set_has_a_bound():
    with pytest.raises(JwksUnusable, match="more than"):
        parse_keys(key_set(*[rsa_jwk(str(number)) for number in range(101)]))


@pytest.fixture
async def server():
    """An issuer over HTTP, in several states."""

    async def good(request):
        return web.Response(body=key_set(rsa_jwk()), content_type="application/json")

    async def moved(request):
        raise web.HTTPFound("/good")

    async def large(request):
        return web.Response(body=b"x" * (jwks.JWKS_BYTES_MAX + 1))

    async def gone(request):
        return web.Response(status=404)

    async def packed(request):
        response = web.Response(body=b" " * 10_000_000)
        response.enable_compression(web.ContentCoding.gzip)
        return response

    app = web.Application()
    for handler in (good, moved, large, gone, packed):
        app.router.add_get(f"/{handler.__name__}", handler)
    async with TestServer(app) as server:
        yield server


async def test_keys_come_over_http(server):
    assert parse_keys(await fetch_from(str(server.make_url("/good")))())


@pytest.mark.parametrize(("path", "reason"), [("/moved", "302"), ("/large", "larger than"), ("/gone", "404")])
async def test_redirects_large_answers_and_errors_are_no_keys(server, path, reason):
    with pytest.raises(JwksUnusable, match=reason):
        await fetch_from(str(server.make_url(path)))()


async def test_what_is_packed_stays_packed(server):
    raw = await fetch_from(str(server.make_url("/packed")))()
    assert len(raw) < 100_000, "ten megabytes would have come out of it"
    with pytest.raises(JwksUnusable):
        parse_keys(raw)


async def test_an_issuer_that_is_not_there_is_no_keys():
    with pytest.raises(JwksUnusable):
        await fetch_from("http://127.0.0.1:1/jwks")()
