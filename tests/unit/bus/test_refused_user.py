"""Why a connection could not be made."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest

from drover.bus.connection import NatsUnreachable, connected

INFO = b'INFO {"server_id":"x","version":"2.15.0","proto":1,"max_payload":1048576,"auth_required":true}\r\n'


async def test_a_refused_user_is_told_so_although_later_tries_see_only_a_reset():
    tries = 0

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal tries
        tries += 1
        writer.write(INFO)
        await reader.readline()
        if tries == 1:
            writer.write(b"-ERR 'Authorization Violation'\r\n")
            await writer.drain()
            writer.close()
        else:
            # Closing then sends a reset, not an end of the stream.
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    server = await asyncio.start_server(refuse, "127.0.0.1")
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(NatsUnreachable, match="refused the user"):
            async with connected(f"nats://drover:wrong@127.0.0.1:{port}", "test"):
                pass
    assert tries > 1
