"""HTTPS without a proxy: a real port with certificates that the tests make."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession, TCPConnector, web
from structlog.testing import capture_logs

from drover.service import ready
from drover.service.config import ConfigurationError
from drover.service.health import Health
from drover.testing.waiting import eventually
from drover.web.application import create_application
from drover.web.callers import Callers
from drover.web.serve import serve
from drover.web.tls import Certificate
from tests.certificates import made

pytestmark = pytest.mark.req("SE-07")
GRACE_S = 1.0
LOOK_S = 0.01


class Files:
    """A certificate and a key that can be replaced."""

    def __init__(self, folder):
        self.cert, self.key = folder / "tls.crt", folder / "tls.key"

    def make(self, *names: str, days: int = 30) -> None:
        cert, key = made(*names, days=days)
        self.cert.write_bytes(cert)
        self.key.write_bytes(key)

    def open(self) -> Certificate:
        return Certificate(self.cert, self.key)


@pytest.fixture
def files(tmp_path):
    files = Files(tmp_path)
    files.make("localhost", "127.0.0.1")
    return files


@asynccontextmanager
async def serving(certificate: Certificate):
    health = Health()
    app = create_application(health, body_bytes_max=1024)

    async def private(request: web.Request) -> web.Response:
        return web.Response(text=str(Callers(["127.0.0.1"]).is_encrypted(request)))

    app.router.add_get("/private", private)
    async with (
        serve(app, "127.0.0.1", 0, grace_s=GRACE_S, tls=certificate.context) as port,
        certificate.watching(LOOK_S),
    ):
        health.started()
        yield port


async def shown(port: int, *, name: str | None) -> bytes:
    """The certificate that a new connection gets to see. None: a client that does not say whom it wants, as those that
    connect to an address."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name or "127.0.0.1")
    seen = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return ssl.DER_cert_to_PEM_cert(seen).encode()


async def test_requests_are_answered_over_https_and_count_as_encrypted(files):
    trusting = ssl.create_default_context(cafile=files.cert)
    async with (
        serving(files.open()) as port,
        ClientSession(connector=TCPConnector(ssl=trusting)) as client,
        client.get(f"https://localhost:{port}/private") as answer,
    ):
        assert (answer.status, await answer.text()) == (200, "True")
        assert await asyncio.to_thread(ready.ask, port, tls=True) == 0


@pytest.mark.parametrize("name", ["localhost", None])
async def test_a_replaced_certificate_is_shown_to_new_connections(files, name):
    async with serving(files.open()) as port:
        assert await shown(port, name=name) == files.cert.read_bytes()
        files.make("localhost")

        async def is_new():
            return await shown(port, name=name) == files.cert.read_bytes()

        await eventually(is_new)


async def test_a_bad_replacement_is_reported_and_the_certificate_before_it_stays(files):
    before = files.cert.read_bytes()
    async with serving(files.open()) as port:
        with capture_logs() as logs:
            files.cert.write_bytes(made("localhost")[0])  # its key comes later, or never
            await eventually(lambda: logs)
        assert [line["event"] for line in logs] == ["certificate_not_reloaded"], "once, not at every look"
        assert await shown(port, name="localhost") == before
        files.make("localhost")

        async def is_new():
            return await shown(port, name="localhost") == files.cert.read_bytes()

        await eventually(is_new)


def _damage(files, what):
    cert, key = made("localhost", passphrase=b"secret")
    match what:
        case "no certificate":
            files.cert.unlink()
        case "no key":
            files.key.unlink()
        case "text":
            files.cert.write_text("not a certificate")
        case "key is text":
            files.key.write_text("not a key")
        case "passphrase":
            files.cert.write_bytes(cert)
            files.key.write_bytes(key)
        case "another key":
            files.key.write_bytes(made("localhost")[1])


@pytest.mark.parametrize(
    ("what", "setting", "problem"),
    [
        ("no certificate", "DROVER_TLS_CERT (--tls-cert)", "cannot be read"),
        ("no key", "DROVER_TLS_KEY (--tls-key)", "cannot be read"),
        ("text", "DROVER_TLS_CERT (--tls-cert)", "has no certificate in PEM form"),
        ("key is text", "DROVER_TLS_KEY (--tls-key)", "has no private key in PEM form"),
        ("passphrase", "DROVER_TLS_KEY (--tls-key)", "needs a passphrase"),
        ("another key", "DROVER_TLS_KEY (--tls-key)", "is not the key of the certificate"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(files, what, setting, problem):
    _damage(files, what)
    with pytest.raises(ConfigurationError) as caught:
        files.open()
    assert str(caught.value).startswith(f"{setting}: {files.cert.parent}")
    assert problem in str(caught.value)


def test_an_expired_certificate_is_used_with_a_warning(files):
    files.make("localhost", days=-1)
    with capture_logs() as logs:
        files.open()
    assert [line["event"] for line in logs] == ["certificate_expired"]


@pytest.mark.parametrize(
    ("names", "host"),
    [
        (("farm.example.com", "localhost"), "localhost"),
        (("farm.example.com", "127.0.0.1"), "127.0.0.1"),
        (("*.example.com", "farm.example.com", "192.0.2.7"), "farm.example.com"),
        (("192.0.2.7",), "192.0.2.7"),
        ((), "127.0.0.1"),
    ],
)
def test_people_are_told_an_address_for_which_the_certificate_is_valid(files, names, host):
    files.make(*names)
    assert files.open().host == host
