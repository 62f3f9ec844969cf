/** What the server found, in the palette. */
import { expect, test } from "vitest";
import type { Found } from "@/lib/api/schema";
import { en } from "@/lib/i18n/en";
import { serverGroups } from "./palette-server";
import { WORDS } from "./palette-text";

const AT = "2026-11-16T12:00:00Z";
const T = { ...en, ...WORDS.en };
const NOTHING: Found = { jobs: [], renders: [], users: [], event_types: [], events: [] };
const FOUND: Found = {
  jobs: [
    { id: "j1", title: "Launch", status: "completed", created_at: AT },
    { id: "j2", title: null, status: "active", created_at: AT },
  ],
  renders: [{ id: 41, composition_name: "Lower third", status: "failed", created_at: AT }],
  users: [{ id: "user-17", tier: "vip", frozen: true }],
  event_types: ["JobPaused"],
  events: [{ context: "fleet", seq: 12, line: 3, at: AT, type: "JobCreated" }],
};
const groups = (found: Found | undefined, text: string) =>
  serverGroups(
    found,
    text,
    T,
    () => "1 h ago",
    (job) => job === "j2",
  );

test("each kind has its group, in the order of the screens, and leads to its screen", () => {
  const found = groups(FOUND, "j1");
  expect(found.map((group) => group.title)).toEqual(["Jobs in the history", "Renders", "Users", "Events"]);
  expect(found.flatMap((group) => group.entries.map((entry) => entry.target))).toEqual([
    { to: "/queue", search: { job: "j1" } },
    { to: "/renders", search: { render: "41" } },
    { to: "/analyses", search: { user: "user-17" } },
    { to: "/events", search: { entity: "j1" } },
    { to: "/events", search: { event: "fleet=12.3" } },
    { to: "/events", search: { type: "JobPaused" } },
  ]);
});

test("a job that the page has found itself is not there twice", () => {
  expect(groups(FOUND, "x")[0]?.entries.map((entry) => entry.label)).toEqual(["Launch"]);
});

test("states are said in words, and every entry has an id of its own", () => {
  const entries = groups(FOUND, "x").flatMap((group) => group.entries);
  expect(entries.map((entry) => entry.detail)).toContain("Failed · 1 h ago");
  expect(entries.map((entry) => entry.detail)).toContain("vip · frozen");
  expect(new Set(entries.map((entry) => entry.id)).size).toBe(entries.length);
});

test("without an answer, or without a word, there is nothing", () => {
  expect([groups(undefined, "x"), groups(FOUND, " "), groups(NOTHING, "x")]).toEqual([[], [], []]);
});
