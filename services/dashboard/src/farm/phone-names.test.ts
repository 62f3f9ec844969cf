/** People write phones as they have them: from a sheet, a chat, or a list. */
import { expect, test } from "vitest";
import { FleetStore } from "@/lib/live/fleet";
import { Frames } from "@/lib/live/frame";
import { findPhones, namesIn } from "./phone-names";

const ID = "00000000-0000-7000-8000-000000000001";

function fleet(): FleetStore {
  const store = new FleetStore(new Frames(() => {}));
  store.putDevice({ id: ID, serial: "SERIAL01", pc: "PC-1" } as never);
  store.putDevice({ id: "D2", serial: "SERIAL02", pc: "PC-1" } as never);
  return store;
}

test("names stand between spaces, commas, semicolons and lines, and count once", () => {
  expect(namesIn(" A1,B2;\tC3\n\nA1 ")).toEqual(["A1", "B2", "C3"]);
  expect(namesIn(" \n ")).toEqual([]);
});

test("a phone is found by its serial number, also in small letters, and by its id", () => {
  expect(findPhones(fleet(), `serial02\n${ID.toUpperCase()}, SERIAL01`)).toEqual({ ids: ["D2", ID], unknown: [] });
});

test("what is no phone is named", () => {
  expect(findPhones(fleet(), "SERIAL01 SERIAL99 toString")).toEqual({ ids: [ID], unknown: ["SERIAL99", "toString"] });
});
