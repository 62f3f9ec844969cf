"""Finds the secrets of the platform: in the environment, and for a platform of `drover up` in its data directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from drover.cli.options import DATA_DIR_DEFAULT
from drover.cli.stored import read_stored
from drover.domain.identity import IDENTITY
from drover.embedded.credentials import Secrets
from drover.platform.settings import load
from drover.service import config


def identity_secrets(data_dir: Path | None, *, embedded: bool) -> tuple[str, ...]:
    """Return the secrets that sign API keys and people's tokens, the current one first. Empty: there are none."""
    return _found(data_dir, lambda settings: settings.identity_secrets, "identity_secret", embedded=embedded)


def sealing_keys(
    data_dir: Path | None, *, embedded: bool, context: str = IDENTITY.context, environ: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """Return the keys that seal personal data of a context, by default of accounts. Empty: there are none."""
    return _found(
        data_dir,
        lambda settings: settings.sealing_ring(context),
        "sealing_key",
        embedded=embedded,
        environ=environ,
    )


def shared_secrets(data_dir: Path | None, *, embedded: bool) -> tuple[str, ...]:
    """Return the secrets of API keys without an id."""
    return _found(data_dir, lambda settings: settings.jwt_secrets, "jwt_secret", embedded=embedded)


def _found(
    data_dir: Path | None,
    setting: Callable[[config.Settings], tuple[str, ...]],
    stored: str,
    *,
    embedded: bool,
    environ: Mapping[str, str] = os.environ,
) -> tuple[str, ...]:
    """Return a setting from the environment, which takes precedence, or from the data directory."""
    named = setting(load(environ, without=config.REQUIRED)[config.Settings])
    if named or not embedded:
        return named
    own = read_stored((data_dir or DATA_DIR_DEFAULT) / "secrets.json", Secrets)
    value: str = getattr(own, stored) if own is not None else ""
    return (value,) if value else ()
