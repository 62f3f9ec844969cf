// 004: a sender of the users' own (a cron job): take what is due, mark it, send, write what became of it.
import assert from "node:assert/strict";
import { connect, now, rows, step, until } from "./steps.mjs";

const { SUPABASE_URL, SUPABASE_SERVICE_ROLE_KEY } = process.env;
const supabase = connect(SUPABASE_SERVICE_ROLE_KEY);
const USER = "user_sender";
const HOUR = 3600;

const alarm = async (page_id) => rows(await supabase.from("alarm").select("*").eq("page_id", page_id).single());

/** `FOR UPDATE SKIP LOCKED` is a function of their database; over the API the first update that still matches wins. */
async function fetchDue(fetch_limit = 10) {
  const free = `processed_at.is.null,processed_at.lt.${now(-6 * HOUR)}`;
  const query = supabase.from("alarm").select("*").eq("user_id", USER).lte("next_alarm_time", now()).or(free);
  return rows(await query.order("next_alarm_time").limit(fetch_limit));
}
const take = async ({ page_id }) =>
  rows(await supabase.from("alarm").update({ processed_at: now() }).eq("page_id", page_id).is("processed_at", null).select());

class ReminderSender {
  constructor(client) {
    this.supabase = client;
  }

  async releaseProcessingLock(pageId) {
    const { error, status } = await this.supabase.from("alarm").update({ processed_at: null }).eq("page_id", pageId);
    if (error) throw new Error(`${status} ${error.code} ${error.message}`);
  }

  async sent(alarm, notificationId, nextAlarmTime) {
    const { error, status } = await this.supabase
      .from("alarm")
      .update({
        next_alarm_time: nextAlarmTime.toISOString(),
        sent_count: alarm.sent_count + 1,
        last_notification_id: notificationId,
        processed_at: null,
      })
      .eq("page_id", alarm.page_id);
    if (error) throw new Error(`${status} ${error.code} ${error.message}`);
  }
}
const sender = new ReminderSender(supabase);

await step("registration", "given three alarms that are due", async () => {
  for (const page_id of ["send-1", "send-2", "send-3"]) {
    const answer = await fetch(`${SUPABASE_URL}/api/reminder/register-by-page`, {
      method: "POST",
      headers: {
        apikey: SUPABASE_SERVICE_ROLE_KEY,
        Authorization: `Bearer ${SUPABASE_SERVICE_ROLE_KEY}`,
        "Content-Type": "application/json",
      },
      body: JSON.stringify({ page_id, user_id: USER, title: page_id, body: "text" }),
    });
    assert.ok(answer.ok, `${answer.status}`);
  }
});

await step("locks", "finds what is due and not in work", async () => {
  await until(async () => (await fetchDue()).map((row) => row.page_id).sort().join() === "send-1,send-2,send-3");
});

await step("locks", "marks one as processed", async () => {
  const taken = await take({ page_id: "send-1" });
  assert.deepEqual(taken.map((row) => row.page_id), ["send-1"]);
  assert.ok(Math.abs(Date.parse(taken[0].processed_at) - Date.now()) < 60_000);
});

await step("locks", "a second sender does not get it", async () => {
  assert.ok((await alarm("send-1")).processed_at);
  assert.deepEqual(await take({ page_id: "send-1" }), []);
  assert.deepEqual((await fetchDue()).map((row) => row.page_id).sort(), ["send-2", "send-3"]);
});

await step("sent", "writes that it was sent", async () => {
  const next = new Date(Date.now() + 24 * HOUR * 1000);
  await sender.sent(await alarm("send-1"), "notification-1", next);
  const row = await alarm("send-1");
  assert.deepEqual([row.sent_count, row.last_notification_id, row.processed_at], [2, "notification-1", null]);
  assert.ok(Math.abs(Date.parse(row.next_alarm_time) - next) < HOUR * 1000, row.next_alarm_time);
});

await step("locks", "releases one after an error", async () => {
  await take({ page_id: "send-2" });
  assert.ok((await alarm("send-2")).processed_at);
  await sender.releaseProcessingLock("send-2");
  const { processed_at, sent_count } = await alarm("send-2");
  assert.deepEqual([processed_at, sent_count], [null, 1]);
});

await step("locks", "keeps one that was sent in part", async () => {
  await take({ page_id: "send-3" });
  const { processed_at, sent_count } = await alarm("send-3");
  assert.ok(processed_at);
  assert.equal(sent_count, 1);
});

await step("locks", "takes one up again after six hours", async () => {
  rows(await supabase.from("alarm").update({ processed_at: now(-7 * HOUR) }).eq("page_id", "send-3"));
  assert.ok((await fetchDue()).some((row) => row.page_id === "send-3"));
});

await step("sent", "sends all that is left", async () => {
  for (const row of await fetchDue()) await sender.sent(row, `${row.page_id}:${row.sent_count}`, new Date(Date.now() + 24 * HOUR * 1000));
  assert.deepEqual(await fetchDue(), []);
});
process.exit(0);
