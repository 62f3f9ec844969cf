"""Sign-in and refresh of tokens, without HTTP. The routes are in `gotrue` and `browser`."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

import msgspec
import structlog

from drover.api.identity.addresses import Addresses
from drover.api.identity.attempts import Attempts
from drover.api.identity.client import IdentityClient, KnownAccount
from drover.api.identity.metrics import REFRESHES, SIGN_INS
from drover.api.identity.passwords import Passwords
from drover.api.identity.refresh_tokens import NotOurs, RefreshTokens, digest
from drover.api.identity.settings import IdentitySettings
from drover.bus.messages import Rejected
from drover.domain.errors import Code
from drover.domain.identity.commands import RotateRefresh, StartSession
from drover.service.access_tokens import ISSUER, issue_access_token
from drover.service.api_keys import Role
from drover.service.identity_keys import IdentityKeys
from drover.web.auth import Principal
from drover.web.commands import Origin
from drover.web.errors import ApiError

DAY_S: Final = 86_400

log = structlog.stdlib.get_logger("auth")


class SignedIn(msgspec.Struct, frozen=True):
    """The result of a sign-in or refresh."""

    account: KnownAccount
    session_id: str
    access_token: str
    expires_in: int
    expires_at: int
    refresh_token: str
    session_expires_at: datetime

    @property
    def principal(self) -> Principal:
        return Principal(
            role=Role(self.account.role.value),
            name=f"user:{self.account.account_id}",
            expires_at=self.expires_at,
            user_id=self.account.account_id,
            session_id=self.session_id,
            issuer=ISSUER,
        )


class _Rotated(msgspec.Struct):
    session_id: str
    account_id: str
    child: str
    expires_at: datetime


class Issuing:
    """Signs people in and refreshes their tokens."""

    issuer = ISSUER

    def __init__(
        self,
        settings: IdentitySettings,
        keys: IdentityKeys,
        client: IdentityClient,
        addresses: Addresses,
        passwords: Passwords,
        *,
        clock: Callable[[], float] = time.time,
        attempts: Attempts | None = None,
    ) -> None:
        self._keys = keys
        self._client = client
        self._addresses = addresses
        self._passwords = passwords
        self._clock = clock
        self._refresh_tokens = RefreshTokens(keys.refresh)
        self._attempts = attempts or Attempts(settings.sign_ins_per_min, settings.sign_ins_burst)
        self._access_s = settings.access_token_s
        self._idle_s = settings.session_idle_days * DAY_S
        self._lifetime_s = settings.session_days * DAY_S
        self._sessions_max = settings.sessions_max

    async def sign_in(self, email: str, password: str, *, address: str, user_agent: str) -> SignedIn:
        """Sign a person in. Always starts a new session, with nothing from the request in it (against session
        fixation)."""
        account = await self._checked(email, password, address=address)
        session_id = str(uuid4())
        token = self._refresh_tokens.first(session_id)
        started = await self._client.outcome(
            StartSession(
                session_id=session_id,
                account_id=account.account_id,
                revision=account.revision,
                digest=digest(token),
                user_agent=user_agent,
                idle_s=self._idle_s,
                lifetime_s=self._lifetime_s,
                sessions_max=self._sessions_max,
            ),
            Origin(by=f"user:{account.account_id}"),
        )
        if isinstance(started, Rejected):
            # A conflict: the account has changed since its password was checked.
            raise wrong() if started.code == Code.CONFLICT else self._client.refusal(started)
        SIGN_INS.labels("ok").inc()
        log.info("signed_in", user_id=account.account_id, session_id=session_id)
        return self._issued(account, session_id, token, msgspec.convert(started.result["expires_at"], datetime))

    async def _checked(self, email: str, password: str, *, address: str) -> KnownAccount:
        """Return the account if the password is right. An unknown address, a wrong password, a disabled account and an
        erased one take the same time and get the same answer."""
        hashes = self._addresses.hashes(email)
        self._attempts.check(address, hashes[0])
        account = await self._client.find(hashes)
        good = await self._passwords.matches(
            password,
            None if account is None else account.password_sealed,
            "" if account is None else account.account_id,
        )
        if account is None or account.disabled or not good:
            SIGN_INS.labels("refused").inc()
            log.info("sign_in_refused")
            raise wrong()
        return account

    async def confirms(self, account: KnownAccount, password: str, *, address: str) -> bool:
        """Check the password of a person who is signed in. Counts as an attempt to sign in."""
        self._attempts.check(address, account.email_hash)
        return await self._passwords.matches(password, account.password_sealed, account.account_id)

    async def refresh(self, token: str) -> SignedIn:
        """Exchange a refresh token for the next pair of tokens. Raises the error of `session_over` if its session has
        ended."""
        try:
            session_id = self._refresh_tokens.session_of(token)
        except NotOurs:
            REFRESHES.labels("refused").inc()
            raise session_over("REFRESH_TOKEN_NOT_FOUND") from None
        children = {digest(child): child for child in self._refresh_tokens.children(token)}
        outcome = await self._client.outcome(
            RotateRefresh(session_id, digest(token), next(iter(children)), self._idle_s),
            Origin(by=f"session:{session_id}"),
        )
        if isinstance(outcome, Rejected):
            raise self._refused(outcome, session_id)
        rotated = msgspec.convert(outcome.result, _Rotated)
        account = await self._client.read(rotated.account_id)
        if account is None or rotated.child not in children:
            raise session_over("SESSION_EXPIRED")  # issued under a secret that was removed
        REFRESHES.labels("ok" if outcome.position else "repeated").inc()
        # Document 001 (§4.1) prescribes these words.
        log.info(f"auth: Token refreshed for user {account.account_id}", user_id=account.account_id)
        return self._issued(account, session_id, children[rotated.child], rotated.expires_at)

    def _refused(self, rejected: Rejected, session_id: str) -> ApiError:
        if rejected.code not in (Code.CONFLICT, Code.NOT_FOUND):
            return self._client.refusal(rejected)
        reason = (rejected.details or {}).get("reason")
        REFRESHES.labels("refused").inc()
        log.info("refresh_refused", session_id=session_id, reason=reason)
        return session_over("REFRESH_TOKEN_ALREADY_USED" if rejected.code == Code.CONFLICT else "SESSION_EXPIRED")

    def session_of(self, token: str) -> str | None:
        """Return the session of a refresh token. None: this service did not issue the token."""
        try:
            return self._refresh_tokens.session_of(token)
        except NotOurs:
            return None

    def _issued(self, account: KnownAccount, session_id: str, refresh_token: str, ends: datetime) -> SignedIn:
        now_s = int(self._clock())
        access_token = issue_access_token(
            self._keys,
            account_id=account.account_id,
            session_id=session_id,
            role=Role(account.role.value),
            now_s=now_s,
            lifetime_s=self._access_s,
        )
        return SignedIn(
            account=account,
            session_id=session_id,
            access_token=access_token,
            expires_in=self._access_s,
            expires_at=now_s + self._access_s,
            refresh_token=refresh_token,
            session_expires_at=ends,
        )

    async def person(self, account: KnownAccount) -> dict[str, Any]:
        """Make the description of an account that its owner and admins see. Raises 503."""
        return {
            "id": account.account_id,
            "email": await self._addresses.opened(account.email_sealed, account.account_id),
            "role": account.role,
            "disabled": account.disabled,
            "created_at": account.created_at,
            "updated_at": account.updated_at,
            "last_sign_in_at": account.last_sign_in_at,
        }


def wrong() -> ApiError:
    """Make the error for a wrong address or password: 400, which the dashboard's routes turn into 401."""
    return ApiError(400, "INVALID_CREDENTIALS", "Invalid login credentials")


def session_over(code: str) -> ApiError:
    """Make the error for a session that has ended: 400, which the dashboard's routes turn into 401. It does not say
    why: the holder of the token may be a thief. The reason is in the log and the alerts."""
    return ApiError(400, code, "The session is over; sign in again", plain=(code, "Please sign in again"))
