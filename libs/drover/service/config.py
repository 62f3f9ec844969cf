"""Reads the configuration from the environment, strictly: an unknown name or value stops the start."""

from __future__ import annotations

import difflib
import os
import re
import socket
from collections.abc import Collection, Iterable, Mapping
from functools import cache
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
    ClaimName,
    ClaimValue,
    ClaimValues,
    Connections,
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
    Port,
    PostgresUrl,
    Ratio,
    Replicas,
    SealingKeys,
    Seconds,
    Secrets,
    Size,
    Word,
)

PREFIX: Final = "DROVER_"

_ISSUER: Final = ("DROVER_JWKS_URL", "DROVER_JWT_ISSUER")
_OF_THE_ISSUER: Final = ("DROVER_JWT_AUDIENCE", "DROVER_JWT_AUTHORIZED_PARTIES")
"""Settings about the tokens of the other issuer. They need DROVER_JWT_ISSUER."""
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
    """The most that the log of each context may hold, before compression; then it is read-only. Not set: no limit.
    `drover up` applies it at every start, otherwise only new logs get it: change others with `nats stream edit`."""
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
    jwt_secrets: Secrets
    """Keys that verify API tokens. The first one signs; the second one is being rotated in or out."""
    sealing_keys: SealingKeys = ()
    """Keys that encrypt personal fields before they enter the log. The first one seals; all of them open."""
    identity_secrets: Secrets = ()
    """Secrets that sign people's tokens and hash their e-mail addresses for lookup. The first one signs; the second one
    is being rotated out."""
    jwks_url: HttpsUrl | None = None
    """Where another issuer of people's tokens publishes its keys. Needs DROVER_JWT_ISSUER."""
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
    log_format: LogFormat = "json"
    """The format of the logs: one JSON object a line for machines, coloured lines for people (console), or the lines of
    001 and 003 (plain)."""
    log_level: LogLevel = "info"
    """The lowest level that is logged."""
    allow_unsynced: Flag = False
    """Accept a NATS server that acknowledges before it syncs to disk. A power failure then loses acknowledged work."""
    anon: AnonLevel = "agent"
    """What the key in every phone may do: nothing (off), read devices, jobs and assignments (read), also send
    heartbeats and reports (agent), also register devices, create and switch jobs, assign and cancel (full)."""
    anon_may_create_jobs: Flag = False
    """Let the API key that is in every phone create jobs, as the first dashboards do."""
    body_bytes_max: BodyBytes = 1024 * 1024
    """The maximum size of a request's body; larger ones are refused with 413."""
    sentry_dsn: HttpUrlWithKey | None = None
    """Where to report errors. Not set: nowhere. Needs the extra `drover[sentry]`."""
    otlp_endpoint: HttpUrl | None = None
    """Where to send spans, by OTLP over HTTP. Not set: to OTEL_EXPORTER_OTLP_ENDPOINT, else nowhere. Needs the extra
    `drover[otel]`."""
    trace_ratio: Ratio = 1.0
    """The share of new traces that is recorded, if spans are exported. Callers that send a trace decide for it."""
    shutdown_grace_s: Seconds = 10.0
    """How long each component may take to drain before it is abandoned."""
    instance: Instance = msgspec.field(default_factory=_instance)
    """The name of this process in leases, logs and `by` fields."""


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
    """Return every variable of these sections, with its field."""
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

    `known`: other variables of Drover, which other code reads. Any further name with DROVER_ is a problem.

    `without`: required settings that this caller does not need. They are empty if they are not set.
    """
    fields = fields_of(*sections)
    given = {name: value for name, value in environ.items() if name.startswith(PREFIX) and value != ""}
    names = {*fields, *known}
    problems = [_unknown(name, names) for name in sorted(given.keys() - names)]
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
    """Make the error for a general setting that is not set. For a caller that needs the setting only later."""
    return ConfigurationError((_not_set(name, _GENERAL[name]),))


def _not_set(name: str, field: FieldInfo) -> str:
    return f"{name} is not set. {_instead(name, field)}"


def _not_alone(given: Mapping[str, str]) -> list[str]:
    """Return a problem for each missing setting of the other issuer, if some of them are set. With only some, Drover
    would accept no token of that issuer, or too many."""
    if given.keys().isdisjoint((*_ISSUER, *_OF_THE_ISSUER)):
        return []
    missing = [name for name in _ISSUER if name not in given]
    together = " and ".join(_ISSUER)
    return [f"{name} is not set, and {together} go together. {_instead(name, _GENERAL[name])}" for name in missing]


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
