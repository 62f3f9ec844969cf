"""`/api/reminders`: alarms by due time, and the history of their sendings."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from drover.api.reads.endpoint import Endpoint, Question, Subject, lists, reads, text_in
from drover.api.reads.listing import Key, Listing, Page, Where, within
from drover.api.reads.parameters import moment, one_of, text
from drover.api.reads.queries import QUERIES
from drover.domain.identity.audit import AccessKind
from drover.readmodel.reminder import ALARM_EVENT_TYPES, AlarmEventRow, AlarmFacts
from drover.web.alarm_texts import AlarmTexts
from drover.web.errors import not_found
from drover.web.permissions import Verb, may
from drover.web.route import in_path

CONTEXT: Final = "reminder"
PATH: Final = "/api/reminders"
ONE_PATH: Final = f"{PATH}/{{user_id}}/{{page_id}}"
EVENTS_PATH: Final = "/api/reminder-events"


class Reminder(AlarmFacts, frozen=True, kw_only=True):
    """The alarm of a user's page."""

    title: str | None
    """The user's own text; null for callers who may not read it."""
    timezone: str | None
    """The time zone of the alarm's user; null if none is recorded."""
    state: str
    """`upcoming`, `due`, or `in_hand`: it is being sent, or the outcome of sending is unknown."""


class ReminderEvent(AlarmEventRow, frozen=True):
    """One event in the history of an alarm: a row of the table `alarms_event`."""


class ReminderDetail(msgspec.Struct):
    """An alarm, its text and its history."""

    reminder: Reminder
    body: str | None
    """The user's own text; null for callers who may not read it."""
    history: Page[ReminderEvent]
    """The first page of `/api/reminder-events?page_id=…`, newest first."""


REMINDERS: Final = Listing(
    "reminders",
    CONTEXT,
    Reminder,
    "rm_reminder.alarm_rows a",
    key=(
        Key("next_alarm_time", "a.next_alarm_time", datetime, "timestamptz"),
        Key("page_id", "a.page_id", str, "text"),
        Key("user_id", "a.user_id", str, "text"),
    ),
    wheres=(
        Where(text("user_id", "Of this user."), "a.user_id = {}"),
        Where(
            one_of("state", ["upcoming", "due", "in_hand", "failing"], "Its state; `failing`: not sent so far."),
            words={
                "upcoming": "a.processed_at IS NULL AND a.next_alarm_time > now()",
                "due": "a.processed_at IS NULL AND a.next_alarm_time <= now()",
                "in_hand": "a.processed_at IS NOT NULL",
                "failing": "a.last_error IS NOT NULL",
            },
        ),
        Where(moment("from", "Due at this time or later."), "a.next_alarm_time >= {}"),
        Where(moment("to", "Due before this time."), "a.next_alarm_time < {}"),
    ),
    descending=False,
)
REMINDER_EVENTS: Final = Listing(
    "reminder_events",
    CONTEXT,
    ReminderEvent,
    "rm_reminder.alarms_event h",
    key=(Key("created_at", "h.created_at", datetime, "timestamptz"), Key("id", "h.id", int, "bigint")),
    wheres=(
        Where(one_of("event_type", ALARM_EVENT_TYPES, "One of these.", many=True), "h.event_type = {}", fans=True),
        Where(text("user_id", "Of this user."), "h.user_id = {}"),
        Where(text("page_id", "Of this page."), "h.page_id = {}"),
        *within("h.created_at"),
    ),
)


class Reminders(Subject):
    def __init__(self, endpoint: Endpoint, texts: AlarmTexts) -> None:
        super().__init__(endpoint)
        self._texts = texts

    events = lists(
        REMINDER_EVENTS,
        EVENTS_PATH,
        id="listReminderEvents",
        tag="reminder",
        summary="Events of alarms, newest first",
    )

    @reads(
        PATH,
        id="listReminders",
        tag="reminder",
        summary="Alarms, soonest first",
        answer=Page[Reminder],
        contexts=(CONTEXT,),
        kinds=REMINDERS.kinds,
    )
    async def list(self, question: Question) -> Page[Reminder]:
        reads_words = await self._reads_words(question)
        page = await REMINDERS.page(self._endpoint.models, question.asked)
        titles: list[dict[str, str | None]] = [{"title": reminder.title} for reminder in page.items]
        if reads_words:
            titles = await self._texts.shown(titles)
        else:
            titles = [{"title": None} for _ in titles]
        page.items = [replace(item, title=one["title"]) for item, one in zip(page.items, titles, strict=True)]
        return page

    @reads(
        ONE_PATH,
        id="getReminder",
        tag="reminder",
        summary="An alarm and its history",
        answer=ReminderDetail,
        contexts=(CONTEXT,),
        parameters=(in_path("user_id", str, "Its user."), in_path("page_id", str, "Its page.")),
        errors=(404,),
    )
    async def detail(self, question: Question) -> ReminderDetail:
        models = self._endpoint.models
        user_id, page_id = text_in(question.request, "user_id"), text_in(question.request, "page_id")
        reminder = await REMINDERS.one(models, "Reminder", "a.user_id = $1 AND a.page_id = $2", user_id, page_id)
        body = await models.fetch_one(CONTEXT, QUERIES["reminder_body"], user_id, page_id)
        if body is None:
            raise not_found("Reminder")
        history = await REMINDER_EVENTS.page(models, question.asked.with_(user_id=user_id, page_id=page_id))
        if await self._reads_words(question):
            (texts,) = await self._texts.shown([{"title": reminder.title, "body": body["body"]}])
            return ReminderDetail(replace(reminder, title=texts["title"]), texts["body"], history)
        return ReminderDetail(replace(reminder, title=None), None, history)

    async def _reads_words(self, question: Question) -> bool:
        """Whether the caller may read the table `alarm`, and so the titles and bodies of alarms. If so, the audit
        records it."""
        reads_words = may(question.principal, "alarm", Verb.READ)
        if reads_words:
            await self._endpoint.record(question, AccessKind.REMINDER_TEXT)
        return reads_words
