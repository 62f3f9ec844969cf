"""Configuration from the environment, strict: a name or value that Drover does not understand stops the start."""

from __future__ import annotations

import difflib
import os
import re
import socket
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec
from msgspec import Meta

from drover.domain.errors import DroverError
from drover.service.setting_types import (
    AccessSeconds,
    AppriseUrls,
    BodyBytes,
    Burst,
    ClaimName,
    ClaimValue,
    CleanupSeconds,
    Concurrency,
    Connections,
    CronExpression,
    CronSecrets,
    Days,
    FetchLimit,
    Flag,
    Folder,
    Host,
    HttpsUrl,
    HttpUrl,
    HttpUrlWithKey,
    Instance,
    Licences,
    LogFormat,
    LogLevel,
    LongSeconds,
    MinSeverity,
    MountPoint,
    Nas,
    NasGuard,
    NatsUrl,
    Networks,
    PartitionCount,
    PauseSeconds,
    Pixels,
    Port,
    PostgresUrl,
    Provider,
    Rate,
    Ratio,
    Replicas,
    Retries,
    SealingKeys,
    Seconds,
    Secrets,
    SessionCount,
    SlackUrl,
    TierTimeouts,
    TimeZoneName,
    VapidKey,
    VapidSubject,
    Word,
    WorkerCount,
    WorkerId,
)

PREFIX: Final = "DROVER_"
OTHER_NAMES: Final = {"CRON_SECRET": "DROVER_CRON_SECRETS"}
"""What the users' own programs call a setting of ours."""

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
    sealing_keys: SealingKeys = ()
    """Keys that personal fields are sealed with before they enter the log. The first one seals, all of them open."""
    identity_secrets: Secrets = ()
    """What people's tokens are signed with, and their addresses looked up by. The first one signs; the second one is on
    its way out."""
    access_token_s: AccessSeconds = 900
    """How long a person's access token lives."""
    session_days: Days = 30
    """How long somebody stays signed in at most."""
    session_idle_days: Days = 7
    """How long a session lasts that nobody uses."""
    sessions_max: SessionCount | None = None
    """Sessions that one account may have at a time; the least recently used one makes room. Not set: no limit."""
    sign_ins_per_min: Rate = 6.0
    """Sign-ins that may be tried for one account in the long run, and five times as many from one address."""
    sign_ins_burst: Burst = 10
    """How many of them at once."""
    jwks_url: HttpsUrl | None = None
    """Where another issuer of people's tokens publishes its keys. Together with DROVER_JWT_ISSUER and _AUDIENCE."""
    jwt_issuer: ClaimValue | None = None
    """The claim `iss` of that issuer's tokens."""
    jwt_audience: ClaimValue | None = None
    """The claim `aud` that makes one of its tokens a token for Drover."""
    jwt_role_claim: ClaimName = "role"
    """The claim of its tokens that says admin, operator or viewer. Without one of them a person sees only their own."""
    trusted_proxies: Networks = ()
    """Proxies whose X-Forwarded-Proto and X-Forwarded-For are believed."""
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
    render_workers: WorkerCount = 1
    """Renders at a time in this process: the number of After Effects licences it stands for. 0: none."""
    render_licences: Licences | None = None
    """Live workers that there should be in all, for the metric and its alert. Not set: those of this process."""
    render_worker_id: WorkerId | None = None
    """The name of this process' worker, the same after a restart and no other's. Not set: the name of the machine."""
    render_nexrender_url: HttpUrl | None = None
    """Where nexrender's server is. Not set: no renders are done here."""
    render_nexrender_secret: Word = ""
    """Its secret. Empty: none is asked for."""
    render_nas: Nas | None = None
    """Where finished files go."""
    render_nas_guard: NasGuard = "mount"
    """How a mounted folder is known to be the NAS, so that a lost mount does not fill the local disk: it is a mount
    point, it has the marker file `.drover-nas` in it, or it is taken as it is."""
    render_nas_mount: MountPoint | None = None
    """The mount point that the folder of the NAS is behind. Not set: that folder itself."""
    render_nas_encrypt: Flag = True
    """Let nothing travel to the NAS in clear. Turn it off for a NAS that cannot encrypt. For smb:// only."""
    render_nas_user: Word | None = None
    """Account on the NAS, `DOMAIN\\user` for one of a domain. For smb:// only."""
    render_nas_password: Word | None = None
    """Its password."""
    render_output_dir: Folder | None = None
    """The folder that nexrender writes into, as this process sees it."""
    render_output_dir_nexrender: Folder | None = None
    """The same folder as nexrender sees it. Not set: the same path."""
    render_template_dir: Folder | None = None
    """Where After Effects' project files are, as nexrender sees them."""
    render_template: Folder | None = None
    """The project file of compositions that have none of their own."""
    render_image_dir: Folder | None = None
    """Where pictures are, as nexrender sees them; flags are in its folder `flags`. Nothing outside of it is used."""
    render_codec: Word = "h264"
    """What a finished file must be encoded with."""
    render_width: Pixels = 1920
    """How wide its picture must be."""
    render_height: Pixels = 1080
    """How high."""
    render_lease_s: LongSeconds = 1800.0
    """How long a worker that is not heard of keeps its render."""
    render_timeout_s: LongSeconds = 1800.0
    """How long nexrender may take in all; then the job is cancelled and run again, twice."""
    render_retries: Retries = 3
    """How often nexrender is tried again that does not answer."""
    render_retry_base_s: LongSeconds = 60.0
    """After how long at first; then twice as long each time."""
    render_poll_s: LongSeconds = 10.0
    """How often an idle worker asks for work, if nobody tells it of any."""
    render_poll_idle_s: LongSeconds = 30.0
    """The same after ten times in vain."""
    render_follow_s: Seconds = 5.0
    """How often nexrender is asked how far it is."""
    cron_secrets: CronSecrets = ()
    """What `POST /api/system/cleanup-tests` asks for; the second one is on its way in or out. Not set: CRON_SECRET is
    taken, and without that one too nobody may ask for it."""
    cleanup_cron: CronExpression = "0 * * * *"
    """When stalled analyses are cleaned up, in UTC."""
    cleanup_timeout_s: CleanupSeconds = 1800
    """How long an analysis may take. What takes longer is stalled: it is failed and given back."""
    cleanup_tier_timeouts_s: TierTimeouts = ()
    """The same for users of single tiers."""
    cleanup_notifies: Flag = True
    """Record for each user of a cleanup that they are to be told."""
    analysis_url: HttpUrl | None = None
    """The provider of analyses. Only asked whether it can be reached, for `GET /api/system/health`."""
    reminder_partitions: PartitionCount = 4
    """In how many parts reminders are divided by user, each led by one process at a time. Counts once, when the log of
    reminders is made."""
    reminder_base_s: PauseSeconds = 86_400.0
    """From the first sending of an alarm to the second. It doubles with each."""
    reminder_cap_s: PauseSeconds = 15_552_000.0
    """No pause is longer: 180 days."""
    reminder_recover_s: PauseSeconds = 21_600.0
    """A sending of which nothing is known is sent again, with the same key, after this: 6 hours."""
    reminder_retry_s: PauseSeconds = 30.0
    """After how long a sending that failed is tried again. It doubles with each failure."""
    reminder_retry_max_s: PauseSeconds = 1_800.0
    """No such delay is longer."""
    reminder_timezone: TimeZoneName = "Asia/Seoul"
    """The time zone of users who have set none."""
    reminder_fetch_limit: FetchLimit = 100
    """Alarms that are claimed at a time, of each partition. Can be changed while running."""
    reminder_concurrency: Concurrency = 10
    """Sendings under way at a time in this process."""
    reminder_sends: Flag = True
    """Whether this process sends. Off: it takes commands and lets what is due wait, as after an import."""
    reminder_provider: Provider = "log"
    """How reminders are sent: into the log of this process, to an address of yours, to browsers, or by apprise."""
    reminder_send_timeout_s: Seconds = 10.0
    """How long one sending may take."""
    reminder_webhook_url: HttpUrl | None = None
    """Where reminders are posted to. For the provider webhook."""
    reminder_webhook_secrets: Secrets = ()
    """What their bodies are signed with. With two, both sign, while the receiver changes from one to the other."""
    reminder_allow_private: Flag = False
    """Let reminders be posted to private, loopback and link-local addresses."""
    reminder_vapid_private_key: VapidKey | None = None
    """The key that this server is known by to push services. For the provider webpush."""
    reminder_vapid_subject: VapidSubject | None = None
    """Whom push services may turn to."""
    reminder_apprise_urls: AppriseUrls = ()
    """Where apprise sends reminders to. For the provider apprise."""
    alert_slack_url: SlackUrl | None = None
    """The incoming webhook of Slack, or of what speaks like it, where alerts are told. Who has it can post there."""
    alert_webhook_url: HttpUrl | None = None
    """Where alerts are posted to as JSON."""
    alert_webhook_secrets: Secrets = ()
    """What they are signed with. With two, both sign, while the receiver changes from one to the other."""
    alert_min_severity: MinSeverity = "warning"
    """Which alerts are told. The dashboard has all of them."""
    alert_send_timeout_s: Seconds = 5.0
    """How long one telling may take. Shorter than DROVER_SHUTDOWN_GRACE_S by two seconds, or a stop cuts it short."""
    alert_max_age_s: LongSeconds = 86_400.0
    """What could not be told for so long is not news any more."""
    alert_allow_private: Flag = False
    """Let alerts be posted to private, loopback and link-local addresses."""
    sentry_dsn: HttpUrlWithKey | None = None
    """Where errors are reported to. Not set: nowhere. Needs the extra `drover[sentry]`."""
    otlp_endpoint: HttpUrl | None = None
    """Where spans are sent to, by OTLP over HTTP. Not set: what OTEL_EXPORTER_OTLP_ENDPOINT says, else nowhere. Needs
    the extra `drover[otel]`."""
    trace_ratio: Ratio = 1.0
    """How many of the traces that begin here are recorded, if any are. Callers that bring a trace decide themselves."""
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
REQUIRED: Final = tuple(name for name, field in FIELDS.items() if field.required)
"""Those without which no service starts."""


_LISTS: Final = (Secrets, SealingKeys, Networks, CronSecrets, TierTimeouts, AppriseUrls)
_ISSUER: Final = ("DROVER_JWKS_URL", "DROVER_JWT_ISSUER", "DROVER_JWT_AUDIENCE")


def load(environ: Mapping[str, str], *, without: Collection[str] = ()) -> Settings:
    """Read the settings, or raise a ConfigurationError that names every problem at once. An empty value is no value.

    `without`: settings that every service needs and this caller does not. Where they are not set they are empty.
    """
    given = {name: value for name, value in environ.items() if name.startswith(PREFIX) and value != ""}
    for theirs, ours in OTHER_NAMES.items():
        if environ.get(theirs):
            given.setdefault(ours, environ[theirs])
    problems = [_unknown(name) for name in sorted(given.keys() - FIELDS.keys())]
    values: dict[str, Any] = {}
    for name, field in FIELDS.items():
        if name not in given:
            if name in without:
                values[field.name] = () if field.type in _LISTS else ""
            elif field.required:
                problems.append(_not_set(name))
            continue
        raw: Any = given[name]
        if field.type in _LISTS:
            raw = [item.strip() for item in raw.split(",")]
        try:
            values[field.name] = msgspec.convert(raw, field.type, strict=False)
        except msgspec.ValidationError:
            # Of an address that is not one, nobody can say where its password stands.
            secret = field.name.endswith("_url") and ("@" in given[name] or "password" in given[name])
            value = _HIDDEN if secret else _shown(field.name, given[name])
            problems.append(f"{name}={value} is not understood. {_instead(name)}")
    problems += _not_alone(given)
    if problems:
        raise ConfigurationError(tuple(problems))
    return Settings(**values)


def not_set(name: str) -> ConfigurationError:
    """For a caller that finds out later what it needs."""
    return ConfigurationError((_not_set(name),))


def _not_set(name: str) -> str:
    return f"{name} is not set. {_instead(name)}"


def _not_alone(given: Mapping[str, str]) -> list[str]:
    """Half of an issuer would believe tokens that were made for somebody else."""
    missing = [name for name in _ISSUER if name not in given]
    if len(missing) == len(_ISSUER):
        return []
    return [f"{name} is not set, and {', '.join(_ISSUER)} go together. {_instead(name)}" for name in missing]


def _shown(name: str, value: Any) -> Any:
    if name.endswith(_SECRET_NAMES):
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
