// 001: the back end of the analyses (Hono), with supabase-js and the service role key. Its tables: users, saju_tests.
import assert from "node:assert/strict";
import { connect, now, rows, step } from "./steps.mjs";

const supabase = connect(process.env.SUPABASE_SERVICE_ROLE_KEY);
const USER = "user_backend1";
const STALLED = "시스템 타임아웃으로 자동 정리됨";
let test, stalled, young, cleaned;

const remaining = async (id = USER) =>
  rows(await supabase.from("users").select("remaining_tests").eq("id", id).single()).remaining_tests;
const statusOf = async ({ id }) =>
  rows(await supabase.from("saju_tests").select("status,error_message").eq("id", id).single());
const setRemaining = async (remaining_tests, id = USER) =>
  rows(await supabase.from("users").update({ remaining_tests, updated_at: now() }).eq("id", id));

/** As 1.5, without its transaction: supabase-js has none. One test back for each test that was cleaned (6.1). */
async function cleanupStalledTests(timeoutMinutes) {
  const failed = { status: "failed", error_message: STALLED, updated_at: now() };
  const query = supabase.from("saju_tests").update(failed).eq("status", "processing");
  const found = rows(await query.lt("created_at", now(-60 * timeoutMinutes)).select("id,user_id"));
  for (const { user_id } of found) await setRemaining((await remaining(user_id)) + 1, user_id);
  return { count: found.length, userIds: [...new Set(found.map((row) => row.user_id))] };
}

await step("1.5", "adds a user", async () => {
  const user = rows(await supabase.from("users").insert({ id: USER, remaining_tests: 5 }).select().single());
  assert.deepEqual([user.id, user.remaining_tests], [USER, 5]);
});

await step("1.5", "adds the user again by upsert", async () => {
  const user = rows(await supabase.from("users").upsert({ id: USER, remaining_tests: 6 }).select().single());
  assert.equal(user.remaining_tests, 6);
});

await step("1.5", "reads the user", async () => assert.equal(await remaining(), 6));

await step("1.3", "starts a test", async () => {
  test = rows(await supabase.from("saju_tests").insert({ user_id: USER, status: "processing" }).select().single());
  assert.equal(test.status, "processing");
});

await step("1.3", "charges the user for it", async () => {
  await setRemaining((await remaining()) - 1);
  assert.equal(await remaining(), 5);
});

await step("1.3", "completes the test", async () => {
  rows(await supabase.from("saju_tests").update({ status: "completed", updated_at: now() }).eq("id", test.id));
  assert.equal((await statusOf(test)).status, "completed");
});

await step("1.3", "fails a test and gives it back", async () => {
  const failing = rows(await supabase.from("saju_tests").insert({ user_id: USER, status: "processing" }).select().single());
  await setRemaining((await remaining()) - 1);
  rows(await supabase.from("saju_tests").update({ status: "failed", error_message: "no answer" }).eq("id", failing.id));
  await setRemaining((await remaining()) + 1);
  assert.deepEqual(await statusOf(failing), { status: "failed", error_message: "no answer" });
  assert.equal(await remaining(), 5);
});

await step("6.1", "brings tests under way along with their created_at", async () => {
  const begun = (minutes) => ({ user_id: USER, status: "processing", created_at: now(-60 * minutes) });
  const moved = rows(await supabase.from("saju_tests").insert([35, 35, 35, 15, 15].map(begun)).select());
  stalled = moved.slice(0, 3);
  young = moved.slice(3);
  assert.ok(Math.abs(Date.parse(stalled[0].created_at) - Date.now() + 35 * 60_000) < 60_000, stalled[0].created_at);
});

await step("1.5", "looks for tests that are stalled", async () => {
  const query = supabase.from("saju_tests").select("id").eq("status", "processing");
  const found = rows(await query.lt("created_at", now(-30 * 60)));
  assert.deepEqual(found.map((row) => row.id).sort(), stalled.map((row) => row.id).sort());
});

await step("1.6", "cleans them up", async () => {
  const before = await remaining();
  cleaned = await cleanupStalledTests(30);
  assert.deepEqual(cleaned, { count: 3, userIds: [USER] });
  assert.deepEqual(await statusOf(stalled[0]), { status: "failed", error_message: STALLED });
  assert.equal(await remaining(), before + 3);
});

await step("6.1", "leaves tests below 30 minutes alone", async () => {
  for (const one of young) assert.equal((await statusOf(one)).status, "processing");
});

await step("6.1", "cleans nothing a second time", async () => {
  assert.equal(cleaned.count, 3);
  assert.deepEqual(await cleanupStalledTests(30), { count: 0, userIds: [] });
});
process.exit(0);
