"""The settings of the cleanup: its secrets under both of their names, its times, its tiers."""

from __future__ import annotations

import pytest

from drover.cleanup.settings import CleanupSettings
from drover.service.config import ConfigurationError
from tests.settings import load

GOOD = {
    "DROVER_NATS_URL": "nats://127.0.0.1:4222",
    "DROVER_POSTGRES_URL": "postgresql://127.0.0.1/drover",
    "DROVER_JWT_SECRETS": "s" * 32,
}
OLD, NEW = "an-old-secret-token", "a-new-secret-token-here"


@pytest.mark.req("SY-02", "SY-05")
def test_every_hour_on_the_hour_what_is_older_than_half_an_hour():
    settings = load(GOOD, CleanupSettings)
    assert (settings.cleanup_cron, settings.cleanup_timeout_s) == ("0 * * * *", 30 * 60)
    assert (settings.cron_secrets, settings.cleanup_tier_timeouts_s) == ((), ())


@pytest.mark.req("SY-23")
def test_the_secret_goes_by_the_name_that_the_users_know_too():
    assert load(GOOD | {"CRON_SECRET": OLD}, CleanupSettings).cron_secrets == (OLD,)


def test_the_setting_of_ours_wins_and_holds_two():
    settings = load(
        GOOD | {"CRON_SECRET": "something-else-altogether", "DROVER_CRON_SECRETS": f"{NEW}, {OLD}"}, CleanupSettings
    )
    assert settings.cron_secrets == (NEW, OLD)


@pytest.mark.parametrize(
    "secrets", ["short", f"{NEW},short", f"{NEW},{OLD},{'x' * 20}", "with a space in it", "비밀" * 20]
)
@pytest.mark.parametrize("name", ["CRON_SECRET", "DROVER_CRON_SECRETS"])
@pytest.mark.req("SY-15")
def test_bad_secrets_are_refused_and_not_repeated(name, secrets):
    with pytest.raises(ConfigurationError) as caught:
        load(GOOD | {name: secrets})
    assert "at least 16" in str(caught.value)
    for secret in secrets.split(","):
        assert secret not in str(caught.value)


@pytest.mark.req("SY-15")
def test_settings_never_show_the_secret():
    settings = load(GOOD | {"CRON_SECRET": OLD}, CleanupSettings)
    for text in (repr(settings), str(settings), str(settings.shown())):
        assert OLD not in text


@pytest.mark.req("SY-16")
def test_tiers_have_timeouts_of_their_own():
    settings = load(GOOD | {"DROVER_CLEANUP_TIER_TIMEOUTS_S": "premium=3600, free=900"}, CleanupSettings)
    assert settings.cleanup_tier_timeouts_s == ("premium=3600", "free=900")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DROVER_CLEANUP_CRON", "hourly"),
        ("DROVER_CLEANUP_CRON", "0 * * * * *"),
        ("DROVER_CLEANUP_TIMEOUT_S", "0"),
        ("DROVER_CLEANUP_TIMEOUT_S", "604801"),
        ("DROVER_CLEANUP_TIER_TIMEOUTS_S", "premium"),
        ("DROVER_CLEANUP_TIER_TIMEOUTS_S", "premium=0"),
        ("DROVER_CLEANUP_TIER_TIMEOUTS_S", "Premium=60"),
        ("DROVER_CLEANUP_NOTIFIES", "perhaps"),
        ("DROVER_ANALYSIS_URL", "gemini"),
    ],
)
def test_a_malformed_value_is_shown_with_what_to_write_instead(name, value):
    with pytest.raises(ConfigurationError) as caught:
        load(GOOD | {name: value})
    (problem,) = caught.value.problems
    assert problem.startswith(f"{name}={value} is not understood. It takes ")
    assert f"for example {name}=" in problem
