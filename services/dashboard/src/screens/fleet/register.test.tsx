// @vitest-environment happy-dom
/** Phones are registered and moved by lists; what is refused is named with its reason. */
import { act } from "react";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import { MovePhones } from "./move";
import { RegisterPhones } from "./register";
import { serialsFault } from "./serials";

let page: TestPage;

beforeEach(() => {
  page = new TestPage();
});

afterEach(() => {
  document.body.replaceChildren();
});

async function write(label: string, text: string): Promise<void> {
  const named = [...document.querySelectorAll("label")].find((one) => one.textContent === label);
  const field = document.getElementById(named?.htmlFor ?? "") as HTMLInputElement | HTMLTextAreaElement;
  const kind = field instanceof HTMLTextAreaElement ? HTMLTextAreaElement : HTMLInputElement;
  await act(async () => {
    Object.getOwnPropertyDescriptor(kind.prototype, "value")?.set?.call(field, text);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

const bodies = (path: string) => page.given.server.to(path).map((call) => JSON.parse(call.body ?? ""));

test("a pasted list is registered on a PC and in a group", async () => {
  await page.show("operator", <RegisterPhones close={() => {}} />);
  await write("Serial numbers", "serial0001, SERIAL0002\nSERIAL0001");
  await write("PC", "PC-09");
  await write("Group", "P1-G1");
  await page.press("Register 2 phones");
  await page.settle();
  const place = { pc_id: "PC-09", group_id: "P1-G1" };
  expect(bodies("/rest/v1/devices")).toEqual([
    [
      { serial_number: "SERIAL0001", ...place },
      { serial_number: "SERIAL0002", ...place },
    ],
  ]);
  expect(page.toasts.get()).toMatchObject([{ title: "2 phones registered." }]);
});

test("nothing is sent while a field is wrong", async () => {
  await page.show("operator", <RegisterPhones close={() => {}} />);
  await write("Serial numbers", "SHORT");
  await write("Group", "G1");
  await page.press("Register 1 phone");
  expect(page.text).toContain("Wrong: SHORT");
  expect(page.text).toContain("Like P1-G1");
  expect(page.text).toContain("1 to 64 letters");
  expect(bodies("/rest/v1/devices")).toEqual([]);
});

test("one that is registered already is named, and the others are registered", async () => {
  page.given.server.answers.set("/rest/v1/devices", () => {
    const message = "A device with this serial number is already registered";
    return Response.json({ code: "23505", message, details: { index: 0, accepted: [1] } }, { status: 409 });
  });
  await page.show("operator", <RegisterPhones close={() => {}} />);
  await write("Serial numbers", "SERIAL0001 SERIAL0002");
  await write("PC", "PC-09");
  await write("Group", "P1-G1");
  await page.press("Register 2 phones");
  await page.says("1 done. The others were refused:");
  expect(page.text).toContain("SERIAL0001A device with this serial number is already registered");
});

test("phones are moved: what is left empty stays", async () => {
  await page.show("operator", <MovePhones ids={["D1", "D2"]} close={() => {}} />);
  expect(page.text).toContain("Move 2 phones");
  await write("PC", "PC-02");
  await page.press("Move");
  await page.settle();
  expect(bodies("/rest/v1/devices?id=in.(D1,D2)")).toEqual([{ pc_id: "PC-02" }]);
});

test("a phone that is working is named", async () => {
  const working = { code: "CONFLICT", message: "The device is working; move it when its work has ended" };
  const refuse = (details: object) => () => Response.json({ ...working, details }, { status: 409 });
  page.given.server.answers.set("/rest/v1/devices?id=in.(D1,D2)", refuse({ id: "D1", accepted: ["D2"] }));
  page.given.server.answers.set("/rest/v1/devices?id=in.(D1)", refuse({}));
  await page.show("operator", <MovePhones ids={["D1", "D2"]} close={() => {}} />);
  await write("PC", "PC-02");
  await page.press("Move");
  await page.says("The device is working; move it when its work has ended");
});

test.each([
  [[], "none"],
  [["SERIAL0001"], null],
  [["SERIAL-01"], "bad"],
  [Array.from({ length: 501 }, (_, n) => `SERIAL${n}`), "many"],
])("%o: %s", (serials, kind) => {
  expect(serialsFault(serials)?.kind ?? null).toBe(kind);
});
