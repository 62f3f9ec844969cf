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
    Word,
)


class ReminderSettings(Section, frozen=True, kw_only=True):
    """When reminders are due, and how they are sent."""

    reminder_partitions: PartitionCount = 4
    """How many partitions the log of reminders has, by user. Used only when the log is created. One process at a time
    leads a partition."""
    reminder_base_s: PauseSeconds = 86_400.0
    """Seconds between the first and the second sending of an alarm. The pause doubles with each sending."""
    reminder_cap_s: PauseSeconds = 15_552_000.0
    """The longest pause between two sendings of an alarm, in seconds: 180 days."""
    reminder_recover_s: PauseSeconds = 21_600.0
    """Seconds after which a reminder is sent again if its sending may have failed; with the same idempotency key."""
    reminder_retry_s: PauseSeconds = 30.0
    """Seconds before a reminder that could not be sent is sent again. The delay doubles with each failure."""
    reminder_retry_max_s: PauseSeconds = 1_800.0
    """The longest delay before a failed sending is tried again, in seconds."""
    reminder_timezone: TimeZoneName = "Asia/Seoul"
    """The time zone of users who did not set one."""
    reminder_fetch_limit: FetchLimit = 100
    """How many due alarms are claimed at a time, for each partition. Can be changed at runtime."""
    reminder_concurrency: Concurrency = 10
    """Maximum of reminders that this process sends at the same time; others wait."""
    reminder_sends: Flag = True
    """Whether this process sends reminders. Off: it still accepts commands, and due alarms wait for another process, or
    for a sender of your own."""
    reminder_provider: Provider = "log"
    """How reminders are sent: into the log of this process, to an address of yours, to browsers, or by apprise."""
    reminder_send_timeout_s: Seconds = 10.0
    """Time-out of one sending, in seconds."""
    reminder_webhook_url: HttpUrl | None = None
    """The address that reminders are posted to. For the provider webhook."""
    reminder_webhook_secrets: Secrets = ()
    """The secrets that sign the requests to the webhook. With two, both sign, so that the receiver can change from one
    to the other."""
    reminder_allow_private: Flag = False
    """Allow posting reminders to private, loopback and link-local addresses."""
    reminder_vapid_private_key: VapidKey | None = None
    """The private key that identifies this server to push services. For the provider webpush."""
    reminder_vapid_subject: VapidSubject | None = None
    """The contact of the operator for push services."""
    reminder_apprise_urls: AppriseUrls = ()
    """The addresses that apprise sends reminders to. For the provider apprise."""
    reminder_refund_title: Word = "검사 횟수를 돌려드렸습니다"
    """The title of the notice to a user whose tests a cleanup has refunded. `{tests}` is their number."""
    reminder_refund_body: Word = (
        "분석이 제때 끝나지 않아 {tests}건을 정리하고 검사 횟수 {tests}회를 돌려드렸습니다. 다시 시도해 주세요."
    )
    """The text of that notice. DROVER_CLEANUP_NOTIFIES=0 turns these notices off."""
