"""The Samba server of the session, and a bucket."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from drover.testing.waiting import eventually
from tests.bucket import bucket, bucket_url  # noqa: F401 - fixtures
from tests.conftest import BackgroundLoop
from tests.contract.smbd import Smbd, listens, missing, smbd
from tests.e2e.process import free_port


@pytest.fixture(scope="session")
def samba(background_loop: BackgroundLoop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Smbd]:
    """Shared: a test has a folder of its own on it, and breaks lines to it, not the server."""
    if (why := missing()) is not None:
        pytest.skip(why)
    with smbd(tmp_path_factory.mktemp("smbd"), free_port()) as server:
        background_loop.run(eventually(lambda: listens(server.port)))
        yield server
