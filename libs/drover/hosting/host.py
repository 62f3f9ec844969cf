"""What the services of one process share: connections, authentication, the positions of the read models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

import structlog
from nats.aio.client import Client
from nats.errors import Error as NatsError

from drover.archive.opening import open_store
from drover.archive.snapshots import ArchivedSnapshots
from drover.archive.whole_log import open_log
from drover.bus.audit import NatsRecorder
from drover.bus.client import CommandBus
from drover.bus.commits import CommitFeed
from drover.bus.live import WANTED, announcing, following_progress
from drover.bus.subject_keys import SubjectKeys
from drover.bus.subject_keys import asking as asking_for_keys
from drover.bus.telemetry import TelemetryOut
from drover.eventlog.log import EventLog, Partition
from drover.eventlog.streams import last_seq
from drover.postgres.pool import Pool
from drover.projection.newest import Newest
from drover.projection.positions import Positions, asking
from drover.projection.readable import ReadableForms
from drover.readmodel.form import schema_of
from drover.service.config import Configuration, Section, Settings
from drover.service.health import Check
from drover.service.identity_keys import IdentityKeys
from drover.service.lifecycle import Component, Phase
from drover.service.sealing import Ring
from drover.service.verified_keys import VerifiedKey
from drover.web.access import Access
from drover.web.audit import Audit
from drover.web.auth import Authenticator, Verifier
from drover.web.callers import Callers
from drover.web.ended_sessions import EndedSessions
from drover.web.freshness import Freshness
from drover.web.jwks import KeySet, fetch_from
from drover.web.key_book import KeyBook
from drover.web.key_bucket import public_keys_of
from drover.web.key_uses import CONTEXT as KEY_USES
from drover.web.key_uses import KeyUses
from drover.web.limits import Limits
from drover.web.people import BuiltIn, Foreign

HOW_TO_RETIRE: Final = (
    "Whoever has this secret can make API keys that nobody can list. Adopt the keys that are in use (drover key adopt) "
    "or replace them, then remove the setting."
)

S = TypeVar("S", bound=Section)

log = structlog.get_logger("drover.serve")


class FirstAdmin(NamedTuple):
    """The first account, which can create all others."""

    email: str
    password: str


class FirstKey(NamedTuple):
    """An API key that `drover up` has issued before it started."""

    name: str
    token: str
    known: VerifiedKey


class Host:
    """What the services of one process share. Its properties are made when a service first uses them. Each then also
    adds its component and its readiness check to the process."""

    def __init__(
        self,
        configuration: Configuration,
        client: Client,
        pool: Pool,
        *,
        services: Collection[str],
        partitions: Mapping[str, Sequence[Partition]],
        reactors_off: Collection[str] = (),
        lease_token: str | None = None,
        first_admin: FirstAdmin | None = None,
        first_keys: Sequence[FirstKey] = (),
        document: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        """`services`: the names of all services in this process. `partitions`: the partitions of every context.
        `reactors_off`: contexts whose side effects are switched off, because they were restored and no person has
        checked them yet. `document`: makes the OpenAPI document of all services."""
        self.configuration = configuration
        self.settings = configuration[Settings]
        self.client = client
        self.pool = pool
        self.services = services
        self.partitions = partitions
        self.lease_token = lease_token
        self.first_admin = first_admin
        self.first_keys = first_keys
        self.document = document
        self.components: list[Component] = []
        self.ready: dict[str, Check] = {}
        self.session_end_listeners: list[Callable[[str], None]] = []
        """Functions that are called for every person's session that ends from now on, with the reason why it ended."""
        self.reactors_off = reactors_off
        self._subject_keys: dict[str, SubjectKeys | None] = {}

    def __getitem__(self, section: type[S]) -> S:
        """Return the settings of a section, such as those of one service."""
        return self.configuration[section]

    def log(self, context: str, partition: str = "main") -> EventLog:
        return self.open_log(Partition(context, partition))

    def open_log(self, partition: Partition) -> EventLog:
        """Open the log of a partition. Commits that are no longer in its stream are read from the archive."""
        return open_log(self.client, partition, self.settings.archive)

    @cached_property
    def archived_snapshots(self) -> ArchivedSnapshots | None:
        """The snapshots in the archive. None: there is no archive."""
        archive = self.settings.archive
        return None if archive is None else ArchivedSnapshots(open_store(archive))

    def has_reactors_off(self, context: str) -> bool:
        if context in self.reactors_off:
            log.warning("reactors_are_off", context=context, advice="drover reactors on, then restart this service")
        return context in self.reactors_off

    @cached_property
    def bus(self) -> CommandBus:
        return CommandBus(self.client)

    def subject_keys(self, context: str) -> SubjectKeys | None:
        """Return the keys of a context's personal data. All services of this process share them. None: the process has
        no sealing keys."""
        if context not in self._subject_keys:
            keys = self.settings.sealing_ring(context)
            self._subject_keys[context] = (
                SubjectKeys(
                    context,
                    Ring.from_settings(keys),
                    asking_for_keys(self.client, context),
                    partitions=[partition.name for partition in self.partitions[context]],
                )
                if keys
                else None
            )
        return self._subject_keys[context]

    @cached_property
    def positions(self) -> Positions:
        """The position that each read model has reached. All services of this process share the object."""
        positions = Positions(
            chain.from_iterable(self.partitions.values()), ask=asking(announcing(self.client, WANTED))
        )
        own = {schema_of(context): context for context in self.partitions}

        def observe(schema: str, partition: str, seq: int) -> None:
            if schema in own:  # ignore other forms, which programs of another release read
                positions.observe(own[schema], partition, seq)

        self.components.append(Component("positions", Phase.REACTOR, following_progress(self.client, observe)))
        return positions

    @cached_property
    def newest(self) -> Newest:
        """The newest known position of each log. All services of this process share the object."""
        feed = CommitFeed(self.client, partial(last_seq, self.client))
        newest = Newest(chain.from_iterable(self.partitions.values()), feed.sync)
        self.components.append(Component("newest commits", Phase.REACTOR, feed.running(newest)))
        return newest

    @cached_property
    def freshness(self) -> Freshness:
        """Makes the reads of all services of this process wait for every write that was acknowledged before them."""
        return Freshness(self.positions, self.newest, self.forms)

    @cached_property
    def forms(self) -> ReadableForms:
        """Which read models can be read. Until all can, the process is not ready, so that the processes of the previous
        release keep serving.

        A process that runs the projector together with other services waits only for some seconds: agents need it, and
        no other process could serve them.
        """
        forms = ReadableForms(self.pool, self.partitions, self._end_of)
        self.components.append(Component("readable forms", Phase.REACTOR, forms.running()))
        is_alone = "projector" in self.services and len(self.services) > 1
        self.ready["read models"] = forms.why_not_started if is_alone else forms.why_not_ready
        return forms

    async def _end_of(self, context: str) -> int:
        """Return the last position of a log; 0 if NATS does not answer. It only serves to show people how far a read
        model is."""
        try:
            return await last_seq(self.client, context)
        except (NatsError, OSError, TimeoutError):
            return 0

    @cached_property
    def ended_sessions(self) -> EndedSessions:
        def notify(reason: str) -> None:
            for listener in self.session_end_listeners:
                listener(reason)

        ended = EndedSessions(self.log("identity"), told=notify)
        self.ready["ended sessions"] = ended.why_not_ready
        self.components.append(Component("ended sessions", Phase.REACTOR, ended.running(), failure=ended.wait_failed))
        return ended

    @cached_property
    def keys(self) -> KeyBook:
        """The public keys with which tokens are verified, and the revoked API keys."""
        settings = self.settings
        own = public_keys_of(IdentityKeys(settings.identity_secrets)) if settings.identity_secrets else ()
        book = KeyBook(self.client, own=own, may_be_missing=bool(settings.jwt_secrets))
        self.ready["keys"] = book.why_not_ready
        self.components.append(Component("keys", Phase.REACTOR, book.running(), failure=book.wait_failed))
        return book

    @cached_property
    def access(self) -> Access:
        return Access.of(self.settings, self.auth, self.limits, self.audit)

    @cached_property
    def audit(self) -> Audit:
        """Records who reads what is sensitive, and who changes what."""
        audit = Audit(NatsRecorder(self.client), Callers.of(self.settings))
        self.components.append(Component("audit", Phase.REACTOR, audit.running()))
        return audit

    @cached_property
    def limits(self) -> Limits:
        """Counts the requests of all callers of this process, and refuses those beyond a limit."""
        return Limits.of(self.settings)

    @cached_property
    def auth(self) -> Authenticator:
        """Verifies the keys of programs, and the tokens of people from the configured issuers."""
        settings = self.settings
        if settings.jwt_secrets:
            log.warning("shared_secret_accepted", setting="DROVER_JWT_SECRETS", advice=HOW_TO_RETIRE)
        people: list[Verifier] = [BuiltIn(self.keys)]
        if settings.jwks_url and settings.jwt_issuer:
            keys = KeySet(fetch_from(settings.jwks_url))
            self.components.append(Component("issuer keys", Phase.REACTOR, keys.running()))
            people.append(
                Foreign(
                    keys,
                    issuer=settings.jwt_issuer,
                    audience=settings.jwt_audience,
                    authorized_parties=settings.jwt_authorized_parties,
                    role_claim=settings.jwt_role_claim,
                )
            )
        auth = Authenticator(settings.jwt_secrets, keys=self.keys, people=people, ended=self.ended_sessions)
        uses = KeyUses(auth, TelemetryOut(self.client, KEY_USES, settings.instance))
        self.components.append(Component("key uses", Phase.REACTOR, uses.running()))
        return auth
