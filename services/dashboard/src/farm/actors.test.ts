/** Names instead of ids, and no address for those who may not see it. */
import { expect, test } from "vitest";
import { actorName, type Known, WORDS } from "./actors";

const PERSON = "018f2b5e-0000-7000-8000-0000abcd1234";
const PHONE = "018f2b5e-0000-7000-8000-00000000000a";
const known: Known = { ownId: "me", emails: new Map(), serial: (id) => (id === PHONE ? "SERIAL01" : undefined) };

test.each([
  ["user:me", "You"],
  [`user:${PERSON}`, "Person abcd1234"],
  [`device:${PHONE}`, "Phone SERIAL01"],
  ["device:018f2b5e-0000-7000-8000-0000000000ff", "Phone 000000ff"],
  ["service_role", "Service key"],
  ["cli", "Command line"],
  ["presence", "Presence monitor"],
  ["reminder:vm-18912", "Reminder service"],
  [`session:${PERSON}`, "Session abcd1234"],
  ["toString", "toString"],
  ["worker-7", "worker-7"],
  ["", ""],
])("%s is %s", (by, name) => {
  expect(actorName(WORDS.en.actors, known, by)).toBe(name);
});

test("whoever may see accounts sees addresses, and an erased person has none", () => {
  const admin = { ...known, emails: new Map([[PERSON, "kim@example.com"]]) };
  expect(actorName(WORDS.en.actors, admin, `user:${PERSON}`)).toBe("kim@example.com");
  expect(actorName(WORDS.en.actors, admin, "user:018f2b5e-0000-7000-8000-0000deadbeef")).toBe("Person deadbeef");
});
