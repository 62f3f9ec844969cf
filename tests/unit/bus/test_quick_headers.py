"""Headers of messages are parsed as nats-py parses them."""

import pytest
from nats.aio.client import Client

from drover.bus.quick_headers import QuickClient


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n\r\n",
        b"Drover-Commit: 0b5c\r\nDrover-Epoch: 7\r\n\r\n",
        b"Name:Value\r\nOther:\tvalue \r\nEmpty:\r\nEmpty-Too: \r\n\r\n",
        b"Twice: first\r\nTwice: second\r\n\r\n",
        b"No colon here\r\nA: b: c\r\n\r\n",
        b" Padded : x\r\nWith space: x\r\nWith\ttab: x\r\nWith\x1cseparator: x\r\n: no name\r\n\r\n",
        b"Caf\xc3\xa9: x\r\nValue: caf\xc3\xa9\r\nBroken: \xff\xfe\r\n\xa0: y\r\nNo-Break: \xc2\xa0x\xc2\xa0\r\n\r\n",
        b"Only-Newline: a\nb: c\r\n\r\n",
    ],
)
def test_every_block_of_headers_gives_what_nats_py_gives(raw):
    for _ in range(2):  # the second time with names that are known
        assert QuickClient._parse_header_lines(raw) == Client._parse_header_lines(raw)
