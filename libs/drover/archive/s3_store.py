"""Keeps archives in a bucket of S3, or of a server that speaks its protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Final

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import S3Store

from drover.archive.errors import ArchiveBusy, ArchiveUnreachable, FileDamaged
from drover.archive.store import FileMissing, Found

REQUEST_S: Final = 60.0
"""The time-out of one request. It must be enough to send or receive a whole segment."""
CONNECT_S: Final = 5.0
RETRIES_MAX: Final = 4
RETRIES_S: Final = 60.0
"""After this many seconds a failed request is not sent again. Each pause between retries is longer than the one
before."""
CHUNK_BYTES: Final = 1024 * 1024
PART_BYTES: Final = 16 * 1024 * 1024
"""The size of the parts in which a large file is sent, in bytes. S3 accepts 10,000 parts, so files may have up to 160
GB."""
PARTS_AT_ONCE: Final = 2
_REASON_CHARS_MAX: Final = 300


class S3Archives:
    """Implements ArchiveStore. S3 has no locks. So `replace` is a conditional put: if two writers try it at once, only
    one succeeds."""

    shared = True

    def __init__(
        self,
        bucket: str,
        prefix: str,
        *,
        endpoint: str | None = None,
        region: str | None = None,
        key_id: str | None = None,
        secret: str | None = None,
        request_s: float = REQUEST_S,
        retries_max: int = RETRIES_MAX,
    ) -> None:
        """Without `key_id`, the client looks for credentials as other AWS programs do."""
        self._address = f"s3://{bucket}/{prefix}".rstrip("/")
        config = {"endpoint": endpoint, "region": region, "access_key_id": key_id, "secret_access_key": secret}
        self._store = S3Store(
            bucket,
            prefix=prefix or None,
            config={name: value for name, value in config.items() if value is not None},  # type: ignore[arg-type]
            virtual_hosted_style_request=False,
            client_options={
                "allow_http": endpoint is not None and endpoint.startswith("http://"),
                "timeout": timedelta(seconds=request_s),
                "connect_timeout": timedelta(seconds=min(CONNECT_S, request_s)),
            },
            retry_config={"max_retries": retries_max, "retry_timeout": timedelta(seconds=RETRIES_S)},
        )

    def place(self, name: str = "") -> str:
        return f"{self._address}/{name}".rstrip("/")

    async def read(self, name: str, bytes_max: int) -> Found:
        with self._named(name):
            found = await self._store.get_async(name)
            if (size := found.meta["size"]) > bytes_max:
                reason = f"it has {size:,} bytes, which is too much"
                raise FileDamaged(self.place(name), reason, "Restore it from a copy.")
            return Found(bytes(await found.bytes_async()), found.meta["e_tag"] or "")

    async def write(self, name: str, data: bytes) -> None:
        with self._named(name):
            await self._store.put_async(name, data, use_multipart=False)

    async def replace(self, name: str, data: bytes, version: str | None) -> str:
        try:
            with self._named(name):
                put = await self._store.put_async(
                    name, data, use_multipart=False, mode="create" if version is None else {"e_tag": version}
                )
                return put["e_tag"] or ""
        except (AlreadyExistsError, PreconditionError):
            # The client repeats a put whose answer was lost. The repeat is refused because the first one has changed
            # the file.
            there = await self.read(name, len(data) + 1)
            if there.data == data:
                return there.version
            raise ArchiveBusy(self.place(name)) from None

    async def read_chunks(self, name: str) -> AsyncGenerator[bytes, None]:
        with self._named(name):
            async for chunk in (await self._store.get_async(name)).stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(chunk)

    async def write_chunks(self, name: str, chunks: AsyncIterable[bytes]) -> None:
        with self._named(name):
            await self._store.put_async(
                name, aiter(chunks), use_multipart=True, chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE
            )

    async def delete(self, name: str) -> None:
        with self._named(name):
            await obstore.delete_async(self._store, name)

    async def names(self, folder: str) -> list[str]:
        with self._named(folder):
            found = await self._store.list_with_delimiter_async(folder)
            return sorted(one["path"].rpartition("/")[2] for one in found["objects"])

    async def folders(self) -> list[str]:
        with self._named(""):
            found = await self._store.list_with_delimiter_async()
            return sorted(found["common_prefixes"])

    async def remove(self, folder: str) -> None:
        with self._named(folder):
            async for found in self._store.list(folder):
                await obstore.delete_async(self._store, [one["path"] for one in found])

    @asynccontextmanager
    async def locked(self, folder: str) -> AsyncIterator[None]:
        yield

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """Turn the errors of the client into ours."""
        try:
            yield
        except (AlreadyExistsError, PreconditionError):
            raise
        except (BaseError, OSError) as error:
            if "<Code>NoSuchBucket</Code>" in str(error):  # the client reports a missing bucket like a missing file
                raise ArchiveUnreachable(self.place(), "there is no such bucket") from error
            if isinstance(error, FileNotFoundError):
                raise FileMissing(self.place(name)) from error
            reason = str(error).partition("\n\nDebug source")[0][:_REASON_CHARS_MAX]
            raise ArchiveUnreachable(self.place(name), reason) from error
