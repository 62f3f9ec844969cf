"""Who calls from where, whether in private, and whether a browser was made to."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from aiohttp.test_utils import make_mocked_request

from drover.service.config import ConfigurationError
from drover.web.callers import Callers
from drover.web.errors import ApiError
from drover.web.same_origin import demand_same_origin

PROXY, OUTSIDE, HERE = "10.0.0.5", "203.0.113.7", "127.0.0.1"


def request(peer: str | None = OUTSIDE, tls: bool = False, **headers: str):
    info = {"peername": None if peer is None else (peer, 1234), "ssl_object": object() if tls else None}
    transport = SimpleNamespace(get_extra_info=lambda name, default=None: info.get(name, default))
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return make_mocked_request(
        "POST", "/api/auth/refresh", headers={"Host": "drover.example.com", **named}, transport=transport
    )


@pytest.mark.req("SY-21", "SE-07")
@pytest.mark.parametrize(
    ("peer", "headers", "private"),
    [
        (HERE, {}, True),
        ("::1", {}, True),
        ("::ffff:127.0.0.1", {}, True),
        (OUTSIDE, {}, False),
        (OUTSIDE, {"X_Forwarded_Proto": "https"}, False),
        (PROXY, {"X_Forwarded_Proto": "https"}, True),
        (PROXY, {"X_Forwarded_Proto": "HTTPS, https"}, True),
        (PROXY, {"X_Forwarded_Proto": "http"}, False),
        (PROXY, {"X_Forwarded_Proto": "https, http"}, False),
        (PROXY, {}, False),
        (HERE, {"X_Forwarded_Proto": "http"}, False),
        (HERE, {"X_Forwarded_Proto": "https"}, False),
        (HERE, {"X_Forwarded_For": OUTSIDE}, False),
        (HERE, {"Forwarded": f"for={OUTSIDE}"}, False),
        (HERE, {"X_Real_IP": OUTSIDE}, False),
        (None, {}, False),
    ],
)
def test_beyond_this_machine_https_is_required(peer, headers, private):
    callers = Callers(["10.0.0.0/8"])
    asked = request(peer, **headers)
    assert callers.is_private(asked) is private
    if private:
        callers.demand_private(asked)
    else:
        with pytest.raises(ApiError) as caught:
            callers.demand_private(asked)
        assert (caught.value.status, caught.value.code) == (403, "HTTPS_REQUIRED")
        for way_out in ("--tls-cert", "DROVER_TRUSTED_PROXIES", "DROVER_PLAIN_HTTP_FROM"):
            assert way_out in caught.value.hint


def test_a_connection_with_tls_is_private_by_itself():
    assert Callers().is_private(request(OUTSIDE, tls=True))


def test_a_proxy_on_this_machine_is_believed_once_it_is_named():
    callers = Callers(["127.0.0.1"])
    assert callers.is_private(request(HERE, X_Forwarded_Proto="https"))
    assert not callers.is_private(request(HERE, X_Forwarded_Proto="http"))
    assert callers.is_encrypted(request(HERE, X_Forwarded_Proto="https"))
    assert not callers.is_encrypted(request(HERE))


@pytest.mark.req("SE-07")
@pytest.mark.parametrize(
    ("peer", "headers", "private"),
    [
        ("192.168.7.20", {}, True),
        ("::ffff:192.168.7.20", {}, True),
        ("192.168.8.20", {}, False),
        (OUTSIDE, {"X_Forwarded_For": "192.168.7.20"}, False),
        (PROXY, {"X_Forwarded_For": "192.168.7.20", "X_Forwarded_Proto": "http"}, True),
        (PROXY, {"X_Forwarded_For": OUTSIDE, "X_Forwarded_Proto": "http"}, False),
        (PROXY, {"X_Forwarded_Proto": "http"}, False),
    ],
)
def test_plain_http_is_accepted_from_the_callers_of_a_closed_network(peer, headers, private):
    callers, asked = Callers([PROXY], ["192.168.7.0/24"]), request(peer, **headers)
    assert callers.is_private(asked) is private
    assert not callers.is_encrypted(asked), "so a cookie for it is not marked as secure"


@pytest.mark.parametrize(
    ("peer", "forwarded", "key"),
    [
        (OUTSIDE, None, OUTSIDE),
        (OUTSIDE, "198.51.100.1", OUTSIDE),
        (PROXY, "198.51.100.1", "198.51.100.1"),
        (PROXY, "1.1.1.1, 198.51.100.1", "198.51.100.1"),
        (PROXY, "198.51.100.1, 10.9.9.9", "198.51.100.1"),
        (PROXY, "nonsense", PROXY),
        (PROXY, None, PROXY),
        ("2001:db8:1:2:3:4:5:6", None, "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", None, "2001:db8:1:2::/64"),
        (None, None, "unknown"),
    ],
)
def test_tries_are_counted_by_who_really_calls(peer, forwarded, key):
    headers = {} if forwarded is None else {"X_Forwarded_For": forwarded}
    assert Callers(["10.0.0.0/8"]).key_of(request(peer, **headers)) == key


def test_a_network_that_is_none_stops_the_start():
    with pytest.raises(ConfigurationError, match="DROVER_TRUSTED_PROXIES"):
        Callers(["10.0.0.0/99"])
    with pytest.raises(ConfigurationError, match="DROVER_PLAIN_HTTP_FROM"):
        Callers([], ["10.0.0.0/99"])


@pytest.mark.parametrize(
    ("headers", "good"),
    [
        ({"Sec_Fetch_Site": "same-origin"}, True),
        ({"Sec_Fetch_Site": "same-origin", "Origin": "http://localhost:5173"}, True),
        ({"Sec_Fetch_Site": "cross-site"}, False),
        ({"Sec_Fetch_Site": "same-site"}, False),
        ({"Sec_Fetch_Site": "none"}, False),
        ({"Sec_Fetch_Site": "cross-site", "X_Drover_Csrf": "1"}, False),
        ({"Origin": "https://drover.example.com"}, True),
        ({"Origin": "https://evil.example.com"}, False),
        ({"Origin": "https://drover.example.com.evil.com"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://[::"}, False),
        ({"Origin": "https://evil.example.com", "X_Drover_Csrf": "1"}, False),
        ({"X_Drover_Csrf": "1"}, True),
        ({"X_Drover_Csrf": ""}, False),
        ({}, False),
    ],
)
def test_a_cookie_is_used_by_our_own_pages_only(headers, good):
    asked = request(HERE, **headers)
    if good:
        demand_same_origin(asked)
    else:
        with pytest.raises(ApiError) as caught:
            demand_same_origin(asked)
        assert (caught.value.status, caught.value.code) == (403, "CROSS_SITE")
