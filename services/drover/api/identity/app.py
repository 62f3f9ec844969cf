"""Builds the sign-in service: the writer of accounts and sessions, and the routes. Without signing keys, only the
writer runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

import structlog
from argon2 import PasswordHasher

from drover.api.identity.accounts import Accounts
from drover.api.identity.addresses import Addresses
from drover.api.identity.adoption import adopted
from drover.api.identity.browser import Browser
from drover.api.identity.client import IdentityClient
from drover.api.identity.enrolments import Enrolment, EnrolmentCodes
from drover.api.identity.first_admin import made
from drover.api.identity.gotrue import GoTrue
from drover.api.identity.issuing import Issuing
from drover.api.identity.key_publisher import KeyPublisher
from drover.api.identity.key_ring import KeyRings
from drover.api.identity.keys import ApiKeys
from drover.api.identity.metrics import count_end
from drover.api.identity.passwords import Passwords
from drover.api.identity.personal_data import PersonalData
from drover.api.identity.settings import IdentitySettings
from drover.bus.messages import Bus
from drover.bus.subject_keys import SubjectKeys
from drover.domain.identity import IDENTITY
from drover.hosting.host import FirstAdmin, Host
from drover.hosting.service import Assembly
from drover.postgres.pool import Pool
from drover.service.config import ConfigurationError, Settings
from drover.service.identity_keys import IdentityKeys
from drover.service.lifecycle import Component, Phase
from drover.web.callers import Callers
from drover.web.freshness import Freshness
from drover.web.key_bucket import public_keys_of
from drover.writer.nats_writer import nats_writer

HANDLERS: Final = (GoTrue, Browser, Accounts, ApiKeys, EnrolmentCodes, Enrolment, KeyRings)

log = structlog.get_logger("drover.identity")


def is_configured(settings: Settings) -> bool:
    """Whether this process has the keys to sign people in. Raises an error at the start if only some keys are set."""
    has_keys, can_seal = bool(settings.identity_secrets), bool(settings.sealing_ring(IDENTITY.context))
    if has_keys != can_seal:
        missing = "DROVER_IDENTITY_SEALING_KEYS" if has_keys else "DROVER_IDENTITY_SECRETS"
        example = "k1:$(openssl rand -base64 32)" if has_keys else "$(openssl rand -hex 32)"
        raise ConfigurationError((f"{missing} is not set, but sign-in needs both. Write {missing}={example}.",))
    return has_keys


class Identity:
    """The built-in sign-in service, one per process of the api service."""

    def __init__(
        self,
        settings: Settings,
        identity: IdentitySettings,
        *,
        bus: Bus,
        pool: Pool,
        freshness: Freshness,
        subject_keys: SubjectKeys,
        hasher: PasswordHasher | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        personal = PersonalData(subject_keys)
        keys = IdentityKeys(settings.identity_secrets)
        self.client = IdentityClient(bus, freshness)
        self.passwords = Passwords(personal, hasher)
        self.addresses = Addresses(keys, personal)
        callers = Callers.of(settings)
        issuing = Issuing(identity, keys, self.client, self.addresses, self.passwords, clock=clock)
        self.handlers = (
            GoTrue(callers, issuing, self.client, keys),
            Browser(callers, issuing, self.client, self.passwords, clock=clock),
            Accounts(issuing, self.client, self.addresses, self.passwords, pool),
            ApiKeys(self.client, keys, pool),
            EnrolmentCodes(self.client, pool, freshness),
            Enrolment(self.client, keys, bus, freshness),
            KeyRings(settings),
        )

    def first_admin(self, admin: FirstAdmin) -> AbstractAsyncContextManager[None]:
        return made(self.client, self.addresses, self.passwords, admin)


def assemble(host: Host) -> Assembly:
    """Build the writer of accounts and sessions, and the sign-in service if it has keys."""
    settings = host.settings
    writer = nats_writer(
        host.client,
        IDENTITY,
        instance=settings.instance,
        lease_token=host.lease_token,
        open_log=host.open_log,
        archived=host.archived_snapshots,
    )
    publisher = KeyPublisher(
        host.client,
        writer,
        host.log("identity"),
        public_keys=public_keys_of(IdentityKeys(settings.identity_secrets)) if settings.identity_secrets else (),
        replicas=settings.nats_replicas,
    )
    writing = [
        Component("identity writer", Phase.WRITER, writer.running(), failure=writer.wait_failed),
        Component("key publisher", Phase.REACTOR, publisher.running(), failure=publisher.wait_failed),
    ]
    if host.first_keys:
        writing.append(Component("first keys", Phase.REACTOR, adopted(IdentityClient(host.bus), host.first_keys)))
    if not is_configured(settings):
        log.warning("nobody_can_sign_in", settings=["DROVER_IDENTITY_SECRETS", "DROVER_SEALING_KEYS"])
        return Assembly(components=writing, writers=[writer])

    def count(reason: str) -> None:
        if writer.leading.is_set():  # every process sees the end of a session, only the leader counts it
            count_end(reason)

    host.session_end_listeners.append(count)
    subject_keys = host.subject_keys(IDENTITY.context)
    assert subject_keys is not None  # `is_configured` is true only with sealing keys
    identity = Identity(
        settings,
        host[IdentitySettings],
        bus=host.bus,
        pool=host.pool,
        freshness=host.freshness,
        subject_keys=subject_keys,
    )
    components = [*writing, Component("passwords", Phase.REACTOR, identity.passwords.running())]
    if host.first_admin is not None:
        components.append(Component("first admin", Phase.REACTOR, identity.first_admin(host.first_admin)))
    return Assembly(handlers=identity.handlers, components=components, writers=[writer])
