/** Renders follow from their events as they do in the projector; what was read and what was heard meet without harm. */
import { expect, test } from "vitest";
import type { RenderRow, StageRow } from "../rest/render-rows";
import type { Envelope } from "./events";
import { foldRenders, isUnderWay, mergeRead, NO_RENDERS, type OpenRenders, renderOf } from "./fold-renders";

const AT = "2026-11-16T03:00:00.000000Z";
const at = (second: number, micro = 0) =>
  `2026-11-16T03:00:${String(second).padStart(2, "0")}.${String(micro).padStart(6, "0")}Z`;

function event(type: string, second: number, more: object = {}): Envelope {
  return {
    type,
    at: at(second),
    by: "worker:w1",
    cause: "c",
    n: 1,
    render_id: 41,
    run: 1,
    worker_id: "w1",
    ...more,
  } as Envelope;
}

const REQUESTED = event("RenderRequested", 1, {
  composition_id: "comp",
  composition: "_MAIN",
  cue_item_id: "7",
  broadcast_date: "2026-11-16",
});

function folded(events: readonly Envelope[], from: OpenRenders = NO_RENDERS): OpenRenders {
  return events.reduce((open, one) => foldRenders(open, one).open, from);
}

const row: RenderRow = {
  id: 41,
  composition_id: "comp",
  composition_name: "_MAIN",
  cue_item_id: null,
  broadcast_date: "2026-11-16",
  status: "rendering",
  worker_id: "w1",
  lock_expires_at: at(59),
  nexrender_job_id: "n1",
  progress: 37,
  output_file_path: null,
  output_size_bytes: null,
  output_sha256: null,
  error_code: null,
  error_message: null,
  recovery_count: 0,
  run: 1,
  retry_due_at: null,
  unmapped_fields: [],
  created_at: AT,
  started_at: at(2),
  updated_at: at(10),
  completed_at: null,
  duration_seconds: null,
};
const read = (...rows: RenderRow[]): OpenRenders => ({ ...NO_RENDERS, renders: rows.map((one) => renderOf(one)) });

test("a render goes from stage to stage, and each begins with its event", () => {
  const way = [
    REQUESTED,
    event("RenderClaimed", 2, { lease_until: at(50) }),
    event("RenderSubmitted", 3, { nexrender_job_id: "n1" }),
    event("RenderProgressed", 5, { progress: 40 }),
    event("EncodingStarted", 8, { progress: 90 }),
    event("UploadStarted", 9),
  ];
  const seen = way.map((_, index) => folded(way.slice(0, index + 1)).renders[0]);
  expect(seen.map((render) => [render?.status, render?.progress])).toEqual([
    ["pending", 0],
    ["preparing", 0],
    ["rendering", 0],
    ["rendering", 40],
    ["encoding", 90],
    ["uploading", 100],
  ]);
  expect(seen.map((render) => render?.stageSince)).toEqual([1, 2, 3, 3, 8, 9].map((s) => Date.parse(at(s))));
  expect(seen[2]).toMatchObject({ id: "41", worker_id: "w1", lock_expires_at: at(50), started_at: at(3) });
});

test.each(["RenderCompleted", "RenderFailed", "RenderCancelled"])("%s ends it", (type) => {
  const { open, hasEnded, isStale } = foldRenders(folded([REQUESTED]), event(type, 9));
  expect([open.renders, hasEnded, isStale]).toEqual([[], true, false]);
});

test("one that goes back to the queue is nobody's, and is read again: its event does not tell all", () => {
  const before = folded([REQUESTED, event("RenderClaimed", 2, { lease_until: at(50) })]);
  const lapsed = event("RenderRequeued", 9, { reason: "lapsed", message: "", recovery_count: 1 });
  const { open, isStale } = foldRenders(before, lapsed);
  expect(open.renders[0]).toMatchObject({
    status: "pending",
    worker_id: null,
    lock_expires_at: null,
    recovery_count: 1,
  });
  expect(isStale).toBe(true);
});

test("a retry of a step is told until the step goes on", () => {
  const waits = folded(
    [event("RetryScheduled", 12, { fault: "NAS_AWAY", number: 1, due_at: at(42), message: "full" })],
    read(row),
  );
  expect(waits.renders[0]).toMatchObject({ error_code: "NAS_AWAY", error_message: "full", retry_due_at: at(42) });
  expect(folded([event("UploadStarted", 43)], waits).renders[0]?.retry_due_at).toBeNull();
});

test("what the row tells already is not told again", () => {
  const open = read(row);
  expect(foldRenders(open, event("RenderClaimed", 2, { lease_until: at(50) })).open).toBe(open);
});

test("the very event that made the row what it is changes nothing", () => {
  const open = read(row);
  expect(foldRenders(open, event("UploadStarted", 10)).open).toBe(open);
});

test("a worker that comes back to its render goes on in the same stage", () => {
  const claimed = [
    event("RenderClaimed", 2, { lease_until: at(50) }),
    event("RenderClaimed", 7, { run: 2, lease_until: at(55) }),
  ];
  const [render] = folded([REQUESTED, ...claimed]).renders;
  expect(render).toMatchObject({ status: "preparing", run: 2, stageSince: Date.parse(at(2)) });
});

test("two changes within a millisecond are told apart", () => {
  const open = read({ ...row, updated_at: at(10, 100) });
  const late = { ...event("UploadStarted", 10), at: at(10, 101) };
  expect(foldRenders(open, late).open.renders[0]?.status).toBe("uploading");
});

test("a worker's own progress, which is ahead of the events, does not go back", () => {
  expect(folded([event("RenderProgressed", 11, { progress: 30 })], read(row)).renders[0]?.progress).toBe(37);
});

test("one that had ended and runs again is not known: it is to be read", () => {
  expect(foldRenders(NO_RENDERS, event("RenderRequeued", 9, { reason: "rerun" })).isStale).toBe(true);
  expect(foldRenders(NO_RENDERS, event("RenderProgressed", 9, { progress: 10 })).isStale).toBe(false);
});

test("events of other kinds change nothing", () => {
  const open = read(row);
  expect(foldRenders(open, event("StaleRunRefused", 11)).open).toBe(open);
});

test("a read that is older than what was heard does not undo it", () => {
  const heard = folded([event("UploadStarted", 11)], read(row));
  expect(mergeRead(heard, read(row)).renders[0]?.status).toBe("uploading");
  const newer = read({ ...row, status: "uploading", progress: 100, worker_id: "w2", updated_at: at(12) });
  expect(mergeRead(heard, newer).renders[0]?.worker_id).toBe("w2");
});

test("a read that is older than its end does not bring a render back; one that runs again comes back", () => {
  const heard = folded([event("RenderCompleted", 11)], read(row));
  expect(mergeRead(heard, read(row)).renders).toEqual([]);
  const again = read({ ...row, status: "pending", updated_at: at(20) });
  expect(mergeRead(heard, again).renders).toHaveLength(1);
});

test("of those that ended only some are remembered", () => {
  const ends = Array.from({ length: 500 }, (_, id) => event("RenderFailed", 11, { render_id: id }));
  const heard = folded(ends);
  expect(heard.gone.size).toBe(200);
  expect(mergeRead(heard, heard).gone.size).toBe(200);
});

test("from its stages a row tells since when it is in the one it is in", () => {
  const stage: StageRow = {
    stage: "rendering",
    seconds: 8,
    under_way: true,
    seconds_min: 30,
    seconds_max: 120,
    verdict: null,
  };
  expect(renderOf(row, [stage], 100_000).stageSince).toBe(92_000);
  expect(renderOf({ ...row, status: "pending" }).stageSince).toBe(Date.parse(AT));
  expect(renderOf(row).stageSince).toBeNull();
});

test.each([
  ["pending", false],
  ["preparing", true],
  ["uploading", true],
  ["completed", false],
] as const)("%s is under way: %s", (status, is) => expect(isUnderWay({ status })).toBe(is));
