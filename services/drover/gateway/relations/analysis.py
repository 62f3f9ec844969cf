"""The relations of analyses, as their projection makes them."""

from __future__ import annotations

from functools import partial
from typing import Final

from drover.gateway.relations.describe import many, one, relation
from drover.web.postgrest.relation import PgType

_analysis: Final = partial(relation, "analysis")

SAJU_TESTS: Final = _analysis(
    "saju_tests",
    {
        "id": PgType.UUID,
        "user_id": PgType.TEXT,
        "status": PgType.TEXT,
        "reason": PgType.TEXT,
        "error_code": PgType.TEXT,
        "error_message": PgType.TEXT,
        "result_ref": PgType.TEXT,
        "refunded": PgType.BOOLEAN,
        "cleanup_run_id": PgType.UUID,
        "skipped": PgType.TEXT,
        "late_report": PgType.TEXT,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
        "completed_at": PgType.TIMESTAMPTZ,
    },
    embeds=(one("users", "user_id"), one("cleanup_runs", "cleanup_run_id"), many("test_ledger", "test_id")),
)
USERS: Final = _analysis(
    "users",
    {
        "id": PgType.TEXT,
        "tier": PgType.TEXT,
        "remaining_tests": PgType.INTEGER,
        "frozen": PgType.BOOLEAN,
        "granted": PgType.BIGINT,
        "charged": PgType.BIGINT,
        "refunded": PgType.BIGINT,
        "created_at": PgType.TIMESTAMPTZ,
        "updated_at": PgType.TIMESTAMPTZ,
    },
    embeds=(many("saju_tests", "user_id"), many("test_ledger", "user_id")),
)
CLEANUP_RUNS: Final = _analysis(
    "cleanup_runs",
    {
        "id": PgType.UUID,
        "trigger": PgType.TEXT,
        "by": PgType.TEXT,
        "status": PgType.TEXT,
        "scheduled_for": PgType.TIMESTAMPTZ,
        "started_before": PgType.TIMESTAMPTZ,
        "tiers_started_before": PgType.JSONB,
        "cleaned_count": PgType.INTEGER,
        "skipped_count": PgType.INTEGER,
        "users_count": PgType.INTEGER,
        "duration_ms": PgType.BIGINT,
        "started_at": PgType.TIMESTAMPTZ,
        "finished_at": PgType.TIMESTAMPTZ,
        "users_affected": PgType.TEXT_ARRAY,
        "tests_cleaned": PgType.TEXT_ARRAY,
        "tests_skipped": PgType.TEXT_ARRAY,
    },
    embeds=(many("cleanup_run_tests", "run_id"),),
)
CLEANUP_RUN_TESTS: Final = _analysis(
    "cleanup_run_tests",
    {
        "id": PgType.BIGINT,
        "run_id": PgType.UUID,
        "test_id": PgType.UUID,
        "user_id": PgType.TEXT,
        "outcome": PgType.TEXT,
        "reason": PgType.TEXT,
        "created_at": PgType.TIMESTAMPTZ,
    },
    embeds=(one("cleanup_runs", "run_id"), one("saju_tests", "test_id")),
)
TEST_LEDGER: Final = _analysis(
    "test_ledger",
    {
        "id": PgType.BIGINT,
        "user_id": PgType.TEXT,
        "kind": PgType.TEXT,
        "amount": PgType.INTEGER,
        "remaining_tests": PgType.INTEGER,
        "test_id": PgType.UUID,
        "cleanup_run_id": PgType.UUID,
        "by": PgType.TEXT,
        "created_at": PgType.TIMESTAMPTZ,
    },
    embeds=(one("users", "user_id"), one("saju_tests", "test_id")),
)
