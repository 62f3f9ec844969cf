// The life of a job by the real supabase-js: create, poll with embed, running, progress, failed, retry, completed,
// conflict. Prints one JSON line for each step that it saw; any surprise ends it with an exception.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createClient } from "@supabase/supabase-js";
import ws from "ws";

const { DROVER_URL, DROVER_ANON_KEY, DROVER_SERVICE_KEY } = process.env;
// The client makes a realtime connection's object at once, and Node 20 has no WebSocket of its own for it.
const options = { auth: { persistSession: false, autoRefreshToken: false }, realtime: { transport: ws } };
const office = createClient(DROVER_URL, DROVER_SERVICE_KEY, options);
const phone = createClient(DROVER_URL, DROVER_ANON_KEY, options);
const SERIAL = "SUPABASEJS01";

const saw = (step, what = null) => console.log(JSON.stringify({ step, what }));
const good = ({ data, error, status }) => {
  assert.equal(error, null, JSON.stringify(error));
  return { data, status };
};

async function eventually(look, withinMs = 15000) {
  const until = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > until) throw new Error(`did not come to pass within ${withinMs} ms: ${look}`);
    await pause(300); // within what one device may ask
  }
}

const heartbeat = () =>
  phone.from("devices").update({ last_seen_at: new Date().toISOString(), status: "online" }).eq("serial_number", SERIAL);
const poll = async (device) =>
  good(
    await phone
      .from("job_assignments")
      .select("*,jobs(*)")
      .eq("device_id", device)
      .eq("status", "pending")
      .order("assigned_at", { ascending: true })
      .limit(1),
  ).data;
const report = (id, fields) => phone.from("job_assignments").update(fields).eq("id", id);

const registered = good(
  await office.from("devices").insert({ serial_number: SERIAL, group_id: "P1-G1", pc_id: "PC-JS" }).select().single(),
).data;
assert.equal(registered.status, "offline");
saw("registered");

assert.equal(good(await heartbeat()).status, 204);
assert.deepEqual(await poll(registered.id), []);
saw("empty poll");

const created = await office
  .from("jobs")
  .insert({ title: "js", target_url: "https://youtu.be/abc", target: { device_ids: [registered.id] } })
  .select()
  .single();
assert.equal(created.status, 201);
const job = good(created).data;
assert.equal(job.duration_min_pct, 30);
assert.equal(job.is_active, true);
saw("created");

const bad = await office.from("jobs").insert({ target_url: "https://youtu.be/abc", duration_min_pct: 50, duration_max_pct: 20 });
assert.equal(bad.status, 400);
assert.equal(bad.error.code, "VALIDATION_ERROR");
assert.equal(bad.error.message, "duration_max_pct must be >= duration_min_pct");
saw("refused", bad.error);

const work = await eventually(async () => (await heartbeat()) && (await poll(registered.id))[0]);
assert.equal(work.job_id, job.id);
assert.equal(work.jobs.target_url, "https://youtu.be/abc");
assert.equal(work.status, "pending");
saw("polled", { run: work.run, attempt: work.attempt });

assert.equal(good(await report(work.id, { status: "running", progress_pct: 0, started_at: new Date().toISOString() })).status, 204);
assert.equal(good(await report(work.id, { status: "running", progress_pct: 45 })).status, 204);
const seen = await eventually(async () => {
  const row = good(await phone.from("job_assignments").select("status,progress_pct").eq("id", work.id).single()).data;
  return row.progress_pct === 45 && row;
});
assert.equal(seen.status, "running");
assert.equal(good(await office.from("tasks").select("status").eq("id", job.id).single()).data.status, "running");
saw("running", seen);

assert.equal(good(await report(work.id, { status: "failed", error_code: "APP_CRASH", error_message: "gone" })).status, 204);
assert.deepEqual(await poll(registered.id), []);
saw("failed");

const again = await eventually(async () => (await heartbeat()) && (await poll(registered.id))[0]);
assert.equal(again.id, work.id);
assert.equal(again.attempt, 2);
assert.equal(again.retry_count, 1);
assert.ok(again.run > work.run);
saw("retried", { run: again.run });

const stale = await report(work.id, { status: "completed", run: work.run, progress_pct: 100, actual_duration_sec: 5 });
assert.equal(stale.status, 409);
assert.equal(stale.error.code, "STALE_ATTEMPT");
saw("stale", stale.error);

good(await report(again.id, { status: "running", run: again.run, progress_pct: 10 }));
const done = await report(again.id, {
  status: "completed", run: again.run, progress_pct: 100, actual_duration_sec: 156,
  did_like: true, did_comment: false, did_playlist: false, completed_at: new Date().toISOString(),
});
assert.equal(good(done).status, 204);
const row = good(await phone.from("job_assignments").select("*,jobs(title),devices(serial_number)").eq("id", work.id).single()).data;
assert.equal(row.status, "completed");
assert.equal(row.did_like, true);
assert.equal(row.jobs.title, "js");
assert.equal(row.devices.serial_number, SERIAL);
saw("completed");

const repeat = await report(again.id, { status: "completed", run: again.run, progress_pct: 100, actual_duration_sec: 156 });
assert.equal(repeat.status, 409);
assert.equal(repeat.error.code, "CONFLICT");
assert.equal(repeat.error.message, "Assignment already completed");
const nobody = await report("00000000-0000-4000-8000-000000000000", { status: "running" });
assert.equal(nobody.status, 404);
assert.equal(nobody.error.message, "Assignment not found");
saw("conflict", repeat.error);

const attempts = good(await office.from("tasks_event").select("event_type,attempt").eq("task_device_id", work.id).order("id")).data;
saw("history", attempts.map((one) => `${one.attempt} ${one.event_type}`));
const ended = await eventually(async () => {
  const task = good(await office.from("tasks").select("status").eq("id", job.id).single()).data;
  return task.status === "success" && task;
});
saw("ended", ended);
