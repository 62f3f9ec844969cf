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
    """In how many parts reminders are divided by user, each led by one process at a time. Counts once, when the log of
    reminders is made."""
    reminder_base_s: PauseSeconds = 86_400.0
    """From the first sending of an alarm to the second. It doubles with each."""
    reminder_cap_s: PauseSeconds = 15_552_000.0
    """No pause is longer: 180 days."""
    reminder_recover_s: PauseSeconds = 21_600.0
    """A sending of which nothing is known is sent again, with the same key, after this: 6 hours."""
    reminder_retry_s: PauseSeconds = 30.0
    """After how long a sending that failed is tried again. It doubles with each failure."""
    reminder_retry_max_s: PauseSeconds = 1_800.0
    """No such delay is longer."""
    reminder_timezone: TimeZoneName = "Asia/Seoul"
    """The time zone of users who have set none."""
    reminder_fetch_limit: FetchLimit = 100
    """Alarms that are claimed at a time, of each partition. Can be changed while running."""
    reminder_concurrency: Concurrency = 10
    """Sendings under way at a time in this process."""
    reminder_sends: Flag = True
    """Whether this process sends. Off: it takes commands and lets what is due wait, as after an import."""
    reminder_provider: Provider = "log"
    """How reminders are sent: into the log of this process, to an address of yours, to browsers, or by apprise."""
    reminder_send_timeout_s: Seconds = 10.0
    """How long one sending may take."""
    reminder_webhook_url: HttpUrl | None = None
    """Where reminders are posted to. For the provider webhook."""
    reminder_webhook_secrets: Secrets = ()
    """What their bodies are signed with. With two, both sign, while the receiver changes from one to the other."""
    reminder_allow_private: Flag = False
    """Let reminders be posted to private, loopback and link-local addresses."""
    reminder_vapid_private_key: VapidKey | None = None
    """The key that this server is known by to push services. For the provider webpush."""
    reminder_vapid_subject: VapidSubject | None = None
    """Whom push services may turn to."""
    reminder_apprise_urls: AppriseUrls = ()
    """Where apprise sends reminders to. For the provider apprise."""
