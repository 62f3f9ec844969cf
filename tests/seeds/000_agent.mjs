// 000: the agent on a phone (AutoX.js), which has no client library: the calls of chapter 4, as printed.
import assert from "node:assert/strict";
import { now, step, until } from "./steps.mjs";

const { SUPABASE_URL, SUPABASE_ANON_KEY, SUPABASE_SERVICE_ROLE_KEY } = process.env;
const SERIAL = "AGENTPHONE1";
const OTHER = "AGENTPHONE2";
const NOBODY = "00000000-0000-4000-8000-000000000000";
let device, work;

async function rest(method, path, body, { key = SUPABASE_ANON_KEY, prefer = "return=minimal" } = {}) {
  const headers = { Authorization: `Bearer ${key}`, apikey: key, "Content-Type": "application/json", Prefer: prefer };
  const answer = await fetch(`${SUPABASE_URL}/rest/v1/${path}`, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text && JSON.parse(text) };
}

const good = (answer, status) => {
  assert.equal(answer.status, status, `${answer.status} ${answer.body?.code} ${answer.body?.message}`);
  return answer.body;
};
const studio = async (path, row) =>
  good(await rest("POST", path, row, { key: SUPABASE_SERVICE_ROLE_KEY, prefer: "return=representation" }), 201)[0];
const heartbeat = (status = "online", serial = SERIAL) =>
  rest("PATCH", `devices?serial_number=eq.${serial}`, { last_seen_at: now(), status });
const poll = async (of = device) =>
  good(
    await rest("GET", `job_assignments?select=*,jobs(*)&device_id=eq.${of.id}&status=eq.pending&order=assigned_at.asc&limit=1`),
    200,
  );
const report = async (body, id = work.id) => good(await rest("PATCH", `job_assignments?id=eq.${id}`, body), 204);
const row = async (id = work.id) => good(await rest("GET", `job_assignments?id=eq.${id}`), 200)[0];
const phone = async () => good(await rest("GET", `devices?id=eq.${device.id}`), 200)[0];

/** A new job for this phone, as soon as a poll finds it. */
async function fetchWork(title) {
  work = undefined;
  const job = await studio("jobs", { title, target_url: "https://youtu.be/abc", script_type: "youtube_watch" });
  await studio("job_assignments", { job_id: job.id, device_id: device.id });
  const found = await until(async () => (await heartbeat()) && (await poll()).filter((one) => one.job_id === job.id));
  work = found[0];
}

const begin = () => report({ status: "running", progress_pct: 10, started_at: now() });
const done = () => ({
  status: "completed",
  progress_pct: 100,
  actual_duration_sec: 156,
  did_like: true,
  did_comment: false,
  did_playlist: false,
  completed_at: now(1),
});
/** Ends what a failed step left behind, so that the phone is free for the next job. */
async function tidy() {
  const key = SUPABASE_SERVICE_ROLE_KEY;
  if (work) await rest("PATCH", `job_assignments?id=eq.${work.id}`, done());
  for (const { id } of good(await rest("GET", "jobs?is_active=eq.true&select=id", undefined, { key }), 200)) {
    await rest("PATCH", `jobs?id=eq.${id}`, { is_active: false }, { key });
  }
  if ((await phone()).status === "error") await rest("PATCH", `devices?id=eq.${device.id}`, { status: "offline" }, { key });
}

device = await studio("devices", { serial_number: SERIAL, group_id: "P1-G1", pc_id: "PC-A" });
const other = await studio("devices", { serial_number: OTHER, group_id: "P9-G9", pc_id: "PC-B" });

await step("4.4", "sends a heartbeat", async () => {
  good(await heartbeat(), 204);
  await until(async () => Date.parse((await phone())?.last_seen_at) > Date.now() - 30_000);
});

await step("8.1", "sees at once what the dashboard has created", async () => {
  for (let number = 0; number < 20; number++) {
    const { id } = await studio("jobs", { title: `${number}`, target_url: "https://youtu.be/abc", is_active: false });
    assert.equal(good(await rest("GET", `jobs?id=eq.${id}`), 200).length, 1, `job ${number} is not there`);
  }
});

await step("4.4", "a phone that is not registered gets 404", async () => {
  good(await heartbeat("online", "UNKNOWN0001"), 404);
});

await step("4.2", "polls and finds nothing", async () => assert.deepEqual(await poll(), []));

await step("4.2", "polls and finds its work with the job", async () => {
  await fetchWork("watch");
  assert.equal(work.status, "pending");
  const { target_url, duration_min_pct, duration_max_pct, prob_like, prob_comment, prob_playlist } = work.jobs;
  assert.deepEqual(
    [target_url, duration_min_pct, duration_max_pct, prob_like, prob_comment, prob_playlist],
    ["https://youtu.be/abc", 30, 90, 50, 30, 10],
  );
});

await step("4.3", "begins", async () => {
  await report({ status: "running", progress_pct: 45, started_at: now() });
  const { status, progress_pct } = await row();
  assert.deepEqual([status, progress_pct], ["running", 45]);
});

await step("3.1", "is busy while it works", async () => {
  good(await heartbeat("busy"), 204);
  assert.equal((await phone()).status, "busy");
});

await step("8.1", "reports progress alone", async () => {
  await report({ progress_pct: 60 });
  assert.equal((await row()).progress_pct, 60);
});

await step("5.1", "sends its stored progress again after an outage", async () => {
  await report({ status: "running", progress_pct: 60, started_at: now(-30) });
  const { status, progress_pct } = await row();
  assert.deepEqual([status, progress_pct], ["running", 60]);
});

await step("6", "a duration of 0 is refused (V005)", async () => {
  good(await rest("PATCH", `job_assignments?id=eq.${work.id}`, { ...done(), actual_duration_sec: 0 }), 400);
});

await step("6", "an end before the start is refused (V004)", async () => {
  const before = { ...done(), started_at: now(), completed_at: now(-600) };
  good(await rest("PATCH", `job_assignments?id=eq.${work.id}`, before), 400);
});

await step("6", "a fourth retry is refused (V007)", async () => {
  const fourth = { status: "failed", error_code: "APP_CRASH", retry_count: 4 };
  good(await rest("PATCH", `job_assignments?id=eq.${work.id}`, fourth), 400);
});

await step("4.3", "completes", async () => {
  await report(done());
  const { status, progress_pct, actual_duration_sec, did_like, did_comment } = await row();
  assert.deepEqual([status, progress_pct, actual_duration_sec, did_like, did_comment], ["completed", 100, 156, true, false]);
});

await step("4.3", "a second end is CONFLICT", async () => {
  const { code, message } = good(await rest("PATCH", `job_assignments?id=eq.${work.id}`, done()), 409);
  assert.deepEqual([code, message], ["CONFLICT", "Assignment already completed"]);
});

await step("4.3", "an unknown assignment is NOT_FOUND", async () => {
  const { code, message } = good(await rest("PATCH", `job_assignments?id=eq.${NOBODY}`, done()), 404);
  assert.deepEqual([code, message], ["NOT_FOUND", "Assignment not found"]);
});

await tidy();
await step("4.3", "completes without a report between", async () => {
  await fetchWork("straight to the end");
  await report({ ...done(), started_at: now(-10) });
  assert.equal((await row()).status, "completed");
});

await tidy();
await step("5.3", "an unavailable video fails without a retry", async () => {
  await fetchWork("deleted video");
  await begin();
  const error_message = "This video is not available in your country";
  await report({ status: "failed", error_code: "VIDEO_UNAVAILABLE", error_message, retry_count: 1 });
  const failed = await row();
  assert.deepEqual([failed.status, failed.error_code, failed.error_message], ["failed", "VIDEO_UNAVAILABLE", error_message]);
});

await step("5.3", "and deactivates its job for all phones", async () => {
  good(await rest("PATCH", `jobs?id=eq.${work.job_id}`, { is_active: false }), 204);
  assert.equal(good(await rest("GET", `jobs?id=eq.${work.job_id}`), 200)[0].is_active, false);
});

await tidy();
await step("5.3", "a network error waits for its retry", async () => {
  await fetchWork("bad network");
  await begin();
  await report({ status: "failed", error_code: "VIDEO_NETWORK_ERROR", error_message: "timeout", retry_count: 1 });
  const failed = await row();
  assert.deepEqual([failed.status, failed.retry_count], ["pending", 1]);
});

await step("5.3", "and runs again without a poll", async () => {
  await report({ status: "running", progress_pct: 0, started_at: now() });
  const { status, progress_pct } = await row();
  assert.deepEqual([status, progress_pct], ["running", 0]);
});

await tidy();
await step("5.2", "notes a crash while it runs", async () => {
  await fetchWork("crashes");
  await begin();
  await report({ error_code: "APP_CRASH", retry_count: 1 });
  const { error_code, retry_count } = await row();
  assert.deepEqual([error_code, retry_count], ["APP_CRASH", 1]);
});

await step("5.2", "starts again in place with progress 0", async () => {
  await report({ status: "running", progress_pct: 0, error_code: "APP_CRASH", retry_count: 2 });
  const { status, progress_pct, retry_count } = await row();
  assert.deepEqual([status, progress_pct, retry_count], ["running", 0, 2]);
});

await step("5.2", "the third crash is final", async () => {
  const error_message = "YouTube app crashed 3 times consecutively";
  await report({ status: "failed", error_code: "APP_CRASH", error_message, retry_count: 3 });
  const failed = await row();
  assert.deepEqual([failed.status, failed.retry_count, failed.error_message], ["failed", 3, error_message]);
});

await step("5.2", "and takes the phone out of work", async () => {
  good(await rest("PATCH", `devices?serial_number=eq.${SERIAL}`, { status: "error" }), 204);
  assert.equal((await phone()).status, "error");
});

await tidy();
await step("5.4", "notes a stalled video and plays it again", async () => {
  await fetchWork("stalled");
  await begin();
  await report({ status: "running", progress_pct: 0, error_code: "PLAYBACK_STALLED", retry_count: 1 });
  const { status, progress_pct, error_code, retry_count } = await row();
  assert.deepEqual([status, progress_pct, error_code, retry_count], ["running", 0, "PLAYBACK_STALLED", 1]);
});

await tidy();
await step("3.2", "gives its work back", async () => {
  await fetchWork("given back");
  await begin();
  await report({ status: "pending", progress_pct: 0, retry_count: 1 });
  assert.equal((await row()).status, "pending");
});

await tidy();
await step("6", "a second running assignment is refused (V006)", async () => {
  await fetchWork("first of two");
  await begin();
  const job = await studio("jobs", { title: "second of two", target_url: "https://youtu.be/def" });
  const waiting = await studio("job_assignments", { job_id: job.id, device_id: device.id });
  good(await rest("PATCH", `job_assignments?id=eq.${waiting.id}`, { status: "running", progress_pct: 1 }), 409);
});

await tidy();
await step("5.5", "too many requests get 429 with Retry-After", async () => {
  const flood = await Promise.all(Array.from({ length: 60 }, () => rest("GET", `job_assignments?device_id=eq.${other.id}&status=eq.pending`)));
  const slowed = flood.find((answer) => answer.status === 429);
  assert.ok(Number(slowed.headers.get("Retry-After")) > 0);
});

await step("5.5", "tells the dashboard by broadcast", async () => {
  const message = { topic: "dashboard", event: "rate_limited", payload: { serial_number: OTHER } };
  const answer = await fetch(`${SUPABASE_URL}/realtime/v1/api/broadcast`, {
    method: "POST",
    headers: { apikey: SUPABASE_ANON_KEY, Authorization: `Bearer ${SUPABASE_ANON_KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify({ messages: [message] }),
  });
  assert.equal(answer.status, 202, `${answer.status} ${await answer.text()}`);
});
process.exit(0);
