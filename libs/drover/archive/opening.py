"""Makes the store for the address of an archive: a folder, or s3://bucket/prefix."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from drover.archive.folder_store import FolderStore
from drover.archive.store import ArchiveStore
from drover.domain.errors import DroverError
from drover.service.config import PREFIX, REQUIRED, Settings, read

S3: Final = "s3://"


class BucketClientMissing(DroverError):
    """The package for buckets is not installed."""

    def __init__(self, address: str) -> None:
        super().__init__(f"{address} is a bucket, which needs the extra `drover[s3]`: pip install 'drover[s3]'.")
        self.address = address


class BucketKey(NamedTuple):
    """The access key of a bucket."""

    id: str
    secret: str


def open_store(
    address: str | Path, environ: Mapping[str, str] = os.environ, *, key: BucketKey | None = None
) -> ArchiveStore:
    """Make the store for an address; it does not connect yet. `environ`: the environment variables with the settings of
    the bucket. `key`: the access key to use instead of the one in these settings."""
    text = str(address)
    if not text.startswith(S3):
        return FolderStore(Path(text))
    others = [name for name in environ if name.startswith(PREFIX)]  # other code reads and checks these
    settings = read(environ, Settings, known=others, without=REQUIRED)[Settings]
    try:
        from drover.archive.s3_store import S3Archives
    except ImportError as error:
        raise BucketClientMissing(text) from error
    bucket, _, prefix = text.removeprefix(S3).partition("/")
    return S3Archives(
        bucket,
        prefix.strip("/"),
        endpoint=settings.archive_s3_endpoint,
        region=settings.archive_s3_region,
        key_id=key.id if key else settings.archive_s3_key_id,
        secret=key.secret if key else settings.archive_s3_secret,
    )
