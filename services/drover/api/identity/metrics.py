"""Metrics of the sign-in service. Labels have few values: an unknown outcome or reason counts as `other`."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

REASONS: Final = (
    "signed_out",
    "expired",
    "reuse",
    "limit",
    "disabled",
    "role_changed",
    "password_changed",
    "by_admin",
    "erased",
    "other",
)

SIGN_INS: Final = Counter(
    "drover_sign_ins_total", "Attempts to sign in, by outcome: ok, refused (wrong) or limited", ["outcome"]
)
REFRESHES: Final = Counter(
    "drover_token_refreshes_total",
    "Refreshes by outcome: ok, repeated (the same child within the grace period) or refused",
    ["outcome"],
)
SIGN_OUTS: Final = Counter(
    "drover_sign_outs_total", "Ended sessions, by reason; counted by the leading process", ["reason"]
)
for _reason in REASONS:
    SIGN_OUTS.labels(_reason)
for _outcome in ("ok", "refused", "limited"):
    SIGN_INS.labels(_outcome)
for _outcome in ("ok", "repeated", "refused"):
    REFRESHES.labels(_outcome)


def count_end(reason: str) -> None:
    SIGN_OUTS.labels(reason if reason in REASONS else "other").inc()
