"""The agent: a program that works for one phone, or for all phones of a PC, with one function that does the work."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from yarl import URL

from drover.agent.client import PhoneClient, connections
from drover.agent.clock import Clock
from drover.agent.data_dir import PROGRESS_NAME, locked
from drover.agent.enrolment import enrol
from drover.agent.key_file import KeyFile
from drover.agent.phone import Condition, Phone, Transport
from drover.agent.work import Handler
from drover.domain.errors import DroverError
from drover.domain.fleet.policy import DEVICES_PER_PC_MAX, GROUP_PATTERN, SERIAL_PATTERN

DATA_DIR: Final = Path(".drover-agent")
KEYS_NAME: Final = "keys.json"
GROUP: Final = "P1-G1"
DIALLING_MAX: Final = 8
"""Maximum of sockets that are being opened at the same time; others wait."""

H = TypeVar("H", bound=Handler)
log = logging.getLogger(__name__)


class NoWork(DroverError):
    """The agent has no function that does the work."""

    def __init__(self) -> None:
        super().__init__("No function does the work. Decorate one with @agent.work before agent.run().")


class KeyMissing(DroverError):
    """A phone has no key, and there is no code to get one with."""

    def __init__(self, serials: Sequence[str], path: Path, used: bool) -> None:
        why = "The code has been used, and does not cover them. " if used else ""
        super().__init__(
            f"{path} has no key for {', '.join(serials)}. {why}Make a code for their PC with `drover key enrol`, and "
            "start the agent with it once: Agent(…, code=…)."
        )
        self.serials = serials
        self.path = path


class Agent:
    """An agent for one phone (`serial`) or several (`serials`). Decorate a function with `work`, and call `run`.

    Keys: give a `key` that speaks for these phones; or give the one-time `code` of their PC, and each phone gets a key
    of its own, which is stored. After that the code is not needed any more, and does no harm.
    """

    def __init__(
        self,
        url: str,
        *,
        serial: str | None = None,
        serials: Sequence[str] = (),
        key: str | None = None,
        code: str | None = None,
        group: str = GROUP,
        capabilities: Sequence[str] = (),
        transport: Transport = "socket",
        data_dir: str | Path = DATA_DIR,
        clock: Clock | None = None,
    ) -> None:
        """`url`: of Drover. `group`, `capabilities`: with which phones that Drover does not know are registered, when
        they enrol. `transport`: "socket" gets work at once; "http" polls, for networks without WebSockets. `data_dir`:
        for keys and progress; each agent needs its own. `clock`: for tests."""
        self._serials = [*([serial] if serial is not None else []), *serials]
        _check(url, self._serials, group, transport)
        self._url = url
        self._key = None if key is None else _checked_key(key)
        self._code = (code or "").strip() or None  # an empty variable of the environment is no code
        self._rows = [
            {"serial_number": one, "group_id": group, "capabilities": list(capabilities)} for one in self._serials
        ]
        self._transport: Transport = transport
        self._data_dir = Path(data_dir)
        self._clock = clock or Clock()
        self._handler: Handler | None = None
        self._phones: dict[str, Phone] = {}
        self._conditions: dict[str, Condition] = {}

    def work(self, handler: H) -> H:
        """Use this function for the work: `async def run(work: Work) -> None`. It is called once for each run, for
        several phones at the same time. When it returns, the work is completed; it may return a `Result`. Raise
        `WorkFailed` to report an error by its code; any other exception is an unknown error (E4001)."""
        is_async: bool = inspect.iscoroutinefunction(handler)
        if not is_async:
            raise TypeError(
                "The function that does the work must be `async def`. Call blocking code in it with "
                "`await asyncio.to_thread(…)`, so that heartbeats go on."
            )
        self._handler = handler
        return handler

    def run(self) -> None:
        """Work until Ctrl-C or SIGTERM. An error that only a person can mend ends the program with a message."""
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stdout)
        try:
            asyncio.run(self._run_until_signal())
        except KeyboardInterrupt:
            return
        except DroverError as error:
            raise SystemExit(str(error)) from error

    async def serve(self) -> None:
        """Work until cancelled: for a program with an event loop of its own."""
        if self._handler is None:
            raise NoWork
        with locked(self._data_dir):
            await self._serve(self._handler)

    async def _serve(self, handler: Handler) -> None:
        async with connections() as sessions:
            client = PhoneClient(sessions, self._url, self._key or "")
            ids = await self._use_keys(client)
            dialling = asyncio.Semaphore(DIALLING_MAX)
            self._phones = {
                serial: self._phone(serial, handler, client, ids.get(serial), dialling) for serial in self._serials
            }
            log.info("%d phone(s) work for %s", len(self._phones), self._url)
            async with asyncio.TaskGroup() as group:
                for serial, phone in self._phones.items():
                    group.create_task(phone.run(), name=f"phone {serial}")

    def say(self, serial: str, *, screen_locked: bool | None = None, battery_pct: int | None = None) -> None:
        """Set what the heartbeats of a phone say about it from now on. Drover waits for this after SCREEN_LOCKED and
        BATTERY_LOW."""
        if serial not in self._serials:
            raise ValueError(f"{serial} is no phone of this agent")
        if battery_pct is not None and not 0 <= battery_pct <= 100:
            raise ValueError(f"battery_pct is from 0 to 100, not {battery_pct}")
        self._conditions[serial] = Condition(screen_locked, battery_pct)
        if serial in self._phones:
            self._phones[serial].condition = self._conditions[serial]

    def _phone(
        self, serial: str, handler: Handler, client: PhoneClient, device_id: str | None, dialling: asyncio.Semaphore
    ) -> Phone:
        phone = Phone(
            serial,
            handler,
            client,
            self._clock,
            self._data_dir / PROGRESS_NAME / f"{serial}.json",
            transport=self._transport,
            device_id=device_id,
            dialling=dialling,
        )
        phone.condition = self._conditions.get(serial, Condition())
        return phone

    async def _use_keys(self, client: PhoneClient) -> dict[str, str]:
        """Give the client the key of each phone, and return the platform's ids of those that are known."""
        if self._key is not None:
            return {}
        path = self._data_dir / KEYS_NAME
        keys = KeyFile(path, self._url)
        if self._code is not None and not keys.has_used(self._code):
            log.info("Enrolling %d phone(s)", len(self._serials))
            nonce = keys.nonce_of(self._code)
            enrolled = await enrol(client, self._clock, code=self._code, nonce=nonce, devices=self._rows, url=self._url)
            keys.add(self._code, enrolled)
        known = {serial: found for serial in self._serials if (found := keys.key_of(serial)) is not None}
        if missing := [serial for serial in self._serials if serial not in known]:
            raise KeyMissing(missing, path, used=self._code is not None)
        client.use_keys({serial: found.key for serial, found in known.items()})
        return {serial: found.device_id for serial, found in known.items()}

    async def _run_until_signal(self) -> None:
        loop = asyncio.get_running_loop()
        serving = asyncio.create_task(self.serve(), name="agent")
        with suppress(NotImplementedError):  # Windows has no such handlers; Ctrl-C works there, too
            loop.add_signal_handler(signal.SIGTERM, serving.cancel)
        try:
            await serving
        except asyncio.CancelledError:
            if not serving.cancelled():  # Ctrl-C: asyncio has cancelled this task
                serving.cancel()
                await asyncio.wait([serving])
                raise
        except BaseExceptionGroup as group:
            raise _first(group) from group


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def _checked_key(key: str) -> str:
    """Return the key as it is sent: without the line end that a file may have. Raises ValueError."""
    key = key.strip()
    if not key:
        raise ValueError("key is empty: give a key of `drover key create device`, or leave it out and give a code")
    if not (key.isascii() and key.isprintable()):
        raise ValueError("key has characters that no key has")
    return key


def _check(url: str, serials: Sequence[str], group: str, transport: str) -> None:
    """Refuse what the platform would refuse later. Raises ValueError."""
    if URL(url).scheme not in ("http", "https") or not URL(url).host:
        raise ValueError(f"{url!r} is no address of Drover: it begins with https:// or http://")
    if not 1 <= len(serials) <= DEVICES_PER_PC_MAX:
        raise ValueError(f"an agent has 1 to {DEVICES_PER_PC_MAX} phones, not {len(serials)}: give serial or serials")
    if len(set(serials)) < len(serials):
        raise ValueError("a serial number is given twice")
    for serial in serials:
        if not re.fullmatch(SERIAL_PATTERN, serial):
            raise ValueError(f"{serial!r} is no serial number: it has 8 to 32 capital letters and digits")
    if not re.fullmatch(GROUP_PATTERN, group):
        raise ValueError(f"{group!r} is no group: write it like P1-G1")
    if transport not in ("socket", "http"):
        raise ValueError(f"transport is 'socket' or 'http', not {transport!r}")
