"""Reads the files that `drover up` keeps in its data directory, with a clear error if that fails."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from drover.cli.errors import CredentialsUnreadable
from drover.embedded.credentials import Credentials, Secrets

Stored = TypeVar("Stored", Secrets, Credentials)


def read_stored(path: Path, kind: type[Stored]) -> Stored | None:
    """Read a file of the data directory. None if it does not exist."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        advice = "It belongs to the user who ran `drover up`: run this command as that user."
        raise CredentialsUnreadable(path, "permission denied", advice) from error
    except OSError as error:
        raise CredentialsUnreadable(path, error.strerror or str(error), "Check --data-dir.") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # ValidationError is a DecodeError
        raise CredentialsUnreadable(path, f"malformed ({error})", "Restore it from a backup.") from error
