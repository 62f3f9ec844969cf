"""`drover up` on a data directory of the test's own: start it, wait until it is ready, talk to it, end it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from ssl import SSLContext
from typing import Any, Final

import aiohttp
import msgspec

from drover.testing.waiting import eventually
from tests.e2e.client import Http, calling
from tests.e2e.process import DroverProcess, free_port
from tests.postgres_template import TEMPLATE

READY_S: Final = 120.0


class Platform(DroverProcess):
    """A running `drover up`. Several may use a directory one after the other."""

    def __init__(
        self,
        data_dir: Path,
        *options: str,
        port: int | None = None,
        environ: Mapping[str, str] | None = None,
        tls: SSLContext | None = None,
        from_scratch: bool = False,
    ) -> None:
        """`tls`: what callers trust, if it serves HTTPS. `from_scratch`: on an empty directory, nothing is prepared."""
        if not from_scratch:
            TEMPLATE.copy_to(data_dir)
        self.data_dir: Final = data_dir
        self.port: Final = port or free_port()
        self.url: Final = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._tls = tls
        self._started_at = time.monotonic()
        self.ready_after_s = 0.0
        output = data_dir.with_name(f"{data_dir.name}.log")
        arguments = ("up", "--data-dir", data_dir, "--port", str(self.port), *options)
        super().__init__(*arguments, output=output, environ=environ, from_scratch=from_scratch)

    @property
    def credentials(self) -> dict[str, str]:
        return msgspec.json.decode((self.data_dir / "credentials.json").read_bytes())

    async def ready(self) -> None:
        await ready(self, self.url, tls=self._tls)
        self.ready_after_s = time.monotonic() - self._started_at
        async with self.calling() as http:
            await readable(http)

    def calling(self, url: str | None = None) -> AbstractAsyncContextManager[Http]:
        """`url`: another address of it."""
        keys = self.credentials
        return calling(url or self.url, keys["anon_key"], keys["service_key"], tls=self._tls)


async def readable(http: Http) -> None:
    """Wait until its read models are built. A process that serves agents is ready without them after ten seconds, which
    a first start may take on a busy machine."""

    async def is_read() -> bool:
        """At the gateway, from the tables of all contexts; at the api, which may be a process of its own."""
        paths = ("/rest/v1/events?limit=1", "/api/devices?limit=1")
        return 503 not in [(await http.get(path)).status for path in paths]

    await eventually(is_read, READY_S, every_s=0.1)


async def ready(process: DroverProcess, url: str, within_s: float = READY_S, *, tls: SSLContext | None = None) -> None:
    """Wait until the process answers that it is ready."""

    async def is_ready() -> Any:
        assert process.exit_code is None, f"drover ended with {process.exit_code}; it said:\n{process.tail()}"
        try:
            async with session.get(f"{url}/readyz", ssl=tls or True) as answer:
                return answer.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        try:
            await eventually(is_ready, within_s, every_s=0.05)
        except TimeoutError:
            raise AssertionError(f"not ready within {within_s:g} s; it said:\n{process.tail()}") from None
