"""The servers of `deploy`, as far as they run without Docker."""

from __future__ import annotations

import shutil

import pytest

from tests.deploy.permitted_nats import PermittedNats


@pytest.fixture
def nats_files(tmp_path, monkeypatch):
    """The configuration of `deploy/nats` for a server of this test; its authority is trusted like any other."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing: it makes the certificates")
    folder = tmp_path / "permitted"
    folder.mkdir()
    files = PermittedNats(folder)
    monkeypatch.setenv("SSL_CERT_FILE", str(files.certificates / "trust" / "ca.crt"))
    return files


@pytest.fixture
async def permitted_nats(nats_files):
    async with nats_files.running() as server:
        yield server
