// A sender of the users' own, as document 004 describes it, with the real supabase-js: a cron job that never rests. It
// reads what is due, and works on ten alarms at a time: marks each, sends it, and writes what became of it.
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@supabase/supabase-js";
import ws from "ws";

const { SUPABASE_URL, SUPABASE_SERVICE_ROLE_KEY, PUSH_URL } = process.env;
const FETCH_LIMIT = 60; // others may have sent the last of them by the time it gets there
const CONCURRENCY = 10;
const HOUR_MS = 3_600_000;
const supabase = createClient(SUPABASE_URL, SUPABASE_SERVICE_ROLE_KEY, {
  auth: { persistSession: false },
  realtime: { transport: ws },
});

const now = (ms = 0) => new Date(Date.now() + ms).toISOString();

function rows({ data, error, status }) {
  if (error) throw new Error(`${status} ${error.code} ${error.message}`);
  return data;
}

async function fetchDue() {
  const free = `processed_at.is.null,processed_at.lt.${now(-6 * HOUR_MS)}`;
  const query = supabase.from("alarm").select("*").lte("next_alarm_time", now()).or(free);
  return rows(await query.order("next_alarm_time").limit(FETCH_LIMIT));
}

async function take({ page_id, processed_at }) {
  const query = supabase.from("alarm").update({ processed_at: now() }).eq("page_id", page_id);
  const same = processed_at === null ? query.is("processed_at", null) : query.eq("processed_at", processed_at);
  return rows(await same.select());
}

async function send({ page_id, title, body, sent_count }) {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": `${page_id}:${sent_count}` };
  const answer = await fetch(PUSH_URL, { method: "POST", headers, body: JSON.stringify({ page_id, title, body }) });
  if (!answer.ok) throw new Error(`push: ${answer.status}`);
  return (await answer.json()).id;
}

async function releaseProcessingLock(pageId) {
  rows(await supabase.from("alarm").update({ processed_at: null }).eq("page_id", pageId));
}

async function work(due) {
  const [alarm] = await take(due);
  if (!alarm) return;
  let notificationId;
  try {
    notificationId = await send(alarm);
  } catch {
    await releaseProcessingLock(alarm.page_id);
    return;
  }
  const nextAlarmTime = new Date(Date.now() + 24 * HOUR_MS * 2 ** (alarm.sent_count - 1));
  rows(
    await supabase
      .from("alarm")
      .update({
        next_alarm_time: nextAlarmTime.toISOString(),
        sent_count: alarm.sent_count + 1,
        last_notification_id: notificationId,
        processed_at: null,
      })
      .eq("page_id", alarm.page_id),
  );
}

async function workThrough(waiting) {
  while (waiting.length > 0) await work(waiting.shift()).catch((fault) => console.log(`FAULT ${fault.message}`));
}

for (;;) {
  const due = await fetchDue();
  const idle = due.length === 0;
  await Promise.all(Array.from({ length: CONCURRENCY }, () => workThrough(due)));
  if (idle) await pause(100);
}
