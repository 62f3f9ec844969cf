"""Makes the store for the address of an archive: a folder, or s3://bucket/prefix."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

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


def open_store(address: str | Path, environ: Mapping[str, str] = os.environ) -> ArchiveStore:
    """Make the store for an address. It does not connect yet. The environment has the settings of the bucket."""
    text = str(address)
    if not text.startswith(S3):
        return FolderStore(Path(text))
    others = [name for name in environ if name.startswith(PREFIX)]  # whoever reads all settings checks them
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
        key_id=settings.archive_s3_key_id,
        secret=settings.archive_s3_secret,
    )
