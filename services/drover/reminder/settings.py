"""The settings of the reminder service."""

from __future__ import annotations

from drover.service.config import Section
from drover.service.setting_types import (
    AppriseUrls,
    Concurrency,
    FetchLimit,
    Flag,
    HttpUrl,
    PartitionCount,
    PauseSeconds,
    Provider,
    Seconds,
    Secrets,
    TimeZoneName,
    VapidKey,
    VapidSubject,
)


class ReminderSettings(Section, frozen=True, kw_only=True):
    """When reminders are due, and how they are sent."""

    reminder_partitions: PartitionCount = 4
    """How many partitions reminders have, by user; one process at a time leads each. Used once, when the log of
    reminders is created."""
    reminder_base_s: PauseSeconds = 86_400.0
    """The pause between the first and the second sending of an alarm. It doubles with each sending."""
    reminder_cap_s: PauseSeconds = 15_552_000.0
    """The longest pause between sendings: 180 days."""
    reminder_recover_s: PauseSeconds = 21_600.0
    """A sending with an unknown outcome is repeated, with the same key, after this: 6 hours."""
    reminder_retry_s: PauseSeconds = 30.0
    """The delay before a failed sending is tried again. It doubles with each failure."""
    reminder_retry_max_s: PauseSeconds = 1_800.0
    """The longest delay after a failure."""
    reminder_timezone: TimeZoneName = "Asia/Seoul"
    """The time zone of users who did not set one."""
    reminder_fetch_limit: FetchLimit = 100
    """How many alarms each partition claims at a time. Can be changed at runtime."""
    reminder_concurrency: Concurrency = 10
    """How many sendings may be in flight in this process."""
    reminder_sends: Flag = True
    """Whether this process sends. Off: it accepts commands, and due alarms wait, as after an import."""
    reminder_provider: Provider = "log"
    """How reminders are sent: into the log of this process, to an address of yours, to browsers, or by apprise."""
    reminder_send_timeout_s: Seconds = 10.0
    """How long one sending may take."""
    reminder_webhook_url: HttpUrl | None = None
    """The address that reminders are posted to. For the provider webhook."""
    reminder_webhook_secrets: Secrets = ()
    """The secrets that sign the bodies. With two, both sign, so that the receiver can change from one to the other."""
    reminder_allow_private: Flag = False
    """Allow posting reminders to private, loopback and link-local addresses."""
    reminder_vapid_private_key: VapidKey | None = None
    """The private key that identifies this server to push services. For the provider webpush."""
    reminder_vapid_subject: VapidSubject | None = None
    """The contact of the operator for push services."""
    reminder_apprise_urls: AppriseUrls = ()
    """The addresses that apprise sends reminders to. For the provider apprise."""
