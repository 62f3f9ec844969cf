"""The providers log and apprise, and choosing one."""

import asyncio

import pytest
import structlog
from aiohttp import web
from aiohttp.test_utils import TestServer

from drover.reminder.notification import Delivered, Failed, Uncertain
from drover.reminder.providers import missing
from drover.reminder.providers.apprise import Apprise, AppriseAddressBad
from drover.reminder.providers.choice import ProviderIncomplete, chosen_provider
from drover.reminder.providers.log import LogProvider
from drover.reminder.providers.missing import ExtraMissing, need
from drover.reminder.settings import ReminderSettings
from tests.settings import load
from tests.subject_keys import local_keys
from tests.unit.reminder.world import notification

NEEDED = {
    "DROVER_NATS_URL": "nats://x",
    "DROVER_POSTGRES_URL": "postgresql://x",
    "DROVER_JWT_SECRETS": "s" * 32,
}


def chosen(**settings):
    environ = NEEDED | {f"DROVER_REMINDER_{name}": value for name, value in settings.items()}
    keys = local_keys("reminder") if load(environ).sealing_keys else None
    return chosen_provider(load(environ, ReminderSettings), keys)


@pytest.mark.req("RM-11", "RM-13")
async def test_the_default_writes_a_line_and_none_of_the_users_words():
    provider = chosen()
    assert isinstance(provider, LogProvider)
    with structlog.testing.capture_logs() as lines:
        assert await provider.send(notification()) == Delivered(notification_id="page-1:1")
    assert "page-1:1" in str(lines)
    assert "제목" not in str(lines)


@pytest.mark.req("RM-11")
@pytest.mark.parametrize(
    ("settings", "missing_"),
    [
        ({"PROVIDER": "webhook"}, "DROVER_REMINDER_WEBHOOK_URL"),
        ({"PROVIDER": "webhook", "WEBHOOK_URL": "https://example.com/x"}, "DROVER_REMINDER_WEBHOOK_SECRETS"),
        ({"PROVIDER": "apprise"}, "DROVER_REMINDER_APPRISE_URLS"),
        ({"PROVIDER": "webpush"}, "DROVER_REMINDER_VAPID_PRIVATE_KEY"),
        ({"PROVIDER": "webpush", "VAPID_PRIVATE_KEY": "A" * 43}, "DROVER_REMINDER_VAPID_SUBJECT"),
        (
            {"PROVIDER": "webpush", "VAPID_PRIVATE_KEY": "A" * 43, "VAPID_SUBJECT": "mailto:a@b.c"},
            "DROVER_SEALING_KEYS",
        ),
    ],
)
def test_a_provider_without_what_it_needs_says_what_to_set(settings, missing_):
    with pytest.raises(ProviderIncomplete) as caught:
        chosen(**settings)
    assert caught.value.missing == missing_


@pytest.mark.req("RM-11")
def test_the_others_are_chosen_by_name():
    assert chosen(PROVIDER="webhook", WEBHOOK_URL="https://example.com/x", WEBHOOK_SECRETS="s" * 32).name == "webhook"
    assert chosen(PROVIDER="apprise", APPRISE_URLS="json://localhost/x").name == "apprise"


def test_a_library_that_is_missing_is_said_with_the_extra_that_brings_it(monkeypatch):
    def gone(name):
        raise ImportError(name)

    monkeypatch.setattr(missing, "import_module", gone)
    with pytest.raises(ExtraMissing, match=r"pip install 'drover\[webpush\]'"):
        need("pywebpush", "webpush")


class Target:
    def __init__(self, done):
        self.done = done
        self.told = []

    async def async_notify(self, **what):
        self.told.append(what)
        if self.done is None:
            await asyncio.sleep(30)
        return self.done


def apprise_with(**targets) -> Apprise:
    provider = Apprise([], timeout_s=0.05)
    provider._targets = {name.replace("_", "-"): Target(done) for name, done in targets.items()}
    return provider


@pytest.mark.req("RM-08", "RM-11")
async def test_apprise_is_asked_for_each_address_by_itself():
    provider = apprise_with(apprise_1=True, apprise_2=True)
    assert isinstance(await provider.send(notification()), Delivered)
    partly = apprise_with(apprise_1=True, apprise_2=False)
    outcome = await partly.send(notification())
    assert isinstance(outcome, Uncertain)
    assert outcome.delivered == ("apprise-1",)
    again = await partly.send(notification(delivered=outcome.delivered))
    assert isinstance(again, Uncertain)
    assert len(partly._targets["apprise-1"].told) == 1, "who has it is not told again"


@pytest.mark.req("RM-07")
async def test_apprise_says_no_or_nothing():
    assert await apprise_with(a=False).send(notification()) == Failed(permanent=False, code="apprise_failed", error="a")
    assert (await apprise_with(a=None).send(notification())).code == "timed_out"


@pytest.mark.req("RM-10", "RM-11")
@pytest.mark.parametrize("schema", ["json", "xml", "form"])
async def test_a_repeat_through_apprise_has_the_same_key_where_it_takes_headers(schema):
    seen = []

    async def handler(request):
        seen.append((request.headers.get("Idempotency-Key"), request.headers.get("X-Mine")))
        return web.Response()

    app = web.Application()
    app.router.add_post("/hook", handler)
    async with TestServer(app) as server:
        provider = Apprise([f"{schema}://127.0.0.1:{server.port}/hook?+X-Mine=1"], timeout_s=10)
        keys = ["page-1:1", "page-1:1", "page-1:2~3"]
        outcomes = await asyncio.gather(*(provider.send(notification(key=key)) for key in keys))
    assert outcomes == [Delivered(notification_id=key) for key in keys]
    assert sorted(seen) == [(key, "1") for key in sorted(keys)]


@pytest.mark.req("RM-10")
def test_apprise_has_no_key_for_other_services():
    """As docs/reminders.md says: a repeat looks the same there, but nothing marks it."""
    provider = Apprise(["ntfy://localhost/topic"], timeout_s=1)
    assert provider._target("apprise-1", "page-1:1") is provider._targets["apprise-1"]


def test_an_address_that_apprise_does_not_know_is_refused_without_showing_it():
    with pytest.raises(AppriseAddressBad) as caught:
        Apprise(["json://localhost", "nonsense://secret-token"], timeout_s=1)
    assert "number 2" in str(caught.value)
    assert "secret" not in str(caught.value)
