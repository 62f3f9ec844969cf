// @vitest-environment happy-dom
/** The tree shows the command and its effects, and each step further is asked for when somebody wants to see it. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import type { Chain, Event } from "@/lib/api/schema";
import { ChainTree } from "./chain-tree";

let page: TestPage;
let opened: string[];

const event = (seq: number, line: number, type: string): Event => ({
  context: "fleet",
  seq,
  line,
  n: seq * 10 + line,
  at: new Date(Date.UTC(2026, 10, 16, 12, 0, seq)).toISOString(),
  type,
  by: "clock",
  cause: `command-${seq}`,
  trace: null,
  entities: ["a1"],
  data: {},
});
const chain = (own: Event, events: Event[], more: Partial<Chain> = {}): Chain => ({
  event: own,
  command: { id: own.cause, by: "user:kim", at: own.at, trace: null },
  preceded_by: null,
  events,
  events_left_out: false,
  continues: [],
  ...more,
});

const created = event(5, 0, "AttemptCreated");
const sent = event(8, 0, "AttemptSent");
const made = event(2, 0, "JobCreated");
const path = ({ seq, line }: Event) => `/api/events/fleet/${seq}/${line}/chain`;

beforeEach(async () => {
  page = new TestPage();
  opened = [];
  const { answers } = page.given.server;
  const next = { entity: "a1", context: "fleet", after_seq: 5, after_line: 0, event: sent };
  answers.set(path(created), () =>
    Response.json(chain(created, [event(5, 1, "JobActivated"), created], { preceded_by: made, continues: [next] })),
  );
  answers.set(path(sent), () => Response.json(chain(sent, [sent])));
  answers.set(path(made), () => Response.json(chain(made, [made])));
  await page.show("viewer", <ChainTree place="fleet=5.0" open={(place) => opened.push(place)} />);
  await page.settle();
});

afterEach(() => {
  document.body.replaceChildren();
});

const asked = (one: Event) => page.given.server.to(path(one)).length;

test("the command, what came before, and its effects are there at once", () => {
  expect(page.text).toContain("Person kim");
  expect(document.querySelector("[title='user:kim']")).not.toBeNull();
  expect(page.text).toContain("JobCreated");
  expect(page.text).toContain("JobActivated");
  expect(document.querySelector("[aria-current=true]")?.textContent).toContain("AttemptCreated");
  expect(asked(sent)).toBe(0);
});

test("what it led to is asked for when it is opened, and goes away when it is shut", async () => {
  const [further] = page.buttons().filter((name) => name.includes("AttemptSent"));
  expect(further).toBe("AttemptSent after 3 s");
  await page.press("AttemptSent after 3 s");
  await page.settle();
  expect(asked(sent)).toBe(1);
  expect(page.buttons()).toContain("AttemptSent");
  await page.press("AttemptSent after 3 s");
  expect(page.buttons()).not.toContain("AttemptSent");
});

test("further back goes as far as there is something", async () => {
  await page.press("Show earlier events");
  await page.settle();
  expect(page.text).toContain("No earlier events.");
});

test("an event of the tree can be opened", async () => {
  await page.press("JobActivated");
  expect(opened).toEqual(["fleet=5.1"]);
});
