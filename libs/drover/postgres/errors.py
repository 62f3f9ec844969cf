"""What asyncpg raises while PostgreSQL cannot be used."""

from __future__ import annotations

from typing import Final

import asyncpg

POSTGRES_AWAY: Final = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError)
"""The errors of a server that is unreachable, too slow (a TimeoutError is an OSError) or not ready. They include every
error that the server reports, so catch more specific ones before these."""
