"""The protocol between NATS clients and servers: reads what clients send, and encodes what a server sends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

CRLF: Final = b"\r\n"
VERSION_LINE: Final = b"NATS/1.0"
PONG: Final = b"PONG\r\n"


class Message(msgspec.Struct):
    subject: str
    data: bytes = b""
    reply: str = ""
    headers: bytes = b""
    """As they are on the wire."""


class Connect(msgspec.Struct):
    options: dict[str, Any]


class Subscribe(msgspec.Struct):
    subject: str
    queue: str
    id: str


class Unsubscribe(msgspec.Struct):
    id: str


class Ping(msgspec.Struct):
    pass


Operation = Message | Connect | Subscribe | Unsubscribe | Ping


class Unreadable(Exception):
    """A client sent something that the simulation does not know."""


class OperationReader:
    """Cuts the bytes of one client into its operations."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Operation]:
        self._buffer += data
        while (end := self._buffer.find(CRLF)) >= 0:
            verb, *words = self._buffer[:end].decode().split()
            body = end + len(CRLF)
            if verb in ("PUB", "HPUB"):
                size = int(words[-1])
                if len(self._buffer) < body + size + len(CRLF):
                    return
                yield _message(verb, words, bytes(self._buffer[body : body + size]))
                body += size + len(CRLF)
            elif verb != "PONG":
                yield _operation(verb, words)
            del self._buffer[:body]


def _message(verb: str, words: list[str], content: bytes) -> Message:
    headers_end = int(words[-2]) if verb == "HPUB" else 0
    sizes = 2 if verb == "HPUB" else 1
    reply = words[1] if len(words) == 2 + sizes else ""
    return Message(words[0], content[headers_end:], reply, content[:headers_end])


def _operation(verb: str, words: list[str]) -> Operation:
    match verb, words:
        case "CONNECT", _:
            return Connect(msgspec.json.decode(" ".join(words)))
        case "PING", []:
            return Ping()
        case "SUB", [subject, *queue, id_]:
            return Subscribe(subject, "".join(queue), id_)
        case "UNSUB", [id_]:
            return Unsubscribe(id_)
    raise Unreadable(f"{verb} {words}")


def encode_info(info: dict[str, Any]) -> bytes:
    return b"INFO " + msgspec.json.encode(info) + CRLF


def encode_message(message: Message, subscription: str) -> bytes:
    where = f"{message.subject} {subscription} {message.reply}".rstrip()
    if message.headers:
        size = len(message.headers)
        line = f"HMSG {where} {size} {size + len(message.data)}"
    else:
        line = f"MSG {where} {len(message.data)}"
    return b"".join((line.encode(), CRLF, message.headers, message.data, CRLF))


def encode_headers(headers: dict[str, str], status: str = "") -> bytes:
    """Encode headers as they are on the wire. `status`: code and text, for a message that a server sends about a
    request."""
    first = VERSION_LINE + (f" {status}".encode() if status else b"")
    lines = [f"{name}: {value}".encode() for name, value in headers.items()]
    return CRLF.join((first, *lines, b"", b""))


def decode_headers(raw: bytes) -> dict[str, str]:
    pairs = (line.partition(":") for line in raw.decode().split("\r\n")[1:] if line)
    return {name: value.strip() for name, _, value in pairs}
