"""Credentials cross the network over HTTPS only: asked of `drover up` from another address than loopback."""

from __future__ import annotations

import socket
import ssl

import aiohttp
import pytest

from drover.cli.exits import Exit
from drover.gateway.sockets import PATH as AGENTS
from drover.testing.waiting import eventually
from tests.certificates import made
from tests.e2e.client import device
from tests.e2e.process import free_port, run_to_the_end
from tests.e2e.up import Platform

pytestmark = pytest.mark.req("SE-07")
EVERYWHERE = {"DROVER_HTTP_HOST": "0.0.0.0"}


@pytest.fixture(scope="module")
def outside():
    """An address of this machine that is not loopback: who calls it comes from there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing, but chooses an address
        except OSError:
            pytest.skip("this machine has no network")
        address = probe.getsockname()[0]
    if address.startswith("127."):
        pytest.skip("this machine has no network")
    return address


async def status_of_a_socket(platform, url, tls=None):
    keys = {"apikey": platform.credentials["service_key"]}
    async with aiohttp.ClientSession() as session:
        try:
            async with session.ws_connect(url + AGENTS, headers=keys, ssl=tls or True):
                return 101
        except aiohttp.WSServerHandshakeError as error:
            return error.status


@pytest.mark.req("SE-02")
async def test_a_key_is_refused_over_plain_http_unless_its_network_is_named(start, outside):
    platform = await start(**EVERYWHERE)
    elsewhere = f"http://{outside}:{platform.port}"
    async with platform.calling(elsewhere) as http:
        for path in ("/rest/v1/devices", "/api/status", "/api/stream"):
            answer = await http.get(path)
            assert (answer.status, answer.code) == (403, "HTTPS_REQUIRED"), path
        for path in ("/livez", "/readyz", "/metrics", "/api/openapi.json", "/"):
            assert (await http.get(path)).status == 200, path
    assert await status_of_a_socket(platform, elsewhere) == 403
    async with platform.calling() as http:
        assert (await http.get("/rest/v1/devices")).status == 200, "from this machine"
        refused = await http.get("/rest/v1/devices", anon=True)
        assert refused.status == 403, "the anon key is off where other machines reach Drover"
        assert "DROVER_ANON=read" in refused.json["hint"]
    assert await status_of_a_socket(platform, platform.url) == 101
    assert "plain_http_is_allowed" not in platform.output
    await platform.end()

    platform = await start(**EVERYWHERE, DROVER_PLAIN_HTTP_FROM=outside)
    elsewhere = f"http://{outside}:{platform.port}"
    async with platform.calling(elsewhere) as http:
        assert (await http.get("/rest/v1/devices")).status == 200
    assert await status_of_a_socket(platform, elsewhere) == 101
    assert "plain_http_is_allowed" in platform.output, "each start warns of it"


async def test_up_with_a_certificate_serves_https_and_reads_the_file_again_when_it_changes(tmp_path, outside):
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"

    def renew():
        for file, content in zip((cert, key), made("localhost", "127.0.0.1", outside), strict=True):
            file.write_bytes(content)
        return ssl.create_default_context(cafile=cert)

    trusting = renew()
    options = ("--tls-cert", str(cert), "--tls-key", str(key))
    platform = Platform(tmp_path / "data", *options, environ=EVERYWHERE, tls=trusting)
    try:
        await platform.ready()
        assert platform.credentials["url"] == f"https://localhost:{platform.port}"
        elsewhere = f"https://{outside}:{platform.port}"
        async with platform.calling(elsewhere) as http:
            assert (await http.call("POST", "/rest/v1/devices", json=device("ENCRYPTED1"))).status == 201
        assert await status_of_a_socket(platform, elsewhere, trusting) == 101

        trusting = renew()

        async def is_renewed():
            try:
                return await status_of_a_socket(platform, elsewhere, trusting) == 101
            except aiohttp.ClientConnectorCertificateError:
                return False

        await eventually(is_renewed, within_s=30)
    finally:
        await platform.end()
    assert "Traceback" not in platform.output


async def test_up_with_a_bad_certificate_is_refused_before_anything_starts(tmp_path):
    (tmp_path / "tls.crt").write_text("no certificate")
    (tmp_path / "tls.key").write_text("no key")
    files = ("--tls-cert", tmp_path / "tls.crt", "--tls-key", tmp_path / "tls.key")
    options = ("up", "--data-dir", tmp_path / "data", "--port", str(free_port()))
    for more, why in ((files, "has no certificate in PEM form"), (files[:2], "DROVER_TLS_KEY is not set")):
        code, said = await run_to_the_end(*options, *more, output=tmp_path / f"refused-{len(more)}.log")
        assert (code, why in said, len(said.splitlines())) == (Exit.CONFIGURATION, True, 1), said
    assert not (tmp_path / "data").exists()
