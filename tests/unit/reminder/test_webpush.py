"""The provider webpush: encrypted for the browser, signed for the push service, told apart by its answers."""

import base64
import os

import http_ece
import jwt
import msgspec
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from drover.bus.subject_keys import SubjectKeys
from drover.domain.erasure import note_erased
from drover.domain.reminder.state import Subscription
from drover.outbound.http import Outbound
from drover.reminder.app import vapid_public_key
from drover.reminder.notification import Delivered, Failed, Uncertain
from drover.reminder.providers.push_keys import PushKeys, PushSubscription, id_of, opened, sealed
from drover.reminder.providers.webpush import PLAIN_BYTES_MAX, WebPush, message
from drover.service.sealing import Ring, Sealer
from tests.subject_keys import Leaders, local_keys
from tests.unit.outbound.test_http import server
from tests.unit.reminder.world import notification

USER = "user_1"
RING = Ring({"k1": bytes(32)})


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


PRIVATE_KEY = b64(bytes(range(1, 33)))


class Browser:
    """Subscribes, and can read what it is sent."""

    def __init__(self, endpoint: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.auth = os.urandom(16)
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.subscription = PushSubscription(endpoint, PushKeys(b64(point), b64(self.auth)))

    @property
    def id(self) -> str:
        return id_of(USER, self.subscription)

    async def stored(self, keys: SubjectKeys) -> Subscription:
        return Subscription(self.id, "webpush", await sealed(keys, self.subscription, USER, self.id))

    def read(self, raw: bytes) -> dict:
        plain = http_ece.decrypt(raw, private_key=self.key, auth_secret=self.auth, version="aes128gcm")
        return msgspec.json.decode(plain)


async def push(handler, browsers_at=("/a",), **fields):
    async with server(handler) as port:
        browsers = [Browser(f"http://127.0.0.1:{port}{path}") for path in browsers_at]
        keys = local_keys("reminder", ring=RING)
        provider = WebPush(PRIVATE_KEY, "mailto:ops@example.com", keys, Outbound(timeout_s=0.5, allow_private=True))
        async with provider.running():
            subscriptions = tuple([await browser.stored(keys) for browser in browsers])
            return await provider.send(notification(subscriptions=subscriptions, **fields)), browsers


@pytest.fixture(autouse=True)
def plain_addresses(monkeypatch):
    """The test's push service has no certificate; what is stored is checked on its way in, not here."""
    import drover.reminder.providers.push_keys as push_keys

    class Loose(msgspec.Struct):
        endpoint: str
        keys: PushKeys

    monkeypatch.setattr(push_keys, "_decode", msgspec.json.Decoder(Loose).decode)


@pytest.mark.req("RM-11")
async def test_the_browser_can_read_it_and_the_push_service_knows_who_sent_it():
    seen = {}

    async def handler(request):
        seen.update(request.headers, raw=await request.read(), host=request.host)
        return web.Response(status=201, headers={"Location": "/m/1"})

    outcome, (browser,) = await push(handler)
    assert outcome == Delivered(notification_id="/m/1")
    assert browser.read(seen["raw"]) == {"key": "page-1:1", "page_id": "page-1", "title": "제목", "body": "본문"}
    scheme, _, rest = seen["Authorization"].partition(" ")
    assert scheme == "vapid"
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    assert parts["k"].rstrip("=") == vapid_public_key(PRIVATE_KEY)
    claims = jwt.decode(parts["t"], options={"verify_signature": False})
    assert claims["aud"] == f"http://{seen['host']}"
    assert claims["sub"] == "mailto:ops@example.com"
    assert (seen["TTL"], seen["Content-Encoding"], len(seen["Topic"])) == ("86400", "aes128gcm", 32)


@pytest.mark.req("RM-10", "RM-11")
async def test_a_repeat_has_the_same_topic_and_the_same_key_inside():
    """A push service keeps one message of a topic for an offline browser; the service worker uses the key as tag."""
    topics, bodies = [], []

    async def handler(request):
        topics.append(request.headers["Topic"])
        bodies.append(await request.read())
        return web.Response(status=201)

    keys = ["page-1:1", "page-1:1", "page-1:2"]
    read = []
    for key in keys:
        _, (browser,) = await push(handler, key=key)
        read.append(browser.read(bodies[-1])["key"])
    assert read == keys
    assert topics[0] == topics[1] != topics[2]


@pytest.mark.req("RM-11")
@pytest.mark.parametrize("status", [404, 410])
async def test_a_dead_subscription_is_said_to_be_gone(status):
    async def handler(request):
        return web.Response(status=status if request.path == "/dead" else 201)

    outcome, (dead, _) = await push(handler, ("/dead", "/alive"))
    assert isinstance(outcome, Delivered)
    assert outcome.gone == (dead.id,)
    outcome, (dead,) = await push(handler, ("/dead",))
    assert (outcome.code, outcome.permanent, len(outcome.gone)) == ("no_subscription", True, 1)


@pytest.mark.req("RM-08")
async def test_where_one_of_two_browsers_cannot_be_reached_now_it_is_a_partial_failure():
    async def handler(request):
        return web.Response(status=503 if request.path == "/busy" else 201)

    outcome, (_, fine) = await push(handler, ("/busy", "/fine"))
    assert isinstance(outcome, Uncertain)
    assert outcome.code == "partial"
    assert outcome.delivered == (fine.id,)


async def test_nobody_to_push_to_is_no_fault_of_the_provider():
    async def handler(request):
        raise AssertionError("nobody is called")

    outcome, _ = await push(handler, ())
    assert outcome == Failed(permanent=True, code="no_subscription")


async def test_a_subscription_under_a_key_that_is_not_here_may_be_readable_later():
    leaders = Leaders()
    other = local_keys("reminder", ring=Ring({"k2": bytes(32)}), leaders=leaders)
    stored = await Browser("https://push.example/x").stored(other)
    outcome = await _sent(local_keys("reminder", ring=RING, leaders=leaders), stored)
    assert (outcome.code, outcome.permanent) == ("sealing_key_missing", False)


@pytest.mark.req("SE-09")
async def test_a_subscription_whose_key_cannot_be_reached_may_be_readable_later():
    leaders = Leaders()
    stored = await Browser("https://push.example/x").stored(local_keys("reminder", ring=RING, leaders=leaders))
    leaders.away = True
    outcome = await _sent(local_keys("reminder", ring=RING, leaders=leaders), stored)
    assert (outcome.code, outcome.permanent) == ("sealing_key_missing", False)


@pytest.mark.req("SE-09")
async def test_a_subscription_of_an_erased_user_is_gone():
    leaders = Leaders()
    stored = await Browser("https://push.example/x").stored(local_keys("reminder", ring=RING, leaders=leaders))
    note_erased(leaders.erased, "reminder", USER)
    outcome = await _sent(local_keys("reminder", ring=RING, leaders=leaders), stored)
    assert (outcome.code, outcome.permanent, outcome.gone) == ("no_subscription", True, (stored.subscription_id,))


async def test_a_subscription_that_an_earlier_release_sealed_is_opened():
    browser = Browser("https://push.example/x")
    plain = msgspec.json.encode(browser.subscription)
    old = Sealer(RING).seal(plain, context="reminder", subject=f"subscription:{USER}:{browser.id}")
    found = await opened(local_keys("reminder", ring=RING), old, USER, browser.id)
    assert msgspec.json.encode(found) == plain


async def _sent(keys, stored):
    provider = WebPush(PRIVATE_KEY, "mailto:ops@example.com", keys, Outbound(timeout_s=1))
    async with provider.running():
        return await provider.send(notification(subscriptions=(stored,)))


async def test_a_subscription_that_was_tampered_with_or_has_no_keys_is_not_tried_again():
    broken = PushSubscription("https://push.example/x", PushKeys("AAAA", "AAAA"))
    keys = local_keys("reminder", ring=RING)
    for stored in (
        Subscription("s1", "webpush", "nonsense"),
        Subscription("s1", "webpush", await sealed(keys, broken, USER, "s1")),
        Subscription("s2", "webpush", await sealed(keys, broken, USER, "s1")),
    ):
        outcome = await _sent(keys, stored)
        assert (outcome.code, outcome.permanent) == ("subscription_unreadable", True)


@pytest.mark.parametrize(("title", "body"), [("t", "가" * 2000), ("가" * 2000, "가" * 2000), ("", "\n" * 2000)])
def test_long_texts_are_cut_to_what_a_push_service_takes(title, body):
    encoded = message(notification(title=title, body=body))
    assert len(encoded) <= PLAIN_BYTES_MAX
    assert msgspec.json.decode(encoded)["key"] == "page-1:1"


def test_the_same_browser_has_the_same_id_for_one_user():
    one = PushSubscription("https://push.example/x", PushKeys("a", "b"))
    renewed = PushSubscription("https://push.example/x", PushKeys("c", "d"))
    assert id_of("u1", one) == id_of("u1", renewed) != id_of("u2", one)
