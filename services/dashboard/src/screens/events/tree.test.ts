/** What the server tells of a chain becomes a tree, and a long one shows its own event all the same. */
import { expect, test } from "vitest";
import type { Chain, Event } from "@/lib/api/schema";
import { fromApi, shownFirst, treeOf } from "./tree";

const event = (seq: number, line: number, type: string, more: Partial<Event> = {}): Event => ({
  context: "fleet",
  seq,
  line,
  n: seq * 10 + line,
  at: "2026-11-16T12:00:00Z",
  type,
  by: "clock",
  cause: `command-${seq}`,
  trace: null,
  entities: ["a1"],
  data: { assignment_id: "a1" },
  ...more,
});

const chain: Chain = {
  event: event(5, 1, "AttemptCreated"),
  command: { id: "command-5", by: "user:kim", at: "2026-11-16T12:00:00Z", trace: null },
  preceded_by: event(3, 0, "JobCreated"),
  events: [event(5, 0, "JobActivated"), event(5, 1, "AttemptCreated")],
  events_left_out: false,
  continues: [{ entity: "a1", context: "fleet", after_seq: 5, after_line: 1, event: event(8, 0, "AttemptSent") }],
};

test("each effect knows by which event it went on, and only its own", () => {
  const tree = treeOf(chain);
  expect(tree.command.by).toBe("user:kim");
  expect(tree.before?.type).toBe("JobCreated");
  expect(tree.effects.map(({ event: one, next }) => [one.type, next?.place ?? null])).toEqual([
    ["JobActivated", null],
    ["AttemptCreated", "fleet=8.0"],
  ]);
});

test("an event of identity, which tells nothing, has its type all the same", () => {
  const secret = fromApi(event(1, 0, "SessionStarted", { context: "identity", data: null }));
  expect(secret).toMatchObject({ place: "identity=1.0", data: { type: "SessionStarted" } });
});

test("of many effects the first are shown, and the one that is looked at", () => {
  const many = Array.from({ length: 50 }, (_, line) => ({ event: fromApi(event(5, line, "A")), next: null }));
  const lines = (place: string) => shownFirst(many, place, 3).map((one) => one.event.place);
  expect(lines("fleet=5.1")).toEqual(["fleet=5.0", "fleet=5.1", "fleet=5.2"]);
  expect(lines("fleet=5.40")).toEqual(["fleet=5.0", "fleet=5.1", "fleet=5.40"]);
  expect(lines("fleet=9.9")).toEqual(["fleet=5.0", "fleet=5.1", "fleet=5.2"]);
  expect(shownFirst(many, "fleet=5.1", 100)).toBe(many);
});
