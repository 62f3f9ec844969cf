"""The certificate of a process that serves HTTPS itself: reads it from files, and again whenever the files change."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

import structlog
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from drover.service.config import ConfigurationError, Settings
from drover.service.reasons import reason_of
from drover.service.tasks import end

LOOK_EVERY_S: Final = 5.0
"""How often the files are checked for changes."""
HERE: Final = ("localhost", "127.0.0.1")

log = structlog.get_logger("drover.tls")


class Certificate:
    """A certificate with its key, and the TLS context that new connections use."""

    def __init__(self, cert: Path, key: Path) -> None:
        """Raises ConfigurationError, which names the bad file."""
        self._cert, self._key = cert, key
        self._seen = self._versions()
        self._current = self.context = self._load()
        # A new certificate gets a context of its own, so that a bad file cannot damage the one in use. This callback
        # chooses the newest context for each connection.
        self.context.sni_callback = self._choose

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """Return the certificate that the settings name; None if there is none."""
        if settings.tls_cert is None or settings.tls_key is None:
            return None
        return cls(Path(settings.tls_cert), Path(settings.tls_key))

    @property
    def host(self) -> str:
        """A host name or address to reach this process by: localhost or 127.0.0.1 if the certificate is valid for one
        of them, else the first name in it without a wildcard. 127.0.0.1 if there is none."""
        names = _names(_parsed(self._cert))
        return next((name for name in (*HERE, *names) if name in names and "*" not in name), HERE[-1])

    @asynccontextmanager
    async def watching(self, every_s: float = LOOK_EVERY_S) -> AsyncIterator[None]:
        """While the block runs, watch the files. When they change, new connections use their new content."""
        task = asyncio.create_task(self._watch(every_s), name="certificate")
        try:
            yield
        finally:
            await end(task)

    async def _watch(self, every_s: float) -> None:
        while True:
            await asyncio.sleep(every_s)
            self.look()

    def look(self) -> None:
        """Read the files again if they have changed. If one is bad, that is logged, and the last good certificate stays
        in use."""
        versions = self._versions()
        if versions == self._seen:
            return
        self._seen = versions
        try:
            self._current = self._load()
        except ConfigurationError as error:
            log.error("certificate_not_reloaded", why=str(error), advice="The certificate before it is still used.")
        else:
            log.info("certificate_reloaded", file=str(self._cert))

    def _choose(self, connection: ssl.SSLObject, _host: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current

    def _versions(self) -> tuple[object, ...]:
        return tuple(_version(path) for path in (self._cert, self._key))

    def _load(self) -> ssl.SSLContext:
        certificate = _parsed(self._cert)
        _check_key(self._key)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self._cert, self._key, password="")
        except (ssl.SSLError, OSError) as error:
            raise _unusable("key", self._key, "is not the key of the certificate in DROVER_TLS_CERT") from error
        if certificate.not_valid_after_utc < datetime.now(UTC):
            log.warning("certificate_expired", file=str(self._cert), expired_at=str(certificate.not_valid_after_utc))
        return context


def _version(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _parsed(path: Path) -> x509.Certificate:
    """Return the first certificate in a file, which is that of the server."""
    try:
        return x509.load_pem_x509_certificates(_read("cert", path))[0]
    except ValueError as error:
        raise _unusable("cert", path, "has no certificate in PEM form (-----BEGIN CERTIFICATE-----)") from error


def _check_key(path: Path) -> None:
    content = _read("key", path)
    try:
        load_pem_private_key(content, None)
    except TypeError as error:
        remedy = f"remove it with `openssl pkey -in {path} -out NEW`"
        raise _unusable("key", path, f"needs a passphrase, and nobody is there to type it: {remedy}") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _unusable("key", path, "has no private key in PEM form (-----BEGIN PRIVATE KEY-----)") from error


def _read(what: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unusable(what, path, f"cannot be read ({reason_of(error)})") from error


def _unusable(what: str, path: Path, problem: str) -> ConfigurationError:
    return ConfigurationError((f"DROVER_TLS_{what.upper()} (--tls-{what}): {path} {problem}.",))


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    addresses = (str(address) for address in names.get_values_for_type(x509.IPAddress))
    return [*names.get_values_for_type(x509.DNSName), *addresses]
