// 004: the app that sets alarms on pages: its API calls, its tables, and the deletion when pages are synchronised.
import assert from "node:assert/strict";
import { connect, now, rows, step, until } from "./steps.mjs";

const { SUPABASE_URL, SUPABASE_SERVICE_ROLE_KEY } = process.env;
const supabase = connect(SUPABASE_SERVICE_ROLE_KEY);
const USER = "user_registration";
let scheduled;

async function post(path, body) {
  const headers = {
    apikey: SUPABASE_SERVICE_ROLE_KEY,
    Authorization: `Bearer ${SUPABASE_SERVICE_ROLE_KEY}`,
    "Content-Type": "application/json",
  };
  const answer = await fetch(`${SUPABASE_URL}/api/reminder/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, `${answer.status} ${await answer.clone().text()}`);
  return answer.json();
}
const alarm = async (page_id) => rows(await supabase.from("alarm").select("*").eq("page_id", page_id).single());
/** The alarm, once the app shows what was set. */
const shown = (page_id, is) =>
  until(async () => rows(await supabase.from("alarm").select("*").eq("page_id", page_id)).filter(is)).then(([row]) => row);
const isNow = (time) => Math.abs(Date.parse(time) - Date.now()) < 60_000;

await step("tables", "writes the time zone of a user", async () => {
  const zone = { user_id: USER, timezone: "America/New_York" };
  const info = rows(await supabase.from("user_info").insert(zone).select().single());
  assert.deepEqual([info.user_id, info.timezone], [USER, "America/New_York"]);
});

await step("tables", "changes the time zone by upsert", async () => {
  rows(await supabase.from("user_info").upsert({ user_id: USER, timezone: "Asia/Seoul" }, { onConflict: "user_id" }));
  const info = rows(await supabase.from("user_info").select("timezone").eq("user_id", USER).single());
  assert.equal(info.timezone, "Asia/Seoul");
});

await step("tables", "a user without a time zone has Asia/Seoul", async () => {
  const info = rows(await supabase.from("user_info").insert({ user_id: "user_without_zone" }).select().single());
  assert.equal(info.timezone, "Asia/Seoul");
});

await step("1", "registers a page", async () => {
  await post("register-by-page", { page_id: "page-1", user_id: USER, title: "Notes", body: "The first lines" });
  const registered = await shown("page-1", () => true);
  const { user_id, title, body, sent_count, last_notification_id, processed_at } = registered;
  assert.deepEqual([user_id, title, body, sent_count], [USER, "Notes", "The first lines", 1]);
  assert.deepEqual([last_notification_id, processed_at], [null, null]);
  assert.ok(isNow(registered.next_alarm_time), registered.next_alarm_time);
});

await step("2", "schedules a page", async () => {
  const next_alarm_time = now(3 * 86_400);
  await post("schedule/v2", { page_id: "page-1", user_id: USER, next_alarm_time });
  scheduled = await shown("page-1", (row) => Math.abs(Date.parse(row.next_alarm_time) - Date.parse(next_alarm_time)) < 60_000);
});

await step("1", "registers the page again and keeps its count", async () => {
  await post("register-by-page", { page_id: "page-1", user_id: USER, title: "Notes, later", body: "Other lines" });
  const again = await shown("page-1", (row) => row.title === "Notes, later");
  assert.equal(again.sent_count, scheduled.sent_count);
  assert.ok(isNow(again.next_alarm_time), again.next_alarm_time);
});

await step("1", "reads at once what it has registered", async () => {
  for (let number = 0; number < 20; number++) {
    await post("register-by-page", { page_id: "page-1", user_id: USER, title: `Notes ${number}`, body: "Text" });
    assert.equal((await alarm("page-1")).title, `Notes ${number}`);
  }
});

await step("registration", "registers a page by the table", async () => {
  const row = { page_id: "page-2", user_id: USER, title: "Second", body: "Text", next_alarm_time: now(), sent_count: 1 };
  const made = rows(await supabase.from("alarm").insert(row).select().single());
  assert.deepEqual([made.page_id, made.title, made.sent_count], ["page-2", "Second", 1]);
});

await step("registration", "registers it again by upsert", async () => {
  const row = { page_id: "page-2", user_id: USER, title: "Second, later", body: "Text", next_alarm_time: now() };
  const made = rows(await supabase.from("alarm").upsert(row, { onConflict: "page_id" }).select().single());
  assert.deepEqual([made.title, made.sent_count], ["Second, later", 1]);
});

await step("tables", "a text above 2000 characters is cut", async () => {
  await post("register-by-page", { page_id: "page-3", user_id: USER, title: "가".repeat(2100), body: "나".repeat(2100) });
  const { title, body } = await shown("page-3", () => true);
  assert.deepEqual([title.length, body.length], [2000, 2000]);
});

await step("registration", "schedules a page by the table", async () => {
  const next_alarm_time = now(5 * 86_400);
  const query = supabase.from("alarm").update({ next_alarm_time }).eq("page_id", "page-2");
  const changed = rows(await query.select().single());
  assert.equal(Date.parse(changed.next_alarm_time), Date.parse(next_alarm_time));
});

await step("duplicates", "two alarms of a user get different times", async () => {
  const next_alarm_time = now(7 * 86_400);
  for (const page_id of ["page-2", "page-3"]) {
    rows(await supabase.from("alarm").update({ next_alarm_time }).eq("page_id", page_id));
  }
  assert.notEqual((await alarm("page-2")).next_alarm_time, (await alarm("page-3")).next_alarm_time);
});

await step("deletion", "deletes the alarm of a deleted page", async () => {
  rows(await supabase.from("alarm").delete().eq("page_id", "page-1"));
  assert.deepEqual(rows(await supabase.from("alarm").select("page_id").eq("page_id", "page-1")), []);
});

await step("deletion", "deletes the alarms of several pages", async () => {
  const gone = rows(await supabase.from("alarm").delete().in("page_id", ["page-2", "page-3", "page-9"]).select("page_id"));
  assert.deepEqual(gone.map((row) => row.page_id).sort(), ["page-2", "page-3"]);
  assert.deepEqual(rows(await supabase.from("alarm").select("page_id").eq("user_id", USER)), []);
});
process.exit(0);
