"""Reads the configuration from the environment, strictly: an unknown name or value stops the start."""

from __future__ import annotations

import difflib
import os
import re
import socket
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from ipaddress import ip_address
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta
from msgspec.structs import FieldInfo

from drover.domain.errors import DroverError
from drover.service.other_names import Fallback, fallbacks
from drover.service.setting_types import (
    AnonLevel,
    ArchivePlace,
    BodyBytes,
    Burst,
    CertificateFile,
    ClaimName,
    ClaimValue,
    ClaimValues,
    Connections,
    EventCount,
    Flag,
    Host,
    HttpsUrl,
    HttpUrl,
    HttpUrlWithKey,
    Instance,
    LogFormat,
    LogLevel,
    NatsUrl,
    Networks,
    Origins,
    Port,
    PostgresUrl,
    PrivateKeyFile,
    Rate,
    Ratio,
    Replicas,
    SealingKeys,
    Seconds,
    Secrets,
    Size,
    Word,
)

PREFIX: Final = "DROVER_"
CLIENT_URL: Final = "DROVER_URL"
CLIENT_KEY: Final = "DROVER_KEY"
_OF_CLIENTS: Final = frozenset({CLIENT_URL, CLIENT_KEY, f"{CLIENT_KEY}_FILE"})
"""What clients of a running platform read, such as `drover jobs`. A shell that has them set may start services, too."""

_ISSUER: Final = ("DROVER_JWKS_URL", "DROVER_JWT_ISSUER")
_TLS: Final = ("DROVER_TLS_CERT", "DROVER_TLS_KEY")
_OF_THE_ISSUER: Final = ("DROVER_JWT_AUDIENCE", "DROVER_JWT_AUTHORIZED_PARTIES")
"""Optional settings about the tokens of another issuer. If one is set, DROVER_JWT_ISSUER and DROVER_JWKS_URL are
needed."""
_CREDENTIALS_IN_URL: Final = re.compile(r"(?<=://)[^@/\s]*(?=@)|(?<=\?)\S*")
_HIDDEN: Final = "•••"
_SECRET_NAMES: Final = (
    "_secret",
    "_secrets",
    "_keys",
    "_password",
    "_private_key",
    "_apprise_urls",
    "alert_slack_url",
    "alert_webhook_url",
)
_URLS_WITH_PASSWORDS: Final = ("nats_url", "nats_system_url", "postgres_url", "sentry_dsn")
"""URLs as settings. When they are shown, only the credentials in them are hidden."""


class ConfigurationError(DroverError):
    """A setting is unknown, missing or malformed; each problem says what to write instead."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


def _instance() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


class Section(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=False):
    """Settings that belong together. The variable of a field is `DROVER_` plus its name in capitals."""

    def shown(self) -> dict[str, Any]:
        """Return the settings with secrets and passwords hidden, to show to people."""
        return {name: _shown(name, getattr(self, name)) for name in self.__struct_fields__}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.shown().items())})"

    __str__ = __repr__


class Settings(Section, frozen=True, kw_only=True):
    """The settings of every process, whichever services it runs. Each service declares its own settings beside them."""

    nats_url: NatsUrl
    """The NATS servers that hold the log and carry the commands."""
    nats_system_url: NatsUrl | None = None
    """The same servers, with a user of the system account. It is needed to check whether they sync each write to
    disk."""
    nats_replicas: Replicas = 1
    """Replicas of every stream: 1 on one server, 3 in a cluster. An existing stream with fewer is refused at the
    start; `drover log replicas N` adds some."""
    archive: ArchivePlace | None = None
    """The archive of the log. Commits that are no longer in NATS are read from there. Set it for every service and for
    the command line."""
    log_max: Size | None = None
    """How many bytes the log of each context may hold, before compression. A full log is read-only. Not set: no limit.
    `drover up` applies the setting at every start; otherwise only new logs get it. Change an existing one with `nats
    stream edit`."""
    archive_s3_endpoint: HttpUrl | None = None
    """The server of an archive in a bucket (s3://bucket/prefix), if it is not that of AWS."""
    archive_s3_region: Word | None = None
    """The region of the bucket. Not set: us-east-1, which most servers other than AWS accept."""
    archive_s3_key_id: Word | None = None
    """The id of the access key. Not set: the credentials of the container or machine, as other AWS programs find
    them."""
    archive_s3_secret: Word | None = None
    """The secret of that access key."""
    postgres_url: PostgresUrl
    """The database of the read models. The farm keeps working while it is down."""
    postgres_connections_max: Connections = 8
    """Size of the connection pool of this process."""
    http_host: Host = "127.0.0.1"
    """Address to listen on. Loopback by default: opening the process to a network is your decision."""
    http_port: Port = 8080
    """Port of everything that this process serves over HTTP."""
    tls_cert: CertificateFile | None = None
    """File with the certificate (and its chain), in PEM form. Then this process serves HTTPS, and reads the file again
    when it changes. Needs DROVER_TLS_KEY."""
    tls_key: PrivateKeyFile | None = None
    """File with the private key of that certificate, in PEM form."""
    jwt_secrets: Secrets = ()
    """Shared secrets that verify API keys without an id, which older installations have. New keys need none: they are
    signed with a key of DROVER_IDENTITY_SECRETS and verified with its public key."""
    sealing_keys: SealingKeys = ()
    """Keys that encrypt personal fields before they enter the log. The first one seals; all of them open. They are used
    for every context that has no sealing keys of its own."""
    fleet_sealing_keys: SealingKeys = ()
    """Sealing keys of the context `fleet` alone. Each process needs only the keys of the contexts whose fields it seals
    or opens."""
    render_sealing_keys: SealingKeys = ()
    """Sealing keys of renders: the gateway seals gfx_data with them, and render workers open it."""
    analysis_sealing_keys: SealingKeys = ()
    """Sealing keys of analyses."""
    reminder_sealing_keys: SealingKeys = ()
    """Sealing keys of reminders: subscriptions of browsers."""
    identity_sealing_keys: SealingKeys = ()
    """Sealing keys of accounts: e-mail addresses and passwords."""
    identity_secrets: Secrets = ()
    """Secrets that sign API keys and people's tokens, and hash e-mail addresses for lookup. The first one signs. A
    second one is needed only during a rotation, for what the other secret signed. Only `api` and the command line need
    these secrets."""
    jwks_url: HttpsUrl | None = None
    """The URL at which another issuer of people's tokens publishes its keys. Needs DROVER_JWT_ISSUER."""
    jwt_issuer: ClaimValue | None = None
    """The claim `iss` of that issuer's tokens."""
    jwt_audience: ClaimValue | None = None
    """The claim `aud` in that issuer's tokens for Drover. Not set: only tokens without `aud` are accepted, such as
    Clerk's."""
    jwt_authorized_parties: ClaimValues = ()
    """The origins that the claim `azp` in that issuer's tokens may name. Not set: `azp` is not checked."""
    jwt_role_claim: ClaimName = "role"
    """The claim with the role (admin, operator or viewer) in that issuer's tokens. People without one see only their
    own data."""
    trusted_proxies: Networks = ()
    """Proxies whose X-Forwarded-Proto and X-Forwarded-For are trusted."""
    plain_http_from: Networks = ()
    """Addresses from which keys, tokens and passwords are accepted over plain HTTP, for a closed network. Anybody in
    between can read them, so each start logs a warning. Not set: they are accepted over HTTPS only, except from this
    machine."""
    cors_origins: Origins = ()
    """Origins whose pages may call this process from a browser and open Realtime's WebSocket. Not set: only its own
    pages. Pages of other origins can never use cookies, so they cannot sign in by cookie."""
    log_format: LogFormat = "json"
    """The format of the logs: one JSON object a line for machines, coloured lines for people (console), or the lines of
    001 and 003 (plain)."""
    log_level: LogLevel = "info"
    """The lowest level that is logged."""
    access_log: Flag = True
    """Log one line for each request, at the level info, with caller, route and address. Heartbeats, empty polls and
    probes are left out, and so are the values of query parameters."""
    allow_unsynced: Flag = False
    """Accept a NATS server that acknowledges before it syncs to disk. A power failure then loses acknowledged work."""
    anon: AnonLevel | None = None
    """What the key in every phone may do: nothing (off), read devices, jobs and assignments (read), also send
    heartbeats and reports (agent), also register devices, create and switch jobs, assign and cancel (full). Not set:
    full if only this machine can reach the process, otherwise off."""
    anon_may_create_jobs: Flag = False
    """Let the anon key, which is in every phone, create jobs, as the first dashboards do. If DROVER_ANON is not set and
    other machines can reach the process, this also raises its level from off to agent."""
    requests_per_s: Rate = 50.0
    """Requests per second that one person may send to one process in the long run; further ones are answered with 429.
    Devices, end users and programs get multiples of this number (docs/adr/0043)."""
    requests_burst: Burst = 500
    """How many requests one person may send at once."""
    user_events_per_day: EventCount = 1000
    """How many events an end user (a person without a role) may cause in a day in one context; further commands are
    refused with 429 until midnight UTC."""
    body_bytes_max: BodyBytes = 1024 * 1024
    """The maximum size of a request's body; larger ones are refused with 413."""
    sentry_dsn: HttpUrlWithKey | None = None
    """Where to report errors. Not set: nowhere. Needs the extra `drover[sentry]`."""
    otlp_endpoint: HttpUrl | None = None
    """Where to send spans, by OTLP over HTTP. Not set: to OTEL_EXPORTER_OTLP_ENDPOINT, else nowhere. Needs the extra
    `drover[otel]`."""
    trace_ratio: Ratio = 1.0
    """The share of new traces that is recorded, from 0 to 1, if spans are exported. If a caller sends a trace, the
    caller has decided whether it is recorded."""
    shutdown_grace_s: Seconds = 10.0
    """How many seconds each component may take to finish its work at shutdown. After that it is abandoned."""
    instance: Instance = msgspec.field(default_factory=_instance)
    """The name of this process in leases, logs and `by` fields."""

    @property
    def is_local(self) -> bool:
        """Whether this process listens on loopback addresses only."""
        try:
            return self.http_host == "localhost" or ip_address(self.http_host).is_loopback
        except ValueError:
            return False

    @property
    def anon_level(self) -> AnonLevel:
        """What the anon key may do. Without the setting, this depends on whether other machines can reach the process.
        If it has trusted proxies, they can, wherever it listens."""
        if self.anon is not None:
            return self.anon
        if self.is_local and not self.trusted_proxies:
            return "full"
        return "agent" if self.anon_may_create_jobs else "off"

    def sealing_ring(self, context: str) -> tuple[str, ...]:
        """Return the sealing keys of a context: its own or, if it has none, those of DROVER_SEALING_KEYS."""
        own: tuple[str, ...] = getattr(self, f"{context}_sealing_keys")
        return own or self.sealing_keys


S = TypeVar("S", bound=Section)


class Configuration:
    """The settings of one process, by section: `configuration[Settings].http_port` reads one of them."""

    def __init__(self, sections: Iterable[Section]) -> None:
        self._sections = {type(section): section for section in sections}

    def __getitem__(self, section: type[S]) -> S:
        found = self._sections[section]
        assert isinstance(found, section)
        return found


_struct_fields: Final = cache(msgspec.structs.fields)  # cached: each call evaluates every annotation of the class


def fields_of(*sections: type[Section]) -> dict[str, FieldInfo]:
    """Return the fields of these sections, by the name of their environment variable."""
    found: dict[str, FieldInfo] = {}
    for section in sections:
        for field in _struct_fields(section):
            name = PREFIX + field.name.upper()
            assert name not in found, f"two sections declare {name}"
            found[name] = field
    return found


_GENERAL: Final = fields_of(Settings)
REQUIRED: Final = tuple(name for name, field in _GENERAL.items() if field.required)
"""The variables that every service needs."""


def read(
    environ: Mapping[str, str], *sections: type[Section], known: Collection[str] = (), without: Collection[str] = ()
) -> Configuration:
    """Read these sections, or raise a ConfigurationError with all problems at once. An empty value counts as not set.

    `known`: variables of Drover that other code reads. Any other unknown name that begins with DROVER_ is a problem.

    `without`: required settings that this caller does not need. If they are not set, they get an empty value.
    """
    fields = fields_of(*sections)
    given = {name: value for name, value in environ.items() if name.startswith(PREFIX) and value != ""}
    names = {*fields, *known}
    problems = [_unknown(name, names) for name in sorted(given.keys() - names - _OF_CLIENTS)]
    theirs = fallbacks(environ)
    given |= {name: fallback.value for name, fallback in theirs.items()}
    found = [_section(section, given, theirs, without, problems) for section in sections]
    problems += _not_alone(given)
    if problems:
        raise ConfigurationError(tuple(problems))
    return Configuration(section(**values) for section, values in zip(sections, found, strict=True))


def _section(
    section: type[Section],
    given: Mapping[str, str],
    theirs: Mapping[str, Fallback],
    without: Collection[str],
    problems: list[str],
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, field in fields_of(section).items():
        if name in given:
            try:
                values[field.name] = _value(field, given[name])
            except msgspec.ValidationError:
                source = theirs[name].source if name in theirs else name
                problems.append(f"{source}={_refused(field, given[name])} is not understood. {_instead(name, field)}")
        elif name in without:
            values[field.name] = () if _is_list(field) else ""
        elif field.required:
            problems.append(_not_set(name, field))
    return values


def _value(field: FieldInfo, text: str) -> Any:
    raw = [item.strip() for item in text.split(",")] if _is_list(field) else text
    return msgspec.convert(raw, field.type, strict=False)


def _is_list(field: FieldInfo) -> bool:
    return get_origin(_bare(field.type)) is tuple


def _refused(field: FieldInfo, value: str) -> Any:
    # We cannot locate the password in a malformed URL, so hide all of it.
    secret = field.name.endswith("_url") and ("@" in value or "password" in value)
    return _HIDDEN if secret else _shown(field.name, value)


def not_set(name: str) -> ConfigurationError:
    """Make the error for a setting in `Settings` that is not set. It is for callers that find out later that they need
    it."""
    return ConfigurationError((_not_set(name, _GENERAL[name]),))


def _not_set(name: str, field: FieldInfo) -> str:
    return f"{name} is not set. {_instead(name, field)}"


def _not_alone(given: Mapping[str, str]) -> list[str]:
    """Check the settings that go together, and return a problem for each missing one. If only some settings of the
    other issuer were set, Drover would accept no token of that issuer, or too many."""
    problems = []
    for pair, needing in ((_ISSUER, _OF_THE_ISSUER), (_TLS, ())):
        if not given.keys().isdisjoint((*pair, *needing)):
            together = f"{' and '.join(pair)} go together"
            missing = (name for name in pair if name not in given)
            problems += [f"{name} is not set, and {together}. {_instead(name, _GENERAL[name])}" for name in missing]
    return problems


def is_secret(variable: str) -> bool:
    """Whether the value of this variable must not be seen by others."""
    return variable.removeprefix(PREFIX).lower().endswith((*_SECRET_NAMES, *_URLS_WITH_PASSWORDS))


def _shown(name: str, value: Any) -> Any:
    if name.endswith(_SECRET_NAMES):
        return _HIDDEN
    return _CREDENTIALS_IN_URL.sub(_HIDDEN, value) if isinstance(value, str) else value


def _unknown(name: str, names: Collection[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    remedy = f"Did you mean {close[0]}?" if close else "Remove it; `drover config` lists all settings."
    return f"{name} is not a setting of Drover. {remedy}"


def _instead(name: str, field: FieldInfo) -> str:
    meta = meta_of(field)
    return f"It takes {meta.description}; for example {name}={(meta.examples or [''])[0]}."


def meta_of(field: FieldInfo) -> Meta:
    """Return the description and the example of a setting."""
    for part in (field.type, *getattr(field.type, "__args__", ())):  # `__args__` is for `NatsUrl | None`
        for meta in getattr(part, "__metadata__", ()):
            if isinstance(meta, Meta):
                return meta
    raise TypeError(f"{field.type} has no description")


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
