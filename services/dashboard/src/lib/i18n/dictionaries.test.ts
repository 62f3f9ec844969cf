/** Both languages say everything, and the seeds' Korean is untouched. That no key is missing is the compiler's to see. */
import { describe, expect, test } from "vitest";
import { WORDS as PALETTE } from "@/app/palette-text";
import { WORDS as ACTORS } from "@/farm/actors";
import { WORDS as ERASE } from "@/farm/erase";
import { WORDS as OPERATE } from "@/farm/operate-words";
import { sentence } from "@/farm/why";
import { WORDS as WHY, workSentence } from "@/farm/work-why";
import { WORDS as HANDLING } from "@/screens/alerts/handled";
import { WORDS as ANALYSES } from "@/screens/analyses/words";
import { WORDS as AUDIT } from "@/screens/audit/words";
import { WORDS as EVENTS } from "@/screens/events/words";
import { WORDS as EVIDENCE } from "@/screens/fleet/evidence-words";
import { WORDS as KEYS } from "@/screens/keys/words";
import { WORDS as REMINDERS } from "@/screens/reminders/words";
import { WORDS as CHARTS } from "@/ui/chart-text";
import { WORDS as TABLES } from "@/ui/table-text";
import { SESSION_EXPIRED, SIGN_IN_AND_TRY_AGAIN } from "../session/messages";
import { en } from "./en";
import { ko } from "./ko";
import { type Names, REASON_CODES } from "./reasons";
import { WORK_REASON_CODES, type WorkNames } from "./work-reasons";

const NAMES: Names = { job: () => "Launch", device: () => "SERIAL01", time: () => "09:00" };

const WORK: WorkNames = { time: () => "09:00", stage: () => "Rendering", fault: () => "NAS unreachable" };

describe.each([
  [
    "English",
    {
      ...en,
      ...ACTORS.en,
      ...ANALYSES.en,
      ...AUDIT.en,
      ...CHARTS.en,
      ...ERASE.en,
      ...EVENTS.en,
      ...EVIDENCE.en,
      ...HANDLING.en,
      ...KEYS.en,
      ...OPERATE.en,
      ...PALETTE.en,
      ...REMINDERS.en,
      ...TABLES.en,
      ...WHY.en,
    },
  ],
  [
    "Korean",
    {
      ...ko,
      ...ACTORS.ko,
      ...ANALYSES.ko,
      ...AUDIT.ko,
      ...CHARTS.ko,
      ...ERASE.ko,
      ...EVENTS.ko,
      ...EVIDENCE.ko,
      ...HANDLING.ko,
      ...KEYS.ko,
      ...OPERATE.ko,
      ...PALETTE.ko,
      ...REMINDERS.ko,
      ...TABLES.ko,
      ...WHY.ko,
    },
  ],
])("%s", (_, t) => {
  test.each(REASON_CODES)("has a sentence for %s, also when nothing else is told", (code) => {
    const said = t.reasons[code]({ code }, NAMES);
    expect(said).not.toMatch(/undefined|null|NaN|\[object/);
    expect(said.length).toBeGreaterThan(5);
  });

  test.each(WORK_REASON_CODES)("has a sentence for %s of /api/why, also when nothing else is told", (code) => {
    const said = workSentence(t, { sentence: "the server's", data: { code } }, WORK);
    expect(said).not.toMatch(/undefined|null|NaN|\[object|the server's/);
    expect(said.length).toBeGreaterThan(5);
  });

  test("a reason that this page does not know is said in the server's words", () => {
    expect(sentence(t, { sentence: "A new one.", data: { code: "brand_new" } }, NAMES)).toBe("A new one.");
    expect(workSentence(t, { sentence: "A new one.", data: { code: "brand_new" } }, WORK)).toBe("A new one.");
    expect(sentence(t, { sentence: "Odd.", data: { code: "toString" } }, NAMES)).toBe("Odd.");
  });

  test("no word is empty, but for the reason that needs none", () => {
    const empty: string[] = [];
    walk(t, "", (path, value) => value === "" && empty.push(path));
    expect(empty).toEqual([".queue.endReasons.done"]);
  });
});

test("SY-10, SY-12: in Korean the session's messages are the seed's, word for word", () => {
  expect(ko.session.expired).toBe(SESSION_EXPIRED);
  expect(ko.session.expiredInAction).toBe(SIGN_IN_AND_TRY_AGAIN);
});

test("every code of rpc/why that is documented has its sentence", async () => {
  const { readFileSync } = await import("node:fs");
  const docs = readFileSync(new URL("../../../../../docs/operating-the-farm.md", import.meta.url), "utf8");
  const table = docs.slice(docs.indexOf("| about | codes |")).split("\n\n")[0] ?? "";
  const codes = [...table.matchAll(/`([a-z_]+)`/g)].map((match) => match[1]);
  expect(codes.length).toBeGreaterThan(20);
  expect(codes.filter((code) => !REASON_CODES.some((known) => known === code))).toEqual([]);
  const work = docs.slice(docs.indexOf("| of | codes of `/api/why` |")).split("\n\n")[0] ?? "";
  const workCodes = [...work.matchAll(/`([a-z_]+)`/g)].map((match) => match[1]);
  expect(workCodes.toSorted()).toEqual(WORK_REASON_CODES.toSorted());
});

function walk(value: unknown, path: string, see: (path: string, value: unknown) => void): void {
  if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) walk(inner, `${path}.${key}`, see);
  } else see(path, value);
}
