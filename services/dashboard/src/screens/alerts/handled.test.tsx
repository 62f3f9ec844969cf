// @vitest-environment happy-dom
/** What people do about alerts: who may, what is sent, and what the others see. */
import { act } from "react";
import { afterEach, describe, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import type { AlertRow } from "@/lib/rest/rows";
import { HandleAlert, Handled } from "./handled";
import { isSnoozed, SNOOZE_MAX_MS, untilOf } from "./handling";

const LATER = "2999-01-01T00:00:00Z";
const ALERT = {
  context: "fleet",
  id: "a1",
  kind: "needs_reset",
  subject: "d1",
  resolved_at: null,
  acknowledged_at: null,
  acknowledged_by: null,
  acknowledged_note: null,
  snoozed_until: null,
  snoozed_by: null,
  snooze_note: null,
} as unknown as AlertRow;

afterEach(() => document.body.replaceChildren());

/** As a person does: React notices only what goes through the element's own setter. */
async function type(field: string, text: string): Promise<void> {
  const input = document.querySelector<HTMLInputElement>(`input[name=${field}]`);
  const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set;
  await act(async () => {
    set?.call(input, text);
    input?.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

test("an operator acknowledges an alert with a note", async () => {
  const page = new TestPage();
  const path = "/api/alerts/fleet/a1/acknowledge";
  page.given.server.answers.set(path, () => new Response(null, { status: 204 }));
  await page.show("operator", <HandleAlert alert={ALERT} />);
  await page.press("Acknowledge");
  await type("note", "mine");
  const send = document.querySelector<HTMLButtonElement>("button[type=submit]");
  await act(async () => send?.click());
  await page.until(() => expect(page.given.server.to(path)).toHaveLength(1));
  const [call] = page.given.server.to(path);
  expect(JSON.parse(call?.body ?? "")).toEqual({ note: "mine" });
  expect(call?.headers.get("Idempotency-Key")).not.toBeNull();
});

test("a snooze that comes too late says that the alert is resolved", async () => {
  const page = new TestPage();
  const path = "/api/alerts/fleet/a1/snooze";
  page.given.server.fail(path, [404, "NOT_FOUND"]);
  await page.show("admin", <HandleAlert alert={ALERT} />);
  await page.press("Snooze");
  const send = document.querySelector<HTMLButtonElement>("button[type=submit]");
  await act(async () => send?.click());
  await page.says("The alert is resolved already.");
  const until = Date.parse(JSON.parse(page.given.server.to(path)[0]?.body ?? "{}").until);
  expect(until - Date.now()).toBeGreaterThan(59 * 60_000);
});

test("viewers see what others did and have no buttons", async () => {
  const page = new TestPage();
  const alert = {
    ...ALERT,
    acknowledged_at: "2026-11-18T05:00:00Z",
    acknowledged_by: "user:018f2b5e-0000-7000-8000-0000abcd1234",
    acknowledged_note: "on it",
    snoozed_until: LATER,
    snoozed_by: "user:user-1",
    snooze_note: null,
  } as unknown as AlertRow;
  await page.show(
    "viewer",
    <>
      <Handled alert={alert} />
      <HandleAlert alert={alert} />
    </>,
  );
  expect(page.text).toContain("Acknowledged · Person abcd1234");
  expect(page.text).toContain("“on it”");
  expect(page.text).toMatch(/Snoozed until .* · You/);
  expect(page.buttons()).toEqual([]);
  expect(page.given.server.to("/api/accounts")).toEqual([]);
});

test("a snooze can be ended, and a resolved alert cannot be handled", async () => {
  const page = new TestPage();
  await page.show("operator", <HandleAlert alert={{ ...ALERT, snoozed_until: LATER } as AlertRow} />);
  expect(page.buttons()).toEqual(["Acknowledge", "Snooze", "End snooze"]);
  document.body.replaceChildren();
  await new TestPage().show("operator", <HandleAlert alert={{ ...ALERT, resolved_at: LATER } as AlertRow} />);
  expect(document.querySelectorAll("button")).toHaveLength(0);
});

describe("until when", () => {
  const now = new Date(2026, 10, 18, 14, 30).getTime();
  test("the choices are moments on the person's clock", () => {
    expect(untilOf("hour", "", now)?.getTime()).toBe(now + 3_600_000);
    expect(untilOf("tomorrow", "", now)).toEqual(new Date(2026, 10, 19, 9));
    expect(untilOf("other", "2026-11-20T08:00", now)).toEqual(new Date(2026, 10, 20, 8));
  });
  test.each(["", "yesterday", "2026-11-18T14:00", "2027-11-18T14:00"])("%s is none", (text) => {
    expect(untilOf("other", text, now)).toBeNull();
  });
  test("a snooze that is over is none", () => {
    expect(isSnoozed({ snoozed_until: new Date(now).toISOString(), resolved_at: null }, now)).toBe(false);
    expect(isSnoozed({ snoozed_until: new Date(now + SNOOZE_MAX_MS).toISOString(), resolved_at: null }, now)).toBe(
      true,
    );
  });
});
