// 003: the sub dashboard. It asks for films, follows them live, cancels them, and keeps the field mapping.
import assert from "node:assert/strict";
import { connect, now, rows, step, subscribed, until } from "./steps.mjs";

const supabase = connect(process.env.SUPABASE_SERVICE_ROLE_KEY);
const COMPOSITION = "comp_123";
const gfx_data = {
  composition_name: "_MAIN Mini Chip Count",
  slots: [{ slot_number: 1, fields: { name: "PHIL IVEY", stack: "250", country: "United States" } }],
  single_fields: { table_id: "Table 1", round_info: "Final Table" },
};
const heard = [];
let render, live;

const hears = (event, what) => {
  assert.equal(live?.state, "joined", "not subscribed");
  return until(() => heard.find((change) => change.eventType === event && what(change)));
};

await step("6.2", "writes the field mapping", async () => {
  const mapping = [
    { composition_id: COMPOSITION, field_name: "Slot 1 - name", layer_name: "Name 1" },
    { composition_id: COMPOSITION, field_name: "Slot 1 - stack", layer_name: "Stack" },
    { composition_id: COMPOSITION, field_name: "Single - table_id", layer_name: "Table" },
  ];
  assert.equal(rows(await supabase.from("aep_field_mapping").insert(mapping).select()).length, 3);
});

await step("10.1", "corrects the field mapping by upsert", async () => {
  const corrected = { composition_id: COMPOSITION, field_name: "Slot 1 - stack", layer_name: "Stack 1" };
  rows(await supabase.from("aep_field_mapping").upsert(corrected, { onConflict: "composition_id,field_name" }));
  const found = rows(await supabase.from("aep_field_mapping").select("layer_name").eq("field_name", "Slot 1 - stack"));
  assert.deepEqual(found, [{ layer_name: "Stack 1" }]);
});

await step("4.2", "subscribes to the queue", async () => {
  const all = { event: "*", schema: "public", table: "render_queue" };
  live = await subscribed(supabase.channel("renders").on("postgres_changes", all, (change) => heard.push(change)));
});

await step("4.1", "asks for a film", async () => {
  const wanted = { composition_id: COMPOSITION, gfx_data, cue_item_id: 7, status: "pending" };
  const answer = await supabase.from("render_queue").insert(wanted).select().single();
  render = rows(answer);
  const { status, worker_id, progress, composition_id } = render;
  assert.deepEqual([answer.status, status, worker_id, progress], [201, "pending", null, 0]);
  assert.equal(composition_id, COMPOSITION);
});

await step("3.2", "reads cue_item_id as it was written", async () => {
  const found = rows(await supabase.from("render_queue").select("cue_item_id").eq("id", render.id).single());
  assert.deepEqual(found, { cue_item_id: 7 });
});

await step("3.4", "reads gfx_data as it was written", async () => {
  const numbers = { ...gfx_data, slots: [{ slot_number: 1, fields: { name: "TOM DWAN", stack: 250 } }] };
  const wanted = { composition_id: COMPOSITION, gfx_data: numbers };
  const { id } = rows(await supabase.from("render_queue").insert(wanted).select().single());
  const found = rows(await supabase.from("render_queue").select("gfx_data").eq("id", id).single());
  assert.deepEqual(found.gfx_data, numbers);
});

await step("4.2", "hears of the new film", () => hears("INSERT", (change) => change.new.id === render.id));

await step("3.5", "reads status and progress", async () => {
  const found = rows(await supabase.from("render_queue").select("status,progress").eq("id", render.id).single());
  assert.deepEqual(found, { status: "pending", progress: 0 });
});

await step("7.2", "counts the films that wait", async () => {
  const query = supabase.from("render_queue").select("*", { count: "exact", head: true });
  const { count, error } = await query.eq("status", "pending").gt("created_at", now(-3600));
  assert.deepEqual([error, count], [null, 2]);
});

await step("4.2", "cancels the film", async () => {
  const query = supabase.from("render_queue").update({ status: "cancelled" }).eq("id", render.id);
  assert.equal(rows(await query.select().single()).status, "cancelled");
});

await step("4.2", "hears of the cancellation", () =>
  hears("UPDATE", (change) => change.new.id === render.id && change.new.status === "cancelled"),
);

await step("8.2", "reads the audit trail", async () => {
  const query = supabase.from("render_queue_audit").select("status_from,status_to").eq("render_queue_id", render.id);
  const found = rows(await query.order("id"));
  assert.deepEqual(found.at(-1), { status_from: "pending", status_to: "cancelled" });
});

await step("4.2", "cancels all that wait at once", async () => {
  const query = supabase.from("render_queue").update({ status: "cancelled" }).eq("status", "pending");
  assert.equal(rows(await query.select()).length, 1);
});

// Leave nothing behind for the workers of the next program.
for (const { id } of rows(await supabase.from("render_queue").select("id").eq("status", "pending"))) {
  await supabase.from("render_queue").update({ status: "cancelled" }).eq("id", id);
}
process.exit(0);
