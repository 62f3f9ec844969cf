"""Builds the provider that the settings name. Raises an error that says which setting is missing."""

from __future__ import annotations

from drover.bus.subject_keys import SubjectKeys
from drover.domain.errors import DroverError
from drover.outbound.http import Outbound
from drover.reminder.notification import Provider
from drover.reminder.providers.apprise import Apprise
from drover.reminder.providers.log import LogProvider
from drover.reminder.providers.webhook import Webhook
from drover.reminder.providers.webpush import WebPush
from drover.reminder.settings import ReminderSettings


class ProviderIncomplete(DroverError):
    """The chosen provider lacks a setting that it needs."""

    def __init__(self, provider: str, missing: str) -> None:
        super().__init__(
            f"DROVER_REMINDER_PROVIDER={provider} needs {missing}, which is not set: set it, or another provider."
        )
        self.provider = provider
        self.missing = missing


def chosen_provider(settings: ReminderSettings, keys: SubjectKeys | None = None) -> Provider:
    """Build the provider that the settings name. Raises ProviderIncomplete if a setting of it is missing. `keys`: the
    keys of users; None if this process has no sealing keys."""
    name = settings.reminder_provider
    if name == "webhook":
        return _webhook(settings)
    if name == "webpush":
        return _webpush(settings, keys)
    if name == "apprise":
        if not settings.reminder_apprise_urls:
            raise ProviderIncomplete(name, "DROVER_REMINDER_APPRISE_URLS")
        return Apprise(settings.reminder_apprise_urls, timeout_s=settings.reminder_send_timeout_s)
    return LogProvider()


def _outbound(settings: ReminderSettings) -> Outbound:
    return Outbound(timeout_s=settings.reminder_send_timeout_s, allow_private=settings.reminder_allow_private)


def _webhook(settings: ReminderSettings) -> Webhook:
    if settings.reminder_webhook_url is None:
        raise ProviderIncomplete("webhook", "DROVER_REMINDER_WEBHOOK_URL")
    if not settings.reminder_webhook_secrets:  # without a signature the receiver would trust anybody
        raise ProviderIncomplete("webhook", "DROVER_REMINDER_WEBHOOK_SECRETS")
    return Webhook(settings.reminder_webhook_url, settings.reminder_webhook_secrets, _outbound(settings))


def _webpush(settings: ReminderSettings, keys: SubjectKeys | None) -> WebPush:
    if settings.reminder_vapid_private_key is None:
        raise ProviderIncomplete("webpush", "DROVER_REMINDER_VAPID_PRIVATE_KEY")
    if settings.reminder_vapid_subject is None:
        raise ProviderIncomplete("webpush", "DROVER_REMINDER_VAPID_SUBJECT")
    if keys is None:
        raise ProviderIncomplete("webpush", "DROVER_SEALING_KEYS")
    return WebPush(
        settings.reminder_vapid_private_key,
        settings.reminder_vapid_subject,
        keys,
        _outbound(settings),
    )
