"""The types of settings, with their bounds. `config` and the services declare the settings."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from drover.service import sizes

SECRET_CHARS_MIN: Final = 32
SECRETS_MAX: Final = 2
CRON_SECRET_CHARS_MIN: Final = 16
SEALING_KEYS_MAX: Final = 8


def between(low: float, high: float, unit: str = "a number", *, example: str) -> Meta:
    return Meta(ge=low, le=high, description=f"{unit} from {low} to {high}", examples=[example])


def text(description: str, pattern: str, *, chars_max: int | None = None, example: str) -> Meta:
    return Meta(pattern=pattern, max_length=chars_max, description=description, examples=[example])


# Error messages show the description of each type as what is expected, and its first example as what to write.
NatsUrl = Annotated[
    str,
    text(
        "one or more NATS addresses, separated by commas",
        r"^(nats|tls|ws|wss)://[^\s]+$",
        example="nats://127.0.0.1:4222",
    ),
]
PostgresUrl = Annotated[
    str, text("a PostgreSQL address", r"^postgres(ql)?://[^\s]*$", example="postgresql://drover@127.0.0.1:5432/drover")
]
Host = Annotated[str, text("a host name or an IP address", r"^[^\s/]{1,253}\Z", example="127.0.0.1")]
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
SealingKey = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,32}:[A-Za-z0-9+/_-]{43}=?\Z")]
SealingKeys = Annotated[
    tuple[SealingKey, ...],
    Meta(
        max_length=SEALING_KEYS_MAX,
        description="id:base64 of 32 random bytes, several separated by commas, the first one seals",
        examples=["k1:$(openssl rand -base64 32)"],
    ),
]
CronSecret = Annotated[
    # All visible ASCII characters, which a header can hold, except the comma, which separates two secrets.
    str,
    Meta(pattern=r"^[!-+\--~]+\Z", min_length=CRON_SECRET_CHARS_MIN, max_length=512),
]
CronSecrets = Annotated[
    tuple[CronSecret, ...],
    Meta(
        max_length=SECRETS_MAX,
        description=f"one or two secrets of at least {CRON_SECRET_CHARS_MIN} letters, digits and signs, separated by a "
        "comma",
        examples=["$(openssl rand -hex 32)"],
    ),
]
CronExpression = Annotated[
    str,
    text(
        "the five fields of cron (minute, hour, day, month, weekday), in UTC",
        r"^\S+( +\S+){4}\Z",
        chars_max=200,
        example="'0 * * * *'",
    ),
]
CleanupSeconds = Annotated[int, between(1, 604800, "seconds", example="1800")]
TierTimeout = Annotated[str, Meta(pattern=r"^[a-z0-9_-]{1,32}=[1-9][0-9]{0,5}\Z")]
TierTimeouts = Annotated[
    tuple[TierTimeout, ...],
    Meta(
        max_length=64,
        description="tier=seconds, several separated by commas",
        examples=["premium=3600,free=900"],
    ),
]
Network = Annotated[str, Meta(pattern=r"^[0-9A-Fa-f.:]{2,45}(/[0-9]{1,3})?\Z")]
Networks = Annotated[
    tuple[Network, ...],
    Meta(
        max_length=64,
        description="IP addresses or networks, separated by commas",
        examples=["10.0.0.0/8,192.168.1.10"],
    ),
]
HttpsUrl = Annotated[
    str,
    text(
        "an https address (http on this machine only)",
        r"^(https://|http://(127\.0\.0\.1|localhost|\[::1\])[:/])[^\s]+\Z",
        chars_max=2048,
        example="https://issuer.example.com/.well-known/jwks.json",
    ),
]
ClaimValue = Annotated[
    str,
    text("what the claim of a token must say, without spaces", r"^\S{1,512}\Z", example="https://issuer.example.com"),
]
ClaimValues = Annotated[
    tuple[Annotated[str, Meta(pattern=r"^\S{1,512}\Z")], ...],
    Meta(
        max_length=64,
        description="what the claim of a token may say, separated by commas",
        examples=["https://app.example.com"],
    ),
]
ClaimName = Annotated[str, text("the name of a claim", r"^[A-Za-z0-9_:/.-]{1,128}\Z", example="drover_role")]
AccessSeconds = Annotated[int, between(60, 3600, "seconds", example="900")]
Days = Annotated[int, between(1, 365, "days", example="30")]
PictureCount = Annotated[int, between(1, 10_000, example="50")]
SessionCount = Annotated[int, between(1, 100, example="5")]
HttpUrl = Annotated[
    str,
    text(
        "an http or https address without a password",
        r"^https?://[^\s/@]+(/[^\s]*)?\Z",
        chars_max=2048,
        example="http://nexrender-server:3000",
    ),
]
HttpUrlWithKey = Annotated[
    str,
    text(
        "the DSN of a project at Sentry",
        r"^https?://[^\s/@]+@[^\s/]+/[^\s]+\Z",
        chars_max=2048,
        example="https://key@sentry.example.com/1",
    ),
]
Nas = Annotated[
    str,
    text(
        "a mounted folder or smb://host/share/folder",
        r"^(/|[A-Za-z]:[\\/]|smb://[^\s/@]+/)[^\x00-\x1f]*\Z",
        chars_max=1000,
        example="smb://nas.example.com/broadcast/output",
    ),
]
ArchivePlace = Annotated[
    str,
    text(
        "a folder, or s3://bucket/prefix",
        r"^(?!s3:)[^\x00-\x1f]+\Z|^s3://[^\s/@]+(/[^\s]*)?\Z",
        chars_max=1000,
        example="/backup/drover",
    ),
]
LogKeep = Annotated[
    str,
    text(
        "all, a time (12h, 30d, 8w), or a size (500MB, 200GB, 2TB)",
        r"^(all|[1-9][0-9]{0,5}[hdw]|[1-9][0-9]{0,8}(MB|GB|TB))\Z",
        example="30d",
    ),
]
NasGuard = Annotated[
    Literal["mount", "marker", "folder"], Meta(description="mount, marker or folder", examples=["mount"])
]
MountPoint = Annotated[
    str, text("a folder by its whole path", r"^/[^\x00-\x1f]*\Z", chars_max=1000, example="/mnt/nas")
]
Folder = Annotated[
    str, text("a folder or file by its whole path", r"^[^\x00-\x1f]+\Z", chars_max=1000, example="/mnt/ae")
]
CertificateFile = Annotated[
    str, text("a certificate in a PEM file", r"^[^\x00-\x1f]+\Z", chars_max=1000, example="/etc/drover/tls.crt")
]
PrivateKeyFile = Annotated[
    str, text("a private key in a PEM file", r"^[^\x00-\x1f]+\Z", chars_max=1000, example="/etc/drover/tls.key")
]
Word = Annotated[str, text("a text of one line", r"^[^\x00-\x1f]+\Z", chars_max=512, example="h264")]
WorkerId = Annotated[
    str, text("up to 120 letters, digits, dots, dashes and underscores", r"^[A-Za-z0-9._-]{1,120}\Z", example="ae-1")
]
WorkerCount = Annotated[int, between(0, 64, example="1")]
Licences = Annotated[int, between(1, 10_000, example="4")]
Retries = Annotated[int, between(0, 10, example="3")]
LongSeconds = Annotated[float, between(1, 86400, "seconds", example="1800")]
Pixels = Annotated[int, between(16, 16384, "pixels", example="1920")]
PartitionCount = Annotated[int, between(1, 64, example="4")]
PauseSeconds = Annotated[
    float, Meta(ge=0.1, le=31_536_000, description="seconds from 0.1 to 31536000 (a year)", examples=["86400"])
]
TimeZoneName = Annotated[str, text("the name of a time zone", r"^[A-Za-z0-9_+/-]{1,64}\Z", example="Asia/Seoul")]
FetchLimit = Annotated[int, between(1, 200, example="100")]
Concurrency = Annotated[int, between(1, 1000, example="10")]
Provider = Annotated[
    Literal["log", "webhook", "webpush", "apprise"],
    Meta(description="log, webhook, webpush or apprise", examples=["webhook"]),
]
VapidKey = Annotated[
    str,
    text(
        "a VAPID private key: 32 bytes in URL-safe base64",
        r"^[A-Za-z0-9_-]{43,64}=?\Z",
        example="$(openssl rand 32 | basenc --base64url | tr -d =)",
    ),
]
VapidSubject = Annotated[
    str,
    text(
        "how push services reach you: mailto: or https://",
        r"^(mailto:[^\s@]+@[^\s@]+|https://[^\s]+)\Z",
        example="mailto:ops@example.com",
    ),
]
AppriseUrl = Annotated[str, Meta(pattern=r"^[a-z0-9+]{2,32}://\S+\Z", max_length=2048)]
AppriseUrls = Annotated[
    tuple[AppriseUrl, ...],
    Meta(max_length=16, description="apprise addresses, separated by commas", examples=["ntfy://ntfy.sh/my-topic"]),
]
SlackUrl = Annotated[
    str,
    text(
        "the https address of an incoming webhook",
        r"^(https://|http://(127\.0\.0\.1|localhost|\[::1\])[:/])[^\s@]+\Z",
        chars_max=2048,
        example="https://hooks.slack.com/services/T000/B000/XXXX",
    ),
]
MinSeverity = Annotated[
    Literal["warning", "critical"], Meta(description="warning (all of them) or critical", examples=["critical"])
]
Origin = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9.:\[\]-]+\Z", max_length=255)]
Origins = Annotated[
    tuple[Origin, ...],
    Meta(
        max_length=64,
        description="origins (scheme, host and port, without a path; no *), separated by commas",
        examples=["https://app.example.com,http://localhost:3000"],
    ),
]
AnonLevel = Annotated[
    Literal["off", "read", "agent", "full"],
    Meta(description="off, read, agent or full", examples=["agent"]),
]
JobsFor = Annotated[Literal["all", "assigned"], Meta(description="all or assigned", examples=["assigned"])]
SqlSchema = Annotated[
    str,
    text(
        "the name of a schema that is not Drover's own, or none",
        r"^(?!pg_|rm_|tel_|drover\Z|information_schema\Z)[a-z_][a-z0-9_]{0,62}\Z",
        example="public",
    ),
]
LogFormat = Annotated[
    Literal["json", "console", "plain"], Meta(description="json, console or plain", examples=["json"])
]
LogLevel = Annotated[
    Literal["debug", "info", "warning", "error"],
    Meta(description="debug, info, warning or error", examples=["info"]),
]
Flag = Annotated[bool, Meta(description="1 or 0, true or false", examples=["1"])]
BodyBytes = Annotated[int, between(1024, 64 * 1024 * 1024, "bytes", example="1048576")]
Size = Annotated[str, text("a size in kB, MB, GB or TB", sizes.PATTERN, example="200GB")]
Seconds = Annotated[float, Meta(gt=0, le=600, description="seconds, above 0 and at most 600", examples=["10"])]
Connections = Annotated[int, between(1, 200, example="8")]
Rate = Annotated[float, Meta(gt=0, le=1_000_000, description="a number above 0, at most 1000000", examples=["5"])]
Ratio = Annotated[float, between(0, 1, example="0.1")]
EventCount = Annotated[int, between(1, 1_000_000, "a whole number", example="1000")]
Burst = Annotated[int, between(1, 1_000_000, "a whole number", example="20")]
Replicas = Annotated[Literal[1, 3, 5], Meta(description="1, 3 or 5", examples=["3"])]
Instance = Annotated[
    str,
    text("up to 128 letters, digits, dots, dashes and underscores", r"^[A-Za-z0-9._-]{1,128}\Z", example="gateway-1"),
]
