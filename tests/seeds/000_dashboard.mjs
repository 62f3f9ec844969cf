// 000: the dashboard, with supabase-js and the anon key. Phones are entered in Studio, which uses the service role key.
import assert from "node:assert/strict";
import { connect, now, rows, step, subscribed, until } from "./steps.mjs";

const supabase = connect(process.env.SUPABASE_ANON_KEY);
const studio = connect(process.env.SUPABASE_SERVICE_ROLE_KEY);
const video = { target_url: "https://youtu.be/dQw4w9WgXcQ", script_type: "youtube_watch" };
const heard = [];
let first, second, job, assignments, live;

const beat = async () =>
  rows(await supabase.from("devices").update({ last_seen_at: now(), status: "online" }).eq("serial_number", "DASHBOARD1"));
const byId = (table, id) => supabase.from(table).select("*").eq("id", id).single().then(rows);
const hears = (event, table, what) => {
  assert.equal(live?.state, "joined", "not subscribed");
  return until(() => heard.find((change) => change.eventType === event && change.table === table && what(change.new)));
};

await step("2.1", "enters two phones in Studio", async () => {
  const phone = (serial_number) => ({ serial_number, group_id: "P1-G1", pc_id: "PC-1" });
  [first, second] = rows(await studio.from("devices").insert([phone("DASHBOARD1"), phone("DASHBOARD2")]).select());
  assert.deepEqual([first.status, first.serial_number, second.serial_number], ["offline", "DASHBOARD1", "DASHBOARD2"]);
});

await step("2.1", "registers a phone", async () => {
  const made = { serial_number: "DASHBOARD3", group_id: "P1-G2", pc_id: "PC-1" };
  const phone = rows(await supabase.from("devices").insert(made).select().single());
  assert.equal(phone.status, "offline");
});

await step("2.1", "registers a phone again by upsert", async () => {
  const moved = { serial_number: "DASHBOARD2", group_id: "P1-G1", pc_id: "PC-2" };
  const phone = rows(await supabase.from("devices").upsert(moved, { onConflict: "serial_number" }).select().single());
  assert.deepEqual([phone.id, phone.pc_id], [second.id, "PC-2"]);
});

await step("2.1", "a serial number of another form is refused", async () => {
  const { status, error } = await studio.from("devices").insert({ serial_number: "no", group_id: "P1-G1", pc_id: "PC-1" });
  assert.equal(status, 400, error?.message);
});

await step("8.1", "subscribes to assignments and devices", async () => {
  const all = { event: "*", schema: "public" };
  const channel = supabase
    .channel("dashboard")
    .on("postgres_changes", { ...all, table: "job_assignments" }, (change) => heard.push(change))
    .on("postgres_changes", { ...all, table: "devices" }, (change) => heard.push(change))
    .on("broadcast", { event: "rate_limited" }, ({ payload }) => heard.push({ eventType: "broadcast", ...payload }));
  live = await subscribed(channel);
});

await step("4.1", "creates a job", async () => {
  const wanted = {
    title: "First watch",
    ...video,
    duration_min_pct: 30,
    duration_max_pct: 90,
    prob_like: 50,
    prob_comment: 30,
    prob_playlist: 10,
    is_active: true,
    base_reward: 10,
  };
  const answer = await supabase.from("jobs").insert(wanted).select().single();
  job = rows(answer);
  assert.equal(answer.status, 201);
  for (const [name, value] of Object.entries(wanted)) assert.equal(job[name], value, name);
  assert.ok(job.id && Date.parse(job.created_at));
});

await step("4.1", "creates a job with the defaults of 2.2", async () => {
  const made = rows(await supabase.from("jobs").insert({ target_url: video.target_url }).select().single());
  const { script_type, duration_min_pct, duration_max_pct, prob_like, prob_comment, prob_playlist, is_active, base_reward } = made;
  assert.deepEqual(
    [script_type, duration_min_pct, duration_max_pct, prob_like, prob_comment, prob_playlist, is_active, base_reward],
    ["youtube_watch", 30, 90, 50, 30, 10, true, 10],
  );
});

await step("4.1", "a maximum below the minimum is VALIDATION_ERROR", async () => {
  const bad = { ...video, duration_min_pct: 30, duration_max_pct: 20 };
  const { status, error } = await supabase.from("jobs").insert(bad);
  assert.deepEqual([status, error.code], [400, "VALIDATION_ERROR"]);
  assert.equal(error.message, "duration_max_pct must be >= duration_min_pct");
  assert.equal(error.details.field, "duration_max_pct");
  assert.equal(error.details.value, 20);
});

await step("4.1", "a page that is not of YouTube is refused", async () => {
  const { status } = await supabase.from("jobs").insert({ ...video, target_url: "https://example.com/video" });
  assert.equal(status, 400);
});

await step("4.1", "a wrong key is UNAUTHORIZED", async () => {
  const { status, error } = await connect("not-a-key").from("jobs").insert(video);
  assert.deepEqual([status, error.code, error.message], [401, "UNAUTHORIZED", "Invalid API key"]);
});

await step("8.1", "assigns the job to each phone", async () => {
  const wanted = [first, second].map((device) => ({ job_id: job.id, device_id: device.id, status: "pending" }));
  const answer = await supabase.from("job_assignments").insert(wanted).select();
  assignments = rows(answer);
  assert.deepEqual([answer.status, assignments.length, assignments[0].status], [201, 2, "pending"]);
});

await step("8.1", "hears of the new assignments", () =>
  hears("INSERT", "job_assignments", (row) => row.job_id === job.id && row.device_id === first.id),
);

await step("5.6", "assigns it a second time and gets the same one", async () => {
  const again = { job_id: job.id, device_id: first.id };
  const made = rows(await supabase.from("job_assignments").insert(again).select().single());
  assert.equal(made.id, assignments[0].id);
});

await step("6", "an assignment to an unknown phone is refused (V003)", async () => {
  const nobody = { job_id: job.id, device_id: "00000000-0000-4000-8000-000000000000" };
  const { status, error } = await supabase.from("job_assignments").insert(nobody);
  assert.equal(status, 409, error?.message);
});

await step("8.1", "lists assignments with their job and their phone", async () => {
  const query = supabase.from("job_assignments").select("id,status,jobs(title),devices(serial_number)");
  const found = rows(await query.eq("job_id", job.id));
  assert.deepEqual(found.map((row) => [row.jobs.title, row.devices.serial_number]).sort(), [
    ["First watch", "DASHBOARD1"],
    ["First watch", "DASHBOARD2"],
  ]);
});

await step("8.1", "counts what is pending", async () => {
  const query = supabase.from("job_assignments").select("*", { count: "exact", head: true });
  const { count, error } = await query.eq("job_id", job.id).eq("status", "pending");
  assert.deepEqual([error, count], [null, 2]);
});

await step("4.4", "shows phones without a heartbeat as offline", async () => {
  const silent = supabase.from("devices").select("serial_number,status").or(`last_seen_at.is.null,last_seen_at.lt.${now(-30)}`);
  const found = rows(await silent.eq("serial_number", "DASHBOARD1"));
  assert.deepEqual(found, [{ serial_number: "DASHBOARD1", status: "offline" }]);
});

await step("8.1", "hears of a phone that comes online", async () => {
  await beat();
  await hears("UPDATE", "devices", (row) => row.serial_number === "DASHBOARD1" && row.status === "online");
});

await step("3.2", "cancels one assignment", async () => {
  const query = supabase.from("job_assignments").update({ status: "cancelled" }).eq("id", assignments[1].id);
  assert.equal(rows(await query.select().single()).status, "cancelled");
});

await step("8.1", "hears of the cancellation", () =>
  hears("UPDATE", "job_assignments", (row) => row.id === assignments[1].id && row.status === "cancelled"),
);

await step("3.2", "deactivates the job, and what is pending is cancelled", async () => {
  rows(await supabase.from("jobs").update({ is_active: false }).eq("id", job.id));
  assert.equal((await byId("jobs", job.id)).is_active, false);
  assert.equal((await byId("job_assignments", assignments[0].id)).status, "cancelled");
});

await step("3.3", "resumes the job, and it is pending again", async () => {
  const resumed = rows(await supabase.from("jobs").update({ is_active: true }).eq("id", job.id).select().single());
  assert.equal(resumed.is_active, true);
  await beat();
  await until(async () => (await byId("job_assignments", assignments[0].id)).status === "pending");
});

await step("3.3", "deactivates all jobs at once", async () => {
  rows(await supabase.from("jobs").update({ is_active: false }).eq("is_active", true));
  assert.deepEqual(rows(await supabase.from("jobs").select("id").eq("is_active", true)), []);
});

await step("5.5", "hears the broadcast of a phone that was slowed down", async () => {
  const phone = connect(process.env.SUPABASE_ANON_KEY);
  const channel = await subscribed(phone.channel("dashboard"));
  await channel.send({ type: "broadcast", event: "rate_limited", payload: { serial_number: "DASHBOARD1" } });
  await until(() => heard.find((message) => message.eventType === "broadcast"));
});

await step("3.1", "resets a phone that is in error", async () => {
  rows(await supabase.from("devices").update({ status: "error" }).eq("id", first.id));
  assert.equal((await byId("devices", first.id)).status, "error");
  rows(await supabase.from("devices").update({ status: "offline" }).eq("id", first.id));
  assert.notEqual((await byId("devices", first.id)).status, "error");
});

// Studio: leave no job behind for the phones of the next program.
for (const { id } of rows(await studio.from("jobs").select("id").eq("is_active", true))) {
  await studio.from("jobs").update({ is_active: false }).eq("id", id);
}
process.exit(0);
