"""A server that speaks the protocol of S3 (moto's), with a bucket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import boto3
import pytest
from moto.server import ThreadedMotoServer
from uuid_utils import uuid4

KEY_ID, SECRET = "the-key-id", "the secret of the key"


class Bucket(NamedTuple):
    url: str
    """The address of the server."""
    name: str
    client: object
    """A client of AWS, to look into the bucket."""

    @property
    def settings(self) -> dict[str, str]:
        return {
            "DROVER_ARCHIVE_S3_ENDPOINT": self.url,
            "DROVER_ARCHIVE_S3_KEY_ID": KEY_ID,
            "DROVER_ARCHIVE_S3_SECRET": SECRET,
        }


@contextmanager
def bucket_server() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@pytest.fixture(scope="session")
def bucket_url():
    with bucket_server() as url:
        yield url


@pytest.fixture
def bucket(bucket_url):
    client = boto3.client(
        "s3",
        endpoint_url=bucket_url,
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
    )
    name = f"archives-{uuid4().hex[:12]}"
    client.create_bucket(Bucket=name)
    return Bucket(bucket_url, name, client)
