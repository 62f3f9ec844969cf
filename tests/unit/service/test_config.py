"""Configuration from the environment: strict, helpful, and silent about secrets."""

from __future__ import annotations

import pytest

from drover.api.identity.settings import IdentitySettings
from drover.domain.contexts import CONTEXTS
from drover.gateway.settings import GatewaySettings
from drover.platform.settings import FIELDS, SECTIONS
from drover.readmodel.docstrings import field_texts
from drover.service.config import REQUIRED, ConfigurationError, fields_of, meta_of
from tests.settings import load

SECRET = "s" * 32
GOOD = {
    "DROVER_NATS_URL": "nats://127.0.0.1:4222",
    "DROVER_POSTGRES_URL": "postgresql://drover:hunter2@127.0.0.1/drover",
    "DROVER_JWT_SECRETS": SECRET,
}


def test_defaults_are_for_one_machine():
    settings = load(GOOD)
    assert (settings.http_host, settings.http_port) == ("127.0.0.1", 8080)
    assert settings.log_format == "json"
    assert settings.allow_unsynced is False
    assert settings.anon_may_create_jobs is False
    assert settings.body_bytes_max == 1024 * 1024
    limits = load(GOOD, GatewaySettings)
    assert (limits.device_requests_per_s, limits.device_requests_burst) == (5, 20)
    assert settings.instance


@pytest.mark.req("SE-02")
@pytest.mark.parametrize(
    ("environ", "level"),
    [
        ({}, "full"),
        ({"DROVER_HTTP_HOST": "localhost"}, "full"),
        ({"DROVER_HTTP_HOST": "::1"}, "full"),
        ({"DROVER_HTTP_HOST": "0.0.0.0"}, "off"),
        ({"DROVER_HTTP_HOST": "::"}, "off"),
        ({"DROVER_HTTP_HOST": "192.168.7.2"}, "off"),
        ({"DROVER_HTTP_HOST": "farm.example.com"}, "off"),
        ({"DROVER_TRUSTED_PROXIES": "127.0.0.1"}, "off"),
        ({"DROVER_HTTP_HOST": "0.0.0.0", "DROVER_ANON": "agent"}, "agent"),
        ({"DROVER_ANON": "off"}, "off"),
        ({"DROVER_HTTP_HOST": "0.0.0.0", "DROVER_ANON_MAY_CREATE_JOBS": "1"}, "agent"),
        ({"DROVER_HTTP_HOST": "0.0.0.0", "DROVER_ANON_MAY_CREATE_JOBS": "1", "DROVER_ANON": "off"}, "off"),
        ({"DROVER_ANON_MAY_CREATE_JOBS": "1"}, "full"),
    ],
)
def test_the_anon_key_may_do_all_on_this_machine_and_nothing_where_others_reach_it(environ, level):
    assert load(GOOD | environ).anon_level == level


def test_values_are_converted_to_their_types():
    settings = load(
        GOOD
        | {
            "DROVER_HTTP_PORT": "9000",
            "DROVER_ALLOW_UNSYNCED": "1",
            "DROVER_ANON_MAY_CREATE_JOBS": "true",
            "DROVER_SHUTDOWN_GRACE_S": "2.5",
            "DROVER_JWT_SECRETS": f"{SECRET}, {'t' * 40}",
        }
    )
    assert settings.http_port == 9000
    assert settings.allow_unsynced is True
    assert settings.anon_may_create_jobs is True
    assert settings.shutdown_grace_s == 2.5
    assert settings.jwt_secrets == (SECRET, "t" * 40)


def test_other_programs_variables_are_not_ours_and_an_empty_value_is_no_value():
    assert load(GOOD | {"PATH": "/bin", "DROVER_LOG_LEVEL": ""}).log_level == "info"


def test_a_misspelt_setting_stops_the_start_and_names_the_right_one():
    with pytest.raises(ConfigurationError) as caught:
        load(GOOD | {"DROVER_HTPP_PORT": "80"})
    assert caught.value.problems == ("DROVER_HTPP_PORT is not a setting of Drover. Did you mean DROVER_HTTP_PORT?",)


def test_a_setting_like_no_other_is_answered_with_where_to_look():
    with pytest.raises(ConfigurationError, match="Remove it; `drover config` lists all settings"):
        load(GOOD | {"DROVER_ZZZZZZ": "1"})


def test_every_missing_setting_is_named_at_once():
    with pytest.raises(ConfigurationError) as caught:
        load({})
    assert [problem.split()[0] for problem in caught.value.problems] == [
        "DROVER_NATS_URL",
        "DROVER_POSTGRES_URL",
    ]
    assert "for example DROVER_NATS_URL=nats://127.0.0.1:4222." in caught.value.problems[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DROVER_HTTP_PORT", "eighty"),
        ("DROVER_HTTP_PORT", "65536"),
        ("DROVER_LOG_FORMAT", "xml"),
        ("DROVER_LOG_LEVEL", "loud"),
        ("DROVER_ALLOW_UNSYNCED", "perhaps"),
        ("DROVER_NATS_URL", "127.0.0.1:4222"),
        ("DROVER_NATS_SYSTEM_URL", "http://127.0.0.1"),
        ("DROVER_POSTGRES_URL", "mysql://x"),
        ("DROVER_BODY_BYTES_MAX", "1"),
        ("DROVER_DEVICE_REQUESTS_PER_S", "0"),
        ("DROVER_DEVICE_REQUESTS_PER_S", "nan"),
        ("DROVER_DEVICE_REQUESTS_BURST", "2.5"),
        ("DROVER_SHUTDOWN_GRACE_S", "0"),
        ("DROVER_INSTANCE", "two words"),
        ("DROVER_ACCESS_TOKEN_S", "3601"),
        ("DROVER_SESSION_DAYS", "0"),
        ("DROVER_SESSIONS_MAX", "101"),
        ("DROVER_TRUSTED_PROXIES", "proxy.example.com"),
        ("DROVER_PLAIN_HTTP_FROM", "farm.example.com"),
    ],
)
def test_a_malformed_value_is_shown_with_what_to_write_instead(name, value):
    with pytest.raises(ConfigurationError) as caught:
        load(GOOD | {name: value})
    (problem,) = caught.value.problems
    assert problem.startswith(f"{name}={value} is not understood. It takes ")
    assert f"for example {name}=" in problem


@pytest.mark.parametrize("secrets", ["short", f"{SECRET},short", ",".join([SECRET] * 3), f"{SECRET},"])
def test_bad_secrets_are_refused_and_not_repeated(secrets):
    with pytest.raises(ConfigurationError) as caught:
        load(GOOD | {"DROVER_JWT_SECRETS": secrets})
    assert "at least 32 characters" in str(caught.value)
    assert "short" not in str(caught.value)
    assert SECRET not in str(caught.value)


def test_settings_never_show_secrets_or_passwords():
    settings = load(GOOD)
    for text in (repr(settings), str(settings), f"{settings}", str(settings.shown())):
        assert SECRET not in text
        assert "hunter2" not in text
        assert "127.0.0.1/drover" in text


def test_a_password_in_a_malformed_address_is_not_shown():
    with pytest.raises(ConfigurationError) as caught:
        load(GOOD | {"DROVER_POSTGRES_URL": "mysql://me:hunter2@host/db"})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("DROVER_NATS_URL", "drover:hunter2@nats:4222"), ("DROVER_POSTGRES_URL", "postgres:/drover:hunter2@db/x")],
)
def test_a_malformed_address_does_not_give_its_password_away(name, value):
    with pytest.raises(ConfigurationError) as caught:
        load(GOOD | {name: value})
    assert name in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["nats://hunter2@nats:4222", "nats://me:hunter2@nats:4222"])
def test_neither_a_password_nor_a_token_in_an_address_is_shown(url):
    settings = load(GOOD | {"DROVER_NATS_URL": url, "DROVER_POSTGRES_URL": "postgresql://db/x?password=hunter2"})
    assert "hunter2" not in repr(settings)


SEALING_KEY = "k1:" + "A" * 43 + "="


def test_sealing_keys_and_proxies_are_lists():
    settings = load(
        GOOD
        | {"DROVER_SEALING_KEYS": f"{SEALING_KEY}, k2:{'B' * 43}", "DROVER_TRUSTED_PROXIES": "10.0.0.0/8,::1"}
        | {"DROVER_IDENTITY_SECRETS": f"{SECRET},{'t' * 32}"}
    )
    assert settings.sealing_keys == (SEALING_KEY, "k2:" + "B" * 43)
    assert settings.identity_secrets == (SECRET, "t" * 32)
    assert settings.trusted_proxies == ("10.0.0.0/8", "::1")
    assert "AAAA" not in repr(settings)


@pytest.mark.req("SE-08")
@pytest.mark.parametrize("context", CONTEXTS)
def test_each_context_has_a_sealing_ring_of_its_own_or_that_of_all(context):
    own = f"own:{'B' * 43}="
    assert load(GOOD).sealing_ring(context) == ()
    all_ = {"DROVER_SEALING_KEYS": SEALING_KEY}
    assert load(GOOD | all_).sealing_ring(context) == (SEALING_KEY,)
    settings = load(GOOD | all_ | {f"DROVER_{context.upper()}_SEALING_KEYS": own})
    assert settings.sealing_ring(context) == (own,), "and the keys of all do not open it"
    assert {settings.sealing_ring(other) for other in CONTEXTS if other != context} == {(SEALING_KEY,)}
    assert "BBBB" not in repr(settings)


@pytest.mark.parametrize("keys", ["short", "k1:c2hvcnQ=", "A" * 43 + "=", f"{SEALING_KEY},k2:short"])
def test_a_sealing_key_that_is_none_is_refused_and_not_repeated(keys):
    with pytest.raises(ConfigurationError, match="openssl rand -base64 32") as caught:
        load(GOOD | {"DROVER_SEALING_KEYS": keys})
    assert keys not in str(caught.value)


@pytest.mark.req("SE-07")
@pytest.mark.parametrize(("given", "missing"), [("CERT", "KEY"), ("KEY", "CERT")])
def test_a_certificate_needs_its_key_and_a_key_its_certificate(given, missing):
    with pytest.raises(ConfigurationError, match=f"DROVER_TLS_{missing} is not set, and DROVER_TLS_CERT and"):
        load(GOOD | {f"DROVER_TLS_{given}": "/etc/drover/tls.pem"})


@pytest.mark.req("SY-21")
def test_an_access_token_lives_fifteen_minutes_and_an_hour_at_most():
    assert load(GOOD, IdentitySettings).access_token_s == 900
    assert load(GOOD | {"DROVER_ACCESS_TOKEN_S": "3600"}, IdentitySettings).access_token_s == 3600


ISSUER = {
    "DROVER_JWKS_URL": "https://issuer.example.com/.well-known/jwks.json",
    "DROVER_JWT_ISSUER": "https://issuer.example.com",
    "DROVER_JWT_AUDIENCE": "drover",
}


def test_an_issuer_is_configured_whole():
    assert load(GOOD | ISSUER).jwt_audience == "drover"


@pytest.mark.req("DI-06")
def test_an_issuer_without_audiences_can_name_its_authorized_parties():
    clerk = {name: value for name, value in ISSUER.items() if name != "DROVER_JWT_AUDIENCE"}
    assert load(GOOD | clerk).jwt_audience is None
    assert load(GOOD | clerk).jwt_authorized_parties == ()
    parties = {"DROVER_JWT_AUTHORIZED_PARTIES": "https://a.example.com, https://b.example.com"}
    assert load(GOOD | clerk | parties).jwt_authorized_parties == ("https://a.example.com", "https://b.example.com")


@pytest.mark.req("DI-06")
@pytest.mark.parametrize("name", ["DROVER_JWT_AUDIENCE", "DROVER_JWT_AUTHORIZED_PARTIES"])
def test_what_its_tokens_must_say_needs_an_issuer(name):
    with pytest.raises(ConfigurationError) as caught:
        load(GOOD | {name: "drover"})
    assert [problem.split(" ")[0] for problem in caught.value.problems] == ["DROVER_JWKS_URL", "DROVER_JWT_ISSUER"]


@pytest.mark.parametrize("name", ["DROVER_JWKS_URL", "DROVER_JWT_ISSUER"])
def test_half_of_an_issuer_stops_the_start(name):
    with pytest.raises(ConfigurationError) as caught:
        load(GOOD | {other: value for other, value in ISSUER.items() if other != name})
    (problem,) = caught.value.problems
    assert problem.startswith(f"{name} is not set, and ")


@pytest.mark.parametrize(
    ("given", "missing", "what"),
    [
        ("DROVER_TLS_CERT", "DROVER_TLS_KEY", "a private key in a PEM file"),
        ("DROVER_TLS_KEY", "DROVER_TLS_CERT", "a certificate in a PEM file"),
    ],
)
def test_a_certificate_and_its_key_are_set_together(given, missing, what):
    with pytest.raises(ConfigurationError) as caught:
        load(GOOD | {given: "/etc/drover/tls.pem"})
    (problem,) = caught.value.problems
    assert problem.startswith(f"{missing} is not set, and ") and what in problem


@pytest.mark.req("SY-21")
@pytest.mark.parametrize("url", ["http://issuer.example.com/jwks", "http://127.0.0.1.evil.com/jwks", "ftp://x/jwks"])
def test_keys_of_an_issuer_are_fetched_over_https(url):
    with pytest.raises(ConfigurationError, match="DROVER_JWKS_URL"):
        load(GOOD | ISSUER | {"DROVER_JWKS_URL": url})
    assert load(GOOD | ISSUER | {"DROVER_JWKS_URL": "http://127.0.0.1:9000/jwks"})


def test_what_a_caller_does_not_use_may_be_missing_and_is_empty():
    settings = load({"DROVER_NATS_URL": "nats://n"}, without=("DROVER_POSTGRES_URL", "DROVER_JWT_SECRETS"))
    assert (settings.nats_url, settings.postgres_url, settings.jwt_secrets) == ("nats://n", "", ())
    with pytest.raises(ConfigurationError, match="DROVER_NATS_URL is not set"):
        load({}, without=("DROVER_POSTGRES_URL", "DROVER_JWT_SECRETS"))


def test_what_a_caller_does_not_use_is_still_refused_where_it_is_wrong():
    with pytest.raises(ConfigurationError, match="DROVER_JWT_SECRETS=••• is not understood"):
        load({"DROVER_JWT_SECRETS": "short"}, without=REQUIRED)


def test_no_two_sections_declare_the_same_setting():
    assert len(FIELDS) == sum(len(section.__struct_fields__) for section in SECTIONS)


def test_every_setting_says_what_it_takes_and_what_it_is_for():
    for section in SECTIONS:
        texts = field_texts(section)
        for name, field in fields_of(section).items():
            assert meta_of(field).description, name
            assert texts[field.name], name
