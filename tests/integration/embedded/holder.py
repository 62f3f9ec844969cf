"""A stand-in for `drover up`, run by the tests as a process of its own: holds a data directory and both servers.

Prints one JSON line when all is up, and one when a signal came, which says whether the servers still answer then.
"""

import asyncio
import json
import signal
import sys
from pathlib import Path

import asyncpg
import nats
import structlog

from drover.embedded.directory import DataDirectory
from drover.embedded.nats import nats_server
from drover.embedded.postgres import postgres_server


async def main(data_dir: Path) -> None:
    asked_to_stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked_to_stop.set)
    with DataDirectory(data_dir):
        async with nats_server(data_dir) as log, postgres_server(data_dir) as database:
            servers = {"nats_url": log.url, "dsn": database.dsn}
            pids = {"servers": [log.pid, database.pid], "guards": [log.guard_pid, database.guard_pid]}
            print(json.dumps(servers | pids), flush=True)
            await asked_to_stop.wait()
            client = await nats.connect(log.url, allow_reconnect=False)
            await client.jetstream().account_info()
            await client.close()
            connection = await asyncpg.connect(database.dsn)
            answered = await connection.fetchval("SELECT 1") == 1
            await connection.close()
            print(json.dumps({"servers_answer": answered}), flush=True)


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    asyncio.run(main(Path(sys.argv[1])))
