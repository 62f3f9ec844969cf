/** What of the renders is logic: filters, stages, the story of one, a request as it is written. */
import { expect, test } from "vitest";
import type { PastRender } from "@/lib/past/moments";
import type { AuditRow, RenderRow } from "@/lib/rest/render-rows";
import type { EventRow } from "@/lib/rest/rows";
import { deedsFor } from "./actions";
import { inOrder, isFieldName } from "./compositions";
import { type EndedFilter, endedQuery, isEndedShown, isNarrow } from "./ended-query";
import { guessed } from "./field-table";
import { type Draft, EMPTY, type Fault, faultsOf, gfxOf, isBlank, renderWished } from "./new-render-draft";
import { renderThen } from "./past-renders";
import { OPEN_LIST, type Render, renderOf } from "./render";
import { rendersSearch } from "./search";
import { stageShares } from "./stage-shares";
import { timelineOf } from "./timeline";

test("the address holds what is shown, and drops what makes no sense", () => {
  const good = {
    q: "bio",
    ended: "failed",
    of: "comp",
    day: "2026-11-16",
    render: "41",
    view: "mapping",
    map: "comp",
    new: "1",
  };
  expect(rendersSearch(good)).toEqual({ ...good, new: true });
  expect(rendersSearch({ ended: "pending", day: "16.11.2026", render: "x", view: "list" })).toEqual({});
  expect(rendersSearch({ day: "2026-13-40" })).toEqual({});
});

test("without filters all that ended are asked for", () => {
  expect(endedQuery({})).toMatchObject({ status: "in.(completed,failed,cancelled)" });
  expect(endedQuery({})).not.toHaveProperty("or");
  expect([isNarrow({}), isNarrow({ of: "comp" })]).toEqual([false, true]);
});

test("each filter becomes a condition", () => {
  expect(endedQuery({ ended: "failed", of: "comp, 2", day: "2026-11-16" })).toMatchObject({
    status: "eq.failed",
    composition_id: "eq.comp, 2",
    broadcast_date: "eq.2026-11-16",
  });
});

test.each([
  ["41", "(id.eq.41,cue_item_id.eq.41)"],
  ["#41", "(id.eq.41,cue_item_id.eq.41)"],
  ["chip", "(composition_name.ilike.*chip*,cue_item_id.ilike.*chip*,error_code.ilike.*chip*)"],
])("%s is looked for as %s", (q, or) => expect(endedQuery({ q })).toMatchObject({ or }));

test("gfx_data is asked for by nobody who lists renders", () => {
  expect(String(endedQuery({})["select"]).split(",")).not.toContain("gfx_data");
});

test.each([
  ["pending", 0, [0, 0, 0, 0]],
  ["preparing", 0, [null, 0, 0, 0]],
  ["rendering", 45, [1, 0.45, 0, 0]],
  ["rendering", 140, [1, 1, 0, 0]],
  ["encoding", 90, [1, 1, null, 0]],
  ["uploading", 100, [1, 1, 1, null]],
  ["completed", 100, [1, 1, 1, 1]],
  ["failed", 60, [0, 0, 0, 0]],
] as const)("%s at %d %% fills %o", (status, progress, shares) => {
  expect(stageShares({ status, progress }).map((one) => one.share)).toEqual(shares);
});

test.each([
  ["pending", ["cancel"]],
  ["rendering", ["release", "cancel"]],
  ["failed", ["again"]],
  ["cancelled", ["again"]],
  ["completed", []],
] as const)("with one that is %s can be done: %o", (status, deeds) => expect(deedsFor({ status })).toEqual(deeds));

const AT = (second: number) => `2026-11-16T03:00:${String(second).padStart(2, "0")}.123456+00:00`;

function audit(id: number, second: number, to: AuditRow["status_to"], reason: string | null = null): AuditRow {
  const who = { worker_id: "w1", changed_by: "worker:w1" };
  return { id, status_from: "pending", status_to: to, changed_at: AT(second), reason, ...who };
}

function event(type: string, second: number, data: Record<string, unknown>): EventRow {
  const envelope = { context: "render", line: 0, n: second, by: "worker:w1", cause: "c", entities: [] };
  return { ...envelope, seq: second, at: AT(second), type, data };
}

test("the story of a render has its changes and what was tried again, newest first", () => {
  const story = timelineOf(
    [audit(1, 1, "pending"), audit(2, 2, "preparing"), audit(3, 9, "failed", "NAS_AWAY")],
    [
      event("RetryScheduled", 5, {
        fault: "NAS_AWAY",
        number: 1,
        due_at: AT(35),
        message: "no space",
        worker_id: "w1",
      }),
      event("RenderFailed", 9, { fault: "NAS_AWAY", message: "The NAS is full" }),
      event("StaleRunRefused", 12, { worker_id: "w2", report: "ReportCompleted" }),
    ],
  );
  expect(story.map((one) => [one.status, one.reason, one.retry])).toEqual([
    [null, "stale", null],
    ["failed", "NAS_AWAY", null],
    [null, "NAS_AWAY", 1],
    ["preparing", null, null],
    ["pending", null, null],
  ]);
  expect(story[1]?.message).toBe("The NAS is full"); // the audit has the word, the event the sentence
  expect(story[2]).toMatchObject({ dueAt: AT(35), message: "no space" });
});

test.each([
  ["Slot 1 - name", true],
  ["Single - 블라인드", true],
  ["Flag 3", true],
  ["Flag - sponsor", true],
  ["Slot 1 - name: Name 1 is given again by Slot 2 - name", false],
  ["extra", false],
])("%s can have a layer: %s", (name, can) => expect(isFieldName(name)).toBe(can));

test("slots stand in the order of their numbers", () => {
  expect(["Slot 10 - a", "Slot 2 - a", "Flag 1"].sort(inOrder)).toEqual(["Flag 1", "Slot 2 - a", "Slot 10 - a"]);
});

test.each([
  ["Slot 2 - stack", { layer_name: "Stack 2", kind: "data" }],
  ["Single - table_id", { layer_name: "Table id", kind: "data" }],
  ["Flag 1", { layer_name: "Flag 1", kind: "image" }],
])("%s is guessed to go to %o", (name, layer) => expect(guessed(name)).toEqual(layer));

const GOOD: Draft = { ...EMPTY, composition: "comp" };

test("fields become gfx_data as 003 has it; what was left empty is left out", () => {
  const values = {
    "Slot 2 - name": "B",
    "Slot 1 - name": "A",
    "Slot 1 - stack": "250",
    "Slot 3 - name": "",
    "Single - table_id": "Table 1",
    "Flag 1": "Norway",
    "Flag - sponsor": "logo.png",
  };
  expect(gfxOf(values)).toEqual({
    slots: [
      { slot_number: 1, fields: { name: "A", stack: "250" } },
      { slot_number: 2, fields: { name: "B" } },
    ],
    single_fields: { table_id: "Table 1" },
    flags: { "1": "Norway", sponsor: "logo.png" },
  });
  expect(gfxOf({})).toEqual({});
});

test("a request says what was said, and no more", () => {
  expect(renderWished(GOOD, "comp", [])).toEqual({ composition_id: "comp", gfx_data: {} });
  const said: Draft = { ...GOOD, cue: " 7 ", day: "2026-11-20", mode: "json", json: '{"slots":[]}' };
  expect(renderWished(said, "comp", [])).toEqual({
    composition_id: "comp",
    gfx_data: { slots: [] },
    cue_item_id: "7",
    broadcast_date: "2026-11-20",
  });
});

test("what was written for another composition is left out", () => {
  const values = { "Single - table_id": "Table 1", "Single - round": "Final" };
  expect(renderWished({ ...GOOD, values }, "comp", ["Single - round"]).gfx_data).toEqual({
    single_fields: { round: "Final" },
  });
});

test.each<[unknown, boolean]>([
  [{}, true],
  [{ slots: [], single_fields: {}, flags: [] }, true],
  [{ slots: [{ slot_number: 1, fields: { name: "" } }], composition_name: "_MAIN" }, true],
  [{ single_fields: { round: null } }, true],
  [{ single_fields: { chips: 0 } }, false],
  [{ flags: ["Norway"] }, false],
  [{ slots: [{ slot_number: 1, fields: { name: "A" } }] }, false],
])("%j draws nothing: %s", (gfx, blank) => expect(isBlank(gfx)).toBe(blank));

test.each<[string, Partial<Draft>, Fault]>([
  ["a cue that is too long", { cue: "x".repeat(129) }, "cue"],
  ["no JSON", { mode: "json", json: "{" }, "json"],
  ["a list", { mode: "json", json: "[]" }, "json"],
  ["nothing", { mode: "json", json: "null" }, "json"],
])("%s", (_, change, fault) => expect(faultsOf({ ...GOOD, ...change }, "comp")).toEqual(new Set([fault])));

test("a composition that is not known is a fault, whatever its text", () => {
  expect(faultsOf(GOOD, undefined)).toEqual(new Set(["composition"]));
});

test("JSON that is not shown is not looked at", () => {
  expect(faultsOf({ ...GOOD, json: "{" }, "comp")).toEqual(new Set());
});

const THEN: PastRender = {
  id: 41,
  composition_id: "comp",
  composition_name: "_MAIN",
  status: "rendering",
  worker_id: "w1",
  progress: 40,
  run: 1,
  recovery_count: 0,
  created_at: AT(1),
  started_at: AT(2),
};
const ROW = {
  ...THEN,
  status: "completed",
  progress: 100,
  cue_item_id: "7",
  updated_at: AT(30),
} as unknown as RenderRow;
const at = (second: number) => ({ at: Date.parse(AT(second)), iso: AT(second) });

test("a render of the past is as it was then, and for whom it always was", () => {
  expect(renderThen(THEN, ROW, at(20))).toMatchObject({
    id: "41",
    status: "rendering",
    progress: 40,
    cue_item_id: "7",
  });
  expect(renderThen(THEN, undefined, at(20))).toMatchObject({ id: "41", status: "rendering", cue_item_id: null });
});

test("a render that has not changed since is told by its row", () => {
  expect(renderThen({ ...THEN, status: "completed" }, ROW, at(40))).toEqual(renderOf(ROW));
});

test.each<[string, EndedFilter, boolean]>([
  ["no filter", {}, true],
  ["its state", { ended: "failed" }, true],
  ["another state", { ended: "completed" }, false],
  ["its composition", { of: "comp" }, true],
  ["another day", { day: "2026-11-17" }, false],
  ["part of its name", { q: "pLAYER" }, true],
  ["its number", { q: "#41" }, true],
  ["another number", { q: "4" }, false],
  ["its fault", { q: "nas" }, true],
])("one that ended and is told is found by %s as by the question", (_, filter, isIn) => {
  const told = { id: "41", status: "failed", composition_id: "comp", composition_name: "_SUB Player" };
  const more = { broadcast_date: "2026-11-16", cue_item_id: "7", error_code: "NAS_AWAY" };
  expect(isEndedShown(filter, { ...told, ...more } as Render)).toBe(isIn);
});

test("a render that is told in another stage has come there now; in the same stage it keeps its time", () => {
  const read = { ...renderOf({ ...ROW, status: "rendering" }), stageSince: 5 };
  const told = (status: string) => ({ ...ROW, status, updated_at: AT(30) });
  expect(OPEN_LIST.rowOf(told("rendering"), read)?.stageSince).toBe(5);
  expect(OPEN_LIST.rowOf(told("encoding"), read)?.stageSince).toBe(Date.parse(AT(30)));
  expect(OPEN_LIST.rowOf(told("encoding"), undefined)?.stageSince).toBe(Date.parse(AT(30)));
  expect(OPEN_LIST.isShown({ ...read, status: "completed" })).toBe(false);
});
