/** Words that people stumbled over stay gone: the dashboard speaks as Oban Web, Temporal, Grafana and Supabase do. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const HERE = new URL(".", import.meta.url);

/** With their quotes where only the whole text is wrong: "Left" as a head of a column, not "3 left". */
const FORMER = [
  '"Over"',
  "Over by itself",
  "Hold still",
  "Hold the events still",
  "Held still",
  '"Go on"',
  '"Ended"',
  "Went wrong",
  "went wrong in",
  "Age of the tables",
  "From commit to this page",
  "From offer to start",
  "of all ends",
  "Every context has its writer",
  "is active since",
  "of 3 runs on",
  "You look at the past",
  "What is pending is cancelled",
  "What runs may end",
  "For machines",
  "Whether it",
  "What can be asked",
  "All numbers",
  "made anew",
  "Foreign sign-in",
  "still believed",
  "Lately",
  '"Left"',
  '"Sending"',
  "At the provider",
  "Under way",
  "iven back",
  '"the clock"',
  "Begun by",
  "Take from its worker",
  "Its until",
  "What it was asked to draw",
  "What is to be drawn",
  "In hand",
  "in hand",
  "Can do",
  "nothing special",
  "Its runner gave up",
  "stood still",
  "Lost with its network",
  "Where they stand",
  "Do not queue it yet",
  "Chances of",
  "That did not work",
  "This page has a fault",
  "End what you do not know",
];

const files = readdirSync(HERE).filter((name) => /^en(-\w+)?\.ts$/.test(name));

test("every part of the English dictionary is looked at", () => {
  expect(files).toContain("en.ts");
  expect(files.length).toBeGreaterThan(5);
});

test.each(files)("%s has none of the former words", (name) => {
  const text = readFileSync(new URL(name, HERE), "utf8");
  expect(FORMER.filter((words) => text.includes(words))).toEqual([]);
});
