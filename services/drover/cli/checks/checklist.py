"""Checks the server's part of the deployment checklist in document 001 (saju tests and sign-in, §7): secrets, cleanup,
token checks, logs and health."""

from __future__ import annotations

from typing import Any, Final

from drover.cleanup.settings import CleanupSettings
from drover.cli.checks.finding import Finding, Scene, fail, ok, skipped, warn
from drover.cli.checks.http import ask
from drover.cli.checks.machine import settings_of, with_settings
from drover.cli.target import Target
from drover.domain.errors import DroverError
from drover.domain.identity import IDENTITY
from drover.eventlog.log import Partition
from drover.service.config import ConfigurationError, Settings
from drover.service.identity_keys import IdentityKeys
from drover.service.sealing import Sealer, SealingKeysUnusable
from drover.web.jwks import JwksUnusable, fetch_from, parse_keys
from drover.writer.nats_lease import read_holder

TIMEOUT_S: Final = 1800
"""The time-out of analyses in seconds that document 001 (saju tests and sign-in) prescribes: 30 minutes."""
CLEANUP_PATH: Final = "/api/system/cleanup-tests"
HEALTH_PATH: Final = "/api/system/health"
STATUS_PATH: Final = "/api/status"
_NOT_RUNNING: Final = "the platform does not answer over HTTP"


@with_settings
async def cron_secret(scene: Scene) -> Finding:
    if scene.is_embedded:
        return ok("`drover up` created one; it is in credentials.json")
    if settings_of(scene, CleanupSettings).cron_secrets or scene.environ.get("CRON_SECRET"):
        return ok("set")
    if isinstance(scene.target, DroverError):
        return skipped("nothing has run here yet", "`drover up` creates one.")
    return warn(
        "neither DROVER_CRON_SECRETS nor CRON_SECRET is set: nobody can start a cleanup",
        "Set DROVER_CRON_SECRETS=$(openssl rand -hex 32), and send it in the header X-Cron-Secret.",
    )


@with_settings
async def cleanup_is_scheduled(scene: Scene) -> Finding:
    cron = settings_of(scene, CleanupSettings).cleanup_cron
    if isinstance(scene.nats, DroverError):
        return skipped(f"schedule {cron!r}; NATS was not reached")
    if await read_holder(scene.nats, Partition("analysis")) is None:
        return warn(f"schedule {cron!r}, but no service runs it", "Start the service: `drover serve cleanup`.")
    return ok(f"runs by the schedule {cron!r}")


async def cleanup_answers(scene: Scene) -> Finding:
    answer = await _ask(scene, "POST", CLEANUP_PATH)
    if answer is None:
        return skipped(_NOT_RUNNING)
    if answer[0] == 401:
        return ok(f"POST {CLEANUP_PATH} answers, and refuses requests without a secret")
    if answer[0] == 404:
        return warn(f"there is no POST {CLEANUP_PATH} at this address", "Serve it there: `drover serve cleanup`.")
    return fail(f"POST {CLEANUP_PATH} without a secret gave {answer[0]}, not 401", "Look at the log of the service.")


@with_settings
async def cleanup_timeout(scene: Scene) -> Finding:
    timeout_s = settings_of(scene, CleanupSettings).cleanup_timeout_s
    found = f"a stalled test is failed after {timeout_s / 60:g} min"
    if timeout_s != TIMEOUT_S:
        return warn(found, "The default is 30 min: unset DROVER_CLEANUP_TIMEOUT_S, unless this is intended.")
    return ok(found)


async def tokens_are_checked(scene: Scene) -> Finding:
    """Check that requests without a token and with a bad one are both refused, with the codes that clients know."""
    answers = [
        await _ask(scene, "GET", STATUS_PATH),
        await _ask(scene, "GET", STATUS_PATH, {"Authorization": "Bearer not.a.token"}),
    ]
    if None in answers:
        return skipped(_NOT_RUNNING)
    said = [(answer[0], answer[1].get("error")) for answer in answers if answer]
    if said == [(401, "UNAUTHORIZED"), (401, "INVALID_TOKEN")]:
        return ok("requests without a valid token are refused")
    if said[0][0] == 404:
        return warn(f"there is no {STATUS_PATH} at this address", "Serve it there: `drover serve api`.")
    return fail(f"{STATUS_PATH} answered {said} to bad tokens", "Look at the log of the api service.")


@with_settings
async def issuer_has_keys(scene: Scene) -> Finding:
    url = settings_of(scene, Settings).jwks_url
    if url is None:
        return skipped("only the built-in issuer is used")
    try:
        keys = parse_keys(await fetch_from(url)())
    except JwksUnusable as error:
        return fail(f"{url}: {error.reason}", "Correct DROVER_JWKS_URL, or make it reachable from here.")
    return ok(f"{url} has {len(keys)} key{'' if len(keys) == 1 else 's'} that are usable")


@with_settings
async def people_can_sign_in(scene: Scene) -> Finding:
    if scene.is_embedded:
        return ok("`drover up` created the keys; they are in secrets.json")
    settings = settings_of(scene, Settings)
    ring = settings.sealing_ring(IDENTITY.context)
    if not (settings.identity_secrets or ring):
        if isinstance(scene.target, DroverError):
            return skipped("nothing has run here yet", "`drover up` creates the keys.")
        return warn(
            "nobody can: DROVER_IDENTITY_SECRETS and DROVER_SEALING_KEYS are not set",
            "Set both, then `drover account add EMAIL --role admin`.",
        )
    try:
        IdentityKeys(settings.identity_secrets)
        Sealer.from_settings(ring)
    except (ConfigurationError, SealingKeysUnusable) as error:
        return fail("one of the two keys for sign-in is missing", str(error))
    return ok("keys for tokens and for sealing are set")


@with_settings
async def https_beyond_here(scene: Scene) -> Finding:
    settings = settings_of(scene, Settings)
    if settings.is_local:
        return ok(f"listens on this machine only ({settings.http_host})")
    if settings.tls_cert and not settings.plain_http_from:
        return ok(f"{settings.http_host} serves HTTPS with {settings.tls_cert}")
    if settings.plain_http_from:
        return warn(
            f"keys and passwords are accepted over plain HTTP from {', '.join(settings.plain_http_from)}",
            "Use HTTPS, then unset DROVER_PLAIN_HTTP_FROM.",
        )
    if not settings.trusted_proxies:
        return warn(
            f"{settings.http_host} is open to other machines without HTTPS: they can send no key and no password",
            "Set DROVER_TLS_CERT and DROVER_TLS_KEY, or name a proxy with TLS in DROVER_TRUSTED_PROXIES.",
        )
    return ok(f"{settings.http_host} behind {', '.join(settings.trusted_proxies)}")


@with_settings
async def log_level(scene: Scene) -> Finding:
    settings = settings_of(scene, Settings)
    if settings.log_level not in ("debug", "info"):
        return warn(
            f"{settings.log_level}: cleanups and refreshes are logged at info, so nobody sees them",
            "Set DROVER_LOG_LEVEL=info.",
        )
    return ok(f"{settings.log_level}, as {settings.log_format}")


async def health_answers(scene: Scene) -> Finding:
    answer = await _ask(scene, "GET", HEALTH_PATH)
    if answer is None:
        return skipped(_NOT_RUNNING)
    status, body = answer
    if status == 404:
        return warn(f"there is no {HEALTH_PATH} at this address", "Serve it there: `drover serve cleanup`.")
    services = body.get("services") or {}
    if status == 200 and body.get("status") == "healthy":
        return ok(f"{HEALTH_PATH} says healthy ({', '.join(f'{name}: {value}' for name, value in services.items())})")
    return warn(
        f"{HEALTH_PATH} says {status} {body.get('status')} {services}", "Check the dependency that is not connected."
    )


async def _ask(
    scene: Scene, method: str, path: str, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, Any]] | None:
    """Send a request to the platform. Returns status and body of the answer; None if Drover does not answer there."""
    if not isinstance(scene.target, Target) or not scene.target.http_port:
        return None
    target = scene.target
    return await ask(target.http_host, target.http_port, method, path, headers, https=target.https)
