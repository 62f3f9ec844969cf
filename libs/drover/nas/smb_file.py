"""One open file or folder of a share, with the SMB requests that smbprotocol has no function for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from smbprotocol.exceptions import EndOfFile, NoMoreFiles, NoSuchFile
from smbprotocol.file_info import (
    FileDispositionInformation,
    FileFsFullSizeInformation,
    FileInformationClass,
    FileLinkInformation,
    FileRenameInformation,
)
from smbprotocol.open import (
    Open,
    QueryDirectoryFlags,
    SMB2QueryInfoRequest,
    SMB2QueryInfoResponse,
    SMB2SetInfoRequest,
)

CREDITS_WANTED: Final = 64
"""How many credits we ask the server for. Each credit allows us to send 64 KiB; servers start with few and grant what
we ask for."""
_CREDIT_BYTES: Final = 65_536
_QUERY_BYTES_MAX: Final = 4_096


class SmbFile:
    """An open file or folder. Its methods block, and raise the errors of smbprotocol."""

    def __init__(self, handle: Open) -> None:
        self._handle = handle
        self._connection = handle.connection

    @property
    def size_bytes(self) -> int:
        """The size when the file was opened."""
        size: int = self._handle.end_of_file
        return size

    def write(self, data: memoryview, offset: int, bytes_max: int) -> int:
        """Write as much as one request may carry; return how much that was."""
        size = min(len(data), self._room(self._connection.max_write_size), bytes_max)
        request, answer = self._handle.write(bytes(data[:size]), offset, send=False)
        written: int = answer(self._send(request))
        return written

    def read(self, offset: int, bytes_max: int) -> bytes:
        """Read some bytes; empty at the end of the file."""
        size = min(self._room(self._connection.max_read_size), bytes_max)
        request, answer = self._handle.read(offset, size, send=False)
        try:
            data: bytes = answer(self._send(request))
        except EndOfFile:
            return b""
        return data

    def flush(self) -> None:
        self._handle.flush()

    def delete_on_close(self, delete: bool) -> None:
        """Set whether the file is deleted when its handle is closed. If our connection is lost, the server closes the
        handle."""
        wish = FileDispositionInformation()
        wish["delete_pending"] = delete
        self._set(wish)

    def rename(self, name: str) -> None:
        """Rename the file. Raises ObjectNameCollision instead of replacing another file."""
        self._set(_named(FileRenameInformation(), name))

    def link(self, name: str) -> None:
        """Add a second name for the file. Raises ObjectNameCollision instead of replacing another file."""
        self._set(_named(FileLinkInformation(), name))

    def names(self) -> Iterator[str]:
        """Return the names in this folder, in the server's order."""
        flags = QueryDirectoryFlags.SMB2_RESTART_SCANS
        with_names = FileInformationClass.FILE_NAMES_INFORMATION
        while True:
            try:
                entries = self._handle.query_directory("*", with_names, flags=flags)
            except (NoMoreFiles, NoSuchFile):
                return
            flags = 0
            for entry in entries:
                yield entry["file_name"].get_value().decode("utf-16-le", errors="replace")

    def free_bytes(self) -> int:
        """Return the free space on the file system."""
        wanted = FileFsFullSizeInformation()
        request = SMB2QueryInfoRequest()
        request["info_type"] = wanted.INFO_TYPE
        request["file_info_class"] = wanted.INFO_CLASS
        request["file_id"] = self._handle.file_id
        request["output_buffer_length"] = _QUERY_BYTES_MAX
        answer = SMB2QueryInfoResponse()
        answer.unpack(self._connection.receive(self._send(request))["data"].get_value())
        facts = answer.parse_buffer(FileFsFullSizeInformation)
        units, sectors, bytes_each = (
            int(facts[field].get_value())
            for field in ("caller_available_units", "sectors_per_unit", "bytes_per_sector")
        )
        return units * sectors * bytes_each

    def _set(self, info: Any) -> None:
        request = SMB2SetInfoRequest()
        request["info_type"] = info.INFO_TYPE
        request["file_info_class"] = info.INFO_CLASS
        request["file_id"] = self._handle.file_id
        request["buffer"] = info
        self._connection.receive(self._send(request))

    def _send(self, request: Any) -> Any:
        tree = self._handle.tree_connect
        return self._connection.send(
            request, sid=tree.session.session_id, tid=tree.tree_connect_id, credit_request=CREDITS_WANTED
        )

    def _room(self, negotiated: int) -> int:
        """Return how many bytes one request may carry now: smbprotocol refuses to send more than its credits allow."""
        window = self._connection.sequence_window
        credits_left = window["high"] - window["low"] if self._connection.supports_multi_credit else 1
        return int(min(negotiated, max(1, credits_left) * _CREDIT_BYTES))


def _named(info: Any, name: str) -> Any:
    info["replace_if_exists"] = False
    info["file_name"] = name
    return info
