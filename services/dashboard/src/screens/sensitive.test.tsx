// @vitest-environment happy-dom
/** Each sensitive action of a screen, whose session ends before it is done: it is held, and done after a sign-in. */
import { act, type ReactNode } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HeldActionDialog } from "@/app/held-action-dialog";
import { TestPage } from "@/app/testing";
import { Erase } from "@/farm/erase";
import type { KeyRecord } from "@/lib/api/schema";
import type { Device } from "@/lib/live/fleet";
import type { CompositionRow } from "@/lib/rest/render-rows";
import type { JobRow } from "@/lib/rest/rows";
import { RunNow } from "./analyses/run-now";
import { UserPanel } from "./analyses/user-panel";
import { Reset } from "./fleet/device-panel";
import { Revoke } from "./keys/keys";
import { BulkActions, JobActions } from "./queue/actions";
import { RenderActions } from "./renders/actions";
import { Remove } from "./renders/composition";
import type { Render } from "./renders/render";
import { AccountPanel } from "./system/account-panel";
import { NewAccount } from "./system/accounts";
import { ChangePassword } from "./system/change-password";
import { EndOthers, SessionList } from "./system/sessions";

let page: TestPage;
const nothing = () => {};
const job = (id: string) => ({ id, title: "Launch", status: "active", is_active: true }) as JobRow;
const TIME = "2026-01-01T00:00:00Z";
const times = { started_at: TIME, last_used_at: TIME, expires_at: TIME };
const session = { id: "s2", user_agent: "Firefox", current: false, ...times };
const account = {
  id: "a1",
  email: "ben@example.com",
  role: "viewer",
  disabled: false,
  created_at: TIME,
  last_sign_in_at: null,
};
const composition = { id: "c1", name: "Intro", fields: 2 } as CompositionRow;
const user = {
  id: "user_ann",
  tier: "free",
  remaining_tests: 1,
  frozen: false,
  created_at: TIME,
  granted: 1,
  adjusted: 0,
  charged: 0,
  refunded: 0,
};

interface Action {
  readonly shown: ReactNode;
  /** What is pressed before the session ends. */
  readonly first?: readonly string[];
  readonly press: string;
  readonly fills?: Record<string, string>;
  readonly call: string;
}

const ACTIONS: Record<string, Action> = {
  "cancel a job": {
    shown: <JobActions job={job("J1")} />,
    first: ["Cancel"],
    press: "Cancel the job",
    call: "PATCH /rest/v1/jobs?id=in.(J1)",
  },
  "cancel jobs in bulk": {
    shown: <BulkActions jobs={[job("J1"), job("J2")]} done={nothing} />,
    first: ["Cancel 2"],
    press: "Cancel 2 jobs",
    call: "PATCH /rest/v1/jobs?id=in.(J1,J2)",
  },
  "cancel a render": {
    shown: <RenderActions render={{ id: "41", status: "pending" } as Render} />,
    first: ["Cancel"],
    press: "Cancel the render",
    call: "PATCH /rest/v1/render_queue?id=in.(41)",
  },
  "erase a user": {
    shown: <Erase what="users" id="kim" name="kim" />,
    first: ["Erase…"],
    press: "Erase this user",
    call: "POST /api/erasures/users/kim",
  },
  "revoke an API key": {
    shown: <Revoke of={{ id: "k1", name: "office", role: "service_role" } as KeyRecord} close={nothing} />,
    press: "Revoke the key",
    call: "DELETE /api/keys/k1",
  },
  "delete a composition": {
    shown: <Remove composition={composition} removed={nothing} />,
    first: ["Delete"],
    press: "Delete the composition",
    call: "DELETE /rest/v1/aep_compositions?",
  },
  "reset a device": {
    shown: <Reset device={{ id: "d1", serial: "R58M" } as Device} />,
    press: "Reset",
    call: "PATCH /rest/v1/devices?id=in.(d1)",
  },
  "end another session": {
    shown: <SessionList sessions={[session]} />,
    press: "Sign out",
    call: "DELETE /api/auth/sessions/s2",
  },
  "end all other sessions": {
    shown: <EndOthers sessions={[session]} />,
    press: "Sign out all others",
    call: "DELETE /api/auth/sessions",
  },
  "change one's password": {
    shown: <ChangePassword close={nothing} />,
    fills: { "current-password": "old", "new-password": "new" },
    press: "Change password",
    call: "POST /api/auth/password",
  },
  "create an account": {
    shown: <NewAccount close={nothing} created={nothing} />,
    fills: { off: "cat@example.com", "new-password": "new" },
    press: "Create",
    call: "POST /api/accounts",
  },
  "disable an account": {
    shown: <AccountPanel id="a1" close={nothing} />,
    first: ["Disable"],
    press: "Disable",
    call: "PATCH /api/accounts/a1",
  },
  "erase the person of an account": {
    shown: <AccountPanel id="a1" close={nothing} />,
    first: ["Erase…"],
    press: "Erase this user",
    call: "POST /api/erasures/users/a1",
  },
  "end all sessions of an account": {
    shown: <AccountPanel id="a1" close={nothing} />,
    press: "Sign out all",
    call: "DELETE /api/accounts/a1/sessions",
  },
  "clean up now": {
    shown: <RunNow isAsking ask={nothing} openRun={nothing} />,
    press: "Clean up now",
    call: "POST /api/saju/cleanup-runs",
  },
  "freeze a user": {
    shown: <UserPanel id="user_ann" openTest={nothing} close={nothing} />,
    press: "Freeze",
    call: "PATCH /api/saju/users/user_ann",
  },
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  page = new TestPage();
  const { answers } = page.given.server;
  answers.set("/api/accounts", () => Response.json({ accounts: [account] }));
  answers.set("/rest/v1/aep_compositions?order=id&limit=1000", () => Response.json([composition]));
  answers.set("/rest/v1/users?id=eq.user_ann", () => Response.json([user]));
  answers.set("/rest/v1/test_ledger?user_id=eq.user_ann&order=id.desc&limit=50", () => Response.json([]));
  answers.set("/api/accounts/a1/sessions", () => Response.json({ sessions: [session] }));
});

afterEach(() => {
  vi.useRealTimers();
  document.body.replaceChildren();
});

async function fill(autocomplete: string, text: string): Promise<void> {
  const input = document.querySelector<HTMLInputElement>(`input[autocomplete="${autocomplete}"]`);
  if (input === null) throw new Error(`There is no field for ${autocomplete}`);
  await act(async () => {
    // React ignores a value that was set by its own property.
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set?.call(input, text);
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

/** The last one of that name: a question stands above the button that opened it. */
async function pressLast(name: string): Promise<void> {
  const called = () =>
    [...document.querySelectorAll("button")].filter(
      (one) => (one.getAttribute("aria-label") ?? one.textContent) === name,
    );
  await page.until(() => {
    if (called().length === 0) throw new Error(`There is no button ${name}, but ${page.buttons().join(", ")}`);
  });
  await act(async () => called().at(-1)?.click());
  await page.settle();
}

test.each(Object.entries(ACTIONS))("SY-12: %s", async (_, { shown, first = [], fills = {}, press, call }) => {
  const [method, path = ""] = call.split(" ");
  const made = () => page.given.server.calls.filter((one) => one.method === method && one.path.startsWith(path));
  await page.show(
    "admin",
    <>
      {shown}
      <HeldActionDialog />
    </>,
  );
  await page.settle();
  for (const name of first) await pressLast(name);
  for (const [field, text] of Object.entries(fills)) await fill(field, text);
  page.given.server.endSession();
  await pressLast(press);
  await page.says("세션이 만료되었습니다. 로그인 후 다시 시도해주세요.");
  const refused = made().length;

  await page.write("email", "anna@example.com");
  await page.write("password", "right");
  await pressLast("Sign in");
  expect(made()).toHaveLength(refused);
  await pressLast("Run it now");
  await page.until(() => expect(made()).toHaveLength(refused + 1));
  expect(page.tab?.pages).toEqual([]);
});
