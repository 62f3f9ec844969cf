"""The limits of the logs: how many bytes each may have, and how many it has.

NATS counts bytes before compression, so a compressed log of 100 GB takes about 30 GB of disk.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from nats.aio.client import Client

from drover.domain.errors import DroverError
from drover.eventlog.log import Partition

REQUEST_S: Final = 5.0
UNLIMITED: Final = -1
FILLING: Final = 0.8
"""From this share of its limit on, people are warned that a log fills up. The alert rules of Prometheus use the same
numbers."""
ALMOST_FULL: Final = 0.95

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class QuotaRefused(DroverError):
    """NATS refused to tell or to change the limit of a log."""


class LogSize(msgspec.Struct, frozen=True):
    bytes: int
    bytes_max: int | None
    """The log's limit; None: it has none."""

    @property
    def share(self) -> float | None:
        """How full the log is: 1 is full. None: it has no limit."""
        return None if self.bytes_max is None else self.bytes / self.bytes_max


async def log_size(client: Client, context: str) -> LogSize:
    return _size_of(await _info(client, context))


async def limit_log(client: Client, context: str, bytes_max: int | None) -> None:
    """Change how many bytes a log may have; None: no limit. A limit below the present size removes nothing: the log
    only stops growing."""
    info = await _info(client, context)
    await _set(client, info, UNLIMITED if bytes_max is None else bytes_max)


async def stop_growth(client: Client, context: str, *, spare: int) -> None:
    """Limit a log to its present size plus `spare` bytes, unless its limit is lower already."""
    info = await _info(client, context)
    size = _size_of(info)
    if size.bytes_max is None or size.bytes_max > size.bytes + spare:
        await _set(client, info, max(size.bytes + spare, 1))  # 0 would mean: no limit


def _size_of(info: dict[str, Any]) -> LogSize:
    limit = info["config"].get("max_bytes", UNLIMITED)
    return LogSize(info["state"]["bytes"], limit if limit > 0 else None)


async def _set(client: Client, info: dict[str, Any], max_bytes: int) -> None:
    config = info["config"]
    if config.get("max_bytes", UNLIMITED) != max_bytes:
        # Send the configuration as the server gave it, because nats-py would drop options that it does not know.
        await _ask(client, f"STREAM.UPDATE.{config['name']}", config | {"max_bytes": max_bytes})


async def _info(client: Client, context: str) -> dict[str, Any]:
    return await _ask(client, f"STREAM.INFO.{Partition(context).stream}", {})


async def _ask(client: Client, verb: str, body: dict[str, Any]) -> dict[str, Any]:
    reply = await client.request(f"$JS.API.{verb}", msgspec.json.encode(body), timeout=REQUEST_S)
    answer = _decode(reply.data)
    if (error := answer.get("error")) is not None:
        raise QuotaRefused(f"{verb}: {error.get('err_code')} {error.get('description')}")
    return answer
