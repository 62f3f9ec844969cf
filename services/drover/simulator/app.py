"""Builds and runs the simulated farm: keys, HTTP client, registration, phones, their work, statistics and the
ledger."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog

from drover.agent.clock import Clock
from drover.domain.errors import DroverError
from drover.embedded.credentials import Credentials
from drover.service.tasks import end
from drover.simulator.analyses import Tellers, wishes
from drover.simulator.demo import demo_jobs
from drover.simulator.enrolment import Enroller
from drover.simulator.farm import Farm
from drover.simulator.http import Client, connect
from drover.simulator.jobs import Foreman, jobs
from drover.simulator.ledger import Ledger
from drover.simulator.pictures import Pictures
from drover.simulator.population import (
    SocketFor,
    Transport,
    Wiring,
    in_files,
    populate,
    roll,
    troubles_of_line,
)
from drover.simulator.registration import Registrar, wait_until_ready
from drover.simulator.reminders import Readers, deeds
from drover.simulator.renders import Director, requests
from drover.simulator.script import DEMO, Script
from drover.simulator.shelf import Shelf
from drover.simulator.tally import Tally

CREDENTIALS_WAIT_S: Final = 60.0
CREDENTIALS_LOOK_EVERY_S: Final = 0.5
SHELF_NAME: Final = "simulator-progress.json"
STORED_PHONES_MAX: Final = 200
"""Maximum of phones that store their progress in files: each write is synced to disk while the other phones wait."""

log = structlog.stdlib.get_logger(__name__)


class CredentialsMissing(DroverError):
    """The data directory has no usable keys."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} {reason}. Start `drover up` with the same --data-dir; it writes that file.")
        self.path = path
        self.reason = reason


class NoSocketOfPc(DroverError):
    """Phones with keys of their own cannot share the socket of their PC."""

    def __init__(self) -> None:
        super().__init__(
            "With --enrol each phone has a key that speaks for that phone only. Add --socket-for device, or use "
            "--transport http."
        )


class TooManyToStore(DroverError):
    """The farm has more phones than may store their progress in files."""

    def __init__(self, phones: int) -> None:
        super().__init__(
            f"--store is for at most {STORED_PHONES_MAX} phones, and there are {phones}. "
            "Use fewer, or omit --store: then progress is written when the program ends normally."
        )
        self.phones = phones


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a simulated farm."""

    data_dir: Path
    url: str | None = None
    """The URL of the platform. None: the one in the credentials file."""
    pcs: int = 6
    phones_per_pc: int = 20
    seed: int = 1
    speed: float = 1.0
    script: Script = DEMO
    plays_demo: bool = False
    """Whether the jobs are those of the demo, which show every state soon and keep most phones busy, and some failures
    have pictures."""
    transport: Transport = "mixed"
    socket_for: SocketFor = "pc"
    http_every: int = 2
    """If some phones poll and others use sockets: one PC in this many polls."""
    jobs_waiting: int = 3
    """How many jobs the farm keeps waiting or running; 0: it creates none."""
    renders_waiting: int = 0
    """How many renders the farm keeps waiting or running; 0: it requests none."""
    users: int = 0
    """The number of simulated users who start analyses."""
    readers: int = 0
    """The number of simulated users who set reminders."""
    store: Path | None = None
    """The directory in which phones store their progress at each step. None: they keep it in memory, and one file is
    written at the end."""
    enrol: bool = False
    """Whether each phone gets a key of its own by enrolment. False: all use the anon key."""
    ledger: Path | None = None
    """The file to which the ledger is written at the end."""


class Simulation:
    """Runs a farm, from reading the keys to the last heartbeat."""

    def __init__(self, options: Options) -> None:
        if options.store is not None and options.pcs * options.phones_per_pc > STORED_PHONES_MAX:
            raise TooManyToStore(options.pcs * options.phones_per_pc)
        if options.enrol and options.transport != "http" and options.socket_for == "pc":
            raise NoSocketOfPc
        self._options = options
        self._wiring = Wiring(options.transport, options.socket_for, options.http_every)
        self._life: asyncio.Task[None] | None = None
        self.tally = Tally(None if options.ledger is None else Ledger(lambda: datetime.now(UTC)))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        began_at = datetime.now(UTC)
        self._life = asyncio.create_task(self._live(), name="simulated farm")
        try:
            yield
        finally:
            self._life.cancel()
            try:
                await asyncio.wait([self._life])
            finally:
                self._close_books(began_at)  # even if draining takes too long: soak tests need the ledger

    async def wait_failed(self) -> None:
        """Wait until the farm ends. Raises the error that ended it."""
        assert self._life is not None, "enter running() first"
        await asyncio.shield(self._life)

    async def _live(self) -> None:
        options = self._options
        credentials = await read_credentials(options.data_dir / "credentials.json")
        url = options.url or credentials.url
        async with connect(url, credentials.anon_key, credentials.service_key) as client:
            await wait_until_ready(client, Clock(options.speed))
            ids = await self._registered(client, credentials)
            log.info("farm_registered", url=url, phones=options.pcs * options.phones_per_pc, seed=options.seed)
            clock = Clock(options.speed)  # a new clock, because the phones' time starts now
            shelf = Shelf(options.data_dir / SHELF_NAME, clock)
            farm = self._populated(client, clock, ids, shelf)
            async with AsyncExitStack() as stack:
                stack.callback(_save, shelf)
                await stack.enter_async_context(farm.running())
                for giver in self._orders(client, clock, credentials.cron_secret):
                    stack.push_async_callback(end, asyncio.create_task(giver))
                await farm.wait_ended()

    async def _registered(self, client: Client, credentials: Credentials) -> dict[str, str]:
        """Register or enrol the phones, and return the platform's ids of those that will poll."""
        options, clock = self._options, Clock(self._options.speed)
        identities = roll(options.pcs, options.phones_per_pc, options.seed)
        if options.enrol:
            email, password = credentials.admin_email, credentials.admin_password
            return await Enroller(client, clock).enrol(identities, email=email, password=password)
        registrar = Registrar(client, clock)
        await registrar.register(identities)
        polling = [one.serial_number for one in identities if self._wiring.speech_of(one.pc_id) == "http"]
        return await registrar.device_ids(polling)

    def _populated(self, client: Client, clock: Clock, ids: dict[str, str], shelf: Shelf) -> Farm:
        options = self._options
        phones = populate(
            options.pcs,
            options.phones_per_pc,
            options.seed,
            options.script,
            wiring=self._wiring,
            store_of=shelf.store_of if options.store is None else in_files(options.store, clock),
            observer_of=self.tally.observer,
        )
        for phone in phones:
            phone.device_id = ids.get(phone.identity.serial_number)
        return Farm(
            phones,
            client,
            clock,
            tally=self.tally,
            line_troubles=lambda phone: troubles_of_line(phone, options.seed, options.script),
            pictures=Pictures(client, time.monotonic) if options.plays_demo else None,
        )

    def _orders(self, client: Client, clock: Clock, cron_secret: str) -> list[Coroutine[Any, Any, None]]:
        """Make the tasks that create jobs, renders, analyses and reminders, as the options say."""
        options = self._options
        givers: list[Coroutine[Any, Any, None]] = []
        if options.jobs_waiting:
            orders = (demo_jobs if options.plays_demo else jobs)(options.pcs, options.phones_per_pc, options.seed)
            givers.append(Foreman(client, clock, orders, waiting=options.jobs_waiting).run())
        if options.renders_waiting:
            givers.append(Director(client, clock, requests(options.seed), waiting=options.renders_waiting).run())
        if options.users:
            wanted = wishes(options.users, options.seed)
            givers.append(Tellers(client, clock, wanted, users=options.users, cron_secret=cron_secret).run())
        if options.readers:
            givers.append(Readers(client, clock, deeds(options.readers, options.seed)).run())
        return givers

    def _close_books(self, began_at: datetime) -> None:
        log.info("farm_ended", work=dict(self.tally.total.most_common()), latencies=self.tally.latencies())
        if self._options.ledger is not None and self.tally.ledger is not None:
            self.tally.ledger.write(
                self._options.ledger,
                began_at=began_at,
                ended_at=datetime.now(UTC),
                seed=self._options.seed,
                totals=dict(self.tally.total),
                latencies=self.tally.latencies(),
            )


def _save(shelf: Shelf) -> None:
    """Save the progress of all phones after the last answer. If the write fails, only progress is lost, as with broken
    storage of a phone."""
    try:
        shelf.save()
    except OSError as error:
        log.warning("progress_not_saved", error=str(error))


async def read_credentials(path: Path, within_s: float = CREDENTIALS_WAIT_S) -> Credentials:
    """Read the platform's keys. Waits for them, because the platform may be writing them for the first time."""
    deadline = asyncio.get_running_loop().time() + within_s
    while True:
        try:
            return _decode(path)
        except FileNotFoundError:
            if asyncio.get_running_loop().time() >= deadline:
                raise CredentialsMissing(path, f"did not appear within {within_s:g} s") from None
        except (OSError, msgspec.DecodeError) as error:
            raise CredentialsMissing(path, f"cannot be read ({error})") from error
        await asyncio.sleep(CREDENTIALS_LOOK_EVERY_S)


def _decode(path: Path) -> Credentials:
    return msgspec.json.decode(path.read_bytes(), type=Credentials)
