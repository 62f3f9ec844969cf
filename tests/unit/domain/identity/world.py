"""Scenarios of identity: people, their sessions, the tokens of a session. No expectations here."""

from __future__ import annotations

from hashlib import sha256

from drover.domain.identity import IDENTITY
from drover.domain.identity import events as e
from drover.domain.identity.commands import RotateRefresh, StartSession
from drover.testing.scenario import Scenario, given

IDLE_S, LIFETIME_S = 7 * 86_400, 30 * 86_400


def account_id(number: int) -> str:
    return f"aaaaaaaa-0000-4000-8000-{number:012d}"


def session_id(number: int) -> str:
    return f"55555555-0000-4000-8000-{number:012d}"


KIM, LEE, PARK = map(account_id, range(1, 4))
S1, S2, S3 = map(session_id, range(1, 4))


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def created(account: str = KIM, role: str = "admin") -> e.AccountCreated:
    return e.AccountCreated(account, digest(account), f"sealed address of {account}", role, f"sealed hash of {account}")


def token(number: int, session: str = S1) -> str:
    """The digest of the nth refresh token of a session; 0 is the first."""
    return digest(f"{session}.{number}")


def start(session: str = S1, account: str = KIM, *, revision: int = 1, sessions_max: int | None = None) -> StartSession:
    return StartSession(
        session_id=session,
        account_id=account,
        revision=revision,
        digest=token(0, session),
        user_agent="Firefox on Windows",
        idle_s=IDLE_S,
        lifetime_s=LIFETIME_S,
        sessions_max=sessions_max,
    )


def refresh(number: int, session: str = S1) -> RotateRefresh:
    """Use the nth token."""
    return RotateRefresh(session, token(number, session), token(number + 1, session), IDLE_S)


def signed_in(*people: str) -> Scenario:
    """Kim is an admin with the session S1; others have accounts only."""
    scenario = given(IDENTITY, created(), *(created(person, "viewer") for person in people))
    return scenario.when(start())
