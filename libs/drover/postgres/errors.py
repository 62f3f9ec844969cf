"""What asyncpg raises while PostgreSQL cannot be used."""

from __future__ import annotations

from typing import Final

import asyncpg

POSTGRES_AWAY: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
"""Unreachable, too slow (a TimeoutError is an OSError), or not ready. Also whatever else the server reports: catch more
special errors first."""
