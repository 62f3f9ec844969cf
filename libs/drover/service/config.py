"""Configuration from the environment, strict: a name or value that Drover does not understand stops the start."""

from __future__ import annotations

import difflib
import os
import re
import socket
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from drover.domain.errors import DroverError

PREFIX: Final = "DROVER_"
SECRET_CHARS_MIN: Final = 32
SECRETS_MAX: Final = 2

_CREDENTIALS_IN_URL: Final = re.compile(r"(?<=://)[^@/\s]*(?=@)|(?<=\?)\S*")
_HIDDEN: Final = "•••"


class ConfigurationError(DroverError):
    """A setting is unknown, missing or malformed; each problem says what to write instead."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


def _instance() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


# The description of each type says what is expected, the first example what to write: both end up in error messages.
NatsUrl = Annotated[
    str,
    Meta(
        pattern=r"^(nats|tls|ws|wss)://[^\s]+$",
        description="one or more NATS addresses, separated by commas",
        examples=["nats://127.0.0.1:4222"],
    ),
]
PostgresUrl = Annotated[
    str,
    Meta(
        pattern=r"^postgres(ql)?://[^\s]*$",
        description="a PostgreSQL address",
        examples=["postgresql://drover@127.0.0.1:5432/drover"],
    ),
]
Host = Annotated[
    str, Meta(pattern=r"^[^\s/]{1,253}\Z", description="a host name or an IP address", examples=["127.0.0.1"])
]
Port = Annotated[
    int, Meta(ge=0, le=65535, description="a port from 1 to 65535, or 0 for any free one", examples=["8080"])
]
Secret = Annotated[str, Meta(min_length=SECRET_CHARS_MIN, max_length=512)]
Secrets = Annotated[
    tuple[Secret, ...],
    Meta(
        min_length=1,
        max_length=SECRETS_MAX,
        description=f"one or two secrets of at least {SECRET_CHARS_MIN} characters, separated by a comma",
        examples=["$(openssl rand -hex 32)"],
    ),
]
LogFormat = Annotated[Literal["json", "console"], Meta(description="json or console", examples=["json"])]
LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    Meta(description="debug, info, warning or error", examples=["info"]),
]
Flag = Annotated[bool, Meta(description="1 or 0, true or false", examples=["1"])]
BodyBytes = Annotated[
    int, Meta(ge=1024, le=64 * 1024 * 1024, description="bytes from 1024 to 67108864", examples=["1048576"])
]
Seconds = Annotated[float, Meta(gt=0, le=600, description="seconds, above 0 and at most 600", examples=["10"])]
Connections = Annotated[int, Meta(ge=1, le=200, description="a number from 1 to 200", examples=["8"])]
Rate = Annotated[float, Meta(gt=0, le=1_000_000, description="a number above 0, at most 1000000", examples=["5"])]
Burst = Annotated[int, Meta(ge=1, le=1_000_000, description="a whole number from 1 to 1000000", examples=["20"])]
Replicas = Annotated[Literal[1, 3, 5], Meta(description="1, 3 or 5", examples=["3"])]
Instance = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9._-]{1,128}\Z",
        description="up to 128 letters, digits, dots, dashes and underscores",
        examples=["gateway-1"],
    ),
]


class Settings(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=False):
    """Everything that can be set. The variable of a field is `DROVER_` and its name in capitals."""

    nats_url: NatsUrl
    """The NATS servers that hold the log and carry the commands."""
    nats_system_url: NatsUrl | None = None
    """The same servers as a user of the system account: needed to see whether they fsync."""
    nats_replicas: Replicas = 1
    """Copies of every stream that Drover makes: 1 on one server, 3 in a cluster. Existing streams stay as they are."""
    postgres_url: PostgresUrl
    """The database of the read models. The farm works on while it is down."""
    postgres_connections_max: Connections = 8
    """Size of the connection pool of this process."""
    http_host: Host = "127.0.0.1"
    """Address to listen on. Loopback unless told otherwise: opening up to a network is a decision."""
    http_port: Port = 8080
    """Port of everything that this process serves over HTTP."""
    jwt_secrets: Secrets
    """Keys that API tokens are verified with. The first one signs; the second one is on its way in or out."""
    log_format: LogFormat = "json"
    """One JSON object a line for machines, or coloured lines for people."""
    log_level: LogLevel = "info"
    """The least important level that is written."""
    allow_unsynced: Flag = False
    """Accept a NATS server that acknowledges before it has synced to disk. Loses acknowledged work on power failure."""
    anon_may_create_jobs: Flag = False
    """Let the key that is in every phone create jobs, as the first dashboards do."""
    body_bytes_max: BodyBytes = 1024 * 1024
    """Larger request bodies are refused with 413."""
    device_requests_per_s: Rate = 5.0
    """Polls and reports of progress that one device may send in the long run; beyond that 429."""
    device_requests_burst: Burst = 20
    """How many of them it may send at once. Heartbeats and final reports have four times as much, of their own."""
    shutdown_grace_s: Seconds = 10.0
    """How long each component may take to drain before it is abandoned."""
    instance: Instance = msgspec.field(default_factory=_instance)
    """The name of this process in leases, logs and `by` fields."""

    def shown(self) -> dict[str, Any]:
        """The settings as they may be shown to people: no secret, no password."""
        return {name: _shown(name, getattr(self, name)) for name in self.__struct_fields__}

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in self.shown().items())})"

    __str__ = __repr__


FIELDS: Final = {PREFIX + field.name.upper(): field for field in msgspec.structs.fields(Settings)}
"""Every variable that Drover reads, with the field that it sets."""


def load(environ: Mapping[str, str]) -> Settings:
    """Read the settings, or raise a ConfigurationError that names every problem at once. An empty value is no value."""
    given = {name: value for name, value in environ.items() if name.startswith(PREFIX) and value != ""}
    problems = [_unknown(name) for name in sorted(given.keys() - FIELDS.keys())]
    values: dict[str, Any] = {}
    for name, field in FIELDS.items():
        if name not in given:
            if field.required:
                problems.append(f"{name} is not set. {_instead(name)}")
            continue
        raw: Any = given[name]
        if field.type is Secrets:
            raw = [secret.strip() for secret in raw.split(",")]
        try:
            values[field.name] = msgspec.convert(raw, field.type, strict=False)
        except msgspec.ValidationError:
            # Of an address that is not one, nobody can say where its password stands.
            secret = field.name.endswith("_url") and ("@" in given[name] or "password" in given[name])
            value = _HIDDEN if secret else _shown(field.name, given[name])
            problems.append(f"{name}={value} is not understood. {_instead(name)}")
    if problems:
        raise ConfigurationError(tuple(problems))
    return Settings(**values)


def _shown(name: str, value: Any) -> Any:
    if name == "jwt_secrets":
        return _HIDDEN
    return _CREDENTIALS_IN_URL.sub(_HIDDEN, value) if isinstance(value, str) else value


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, FIELDS, n=1, cutoff=0.6)
    remedy = f"Did you mean {close[0]}?" if close else f"Remove it; Drover reads {', '.join(FIELDS)}."
    return f"{name} is not a setting of Drover. {remedy}"


def _instead(name: str) -> str:
    meta = _meta(FIELDS[name].type)
    return f"It takes {meta.description}; for example {name}={(meta.examples or [''])[0]}."


def _meta(annotation: Any) -> Meta:
    for part in (annotation, *getattr(annotation, "__args__", ())):  # the second place is for `NatsUrl | None`
        for meta in getattr(part, "__metadata__", ()):
            if isinstance(meta, Meta):
                return meta
    raise TypeError(f"{annotation} says nothing about what it takes")
