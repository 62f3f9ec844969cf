"""Puts the simulated farm together: keys, client, registration, phones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import structlog

from drover.domain.errors import DroverError
from drover.embedded.credentials import Credentials
from drover.simulator.clock import Clock
from drover.simulator.farm import Farm
from drover.simulator.http import connect
from drover.simulator.population import populate
from drover.simulator.registration import Registrar, wait_until_ready
from drover.simulator.script import DEMO, Script

CREDENTIALS_WAIT_S: Final = 60.0
CREDENTIALS_LOOK_EVERY_S: Final = 0.5

log = structlog.stdlib.get_logger(__name__)


class CredentialsMissing(DroverError):
    """The data directory holds no keys that a farm could use."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} {reason}. Start `drover up` with the same --data-dir; it writes that file.")
        self.path = path
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Options:
    """What can be chosen about a farm."""

    data_dir: Path
    url: str | None = None
    """Where the platform is. None: where its credentials say."""
    pcs: int = 6
    phones_per_pc: int = 20
    seed: int = 1
    speed: float = 1.0
    script: Script = DEMO


class Simulation:
    """The farm from the first look for keys to the last heartbeat."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._life: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._life = asyncio.create_task(self._live(), name="simulated farm")
        try:
            yield
        finally:
            self._life.cancel()
            await asyncio.wait([self._life])

    async def wait_failed(self) -> None:
        """Waits for as long as the farm lives; raises what ended it."""
        assert self._life is not None, "running() comes first"
        await asyncio.shield(self._life)

    async def _live(self) -> None:
        options = self._options
        credentials = await read_credentials(options.data_dir / "credentials.json")
        url = options.url or credentials.url
        async with connect(url, credentials.anon_key, credentials.service_key) as client:
            clock = Clock(options.speed)
            await wait_until_ready(client, clock)
            phones = populate(options.pcs, options.phones_per_pc, options.seed, options.script)
            await Registrar(client, clock).register([phone.identity for phone in phones])
            log.info("farm_registered", url=url, pcs=options.pcs, phones=len(phones), seed=options.seed)
            farm = Farm(phones, client, Clock(options.speed))  # a clock of its own: its phones are born now
            async with farm.running():
                await farm.wait_ended()


async def read_credentials(path: Path, within_s: float = CREDENTIALS_WAIT_S) -> Credentials:
    """The keys of the platform, which may be writing them for the first time just now."""
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
