// @vitest-environment happy-dom
/** The question before a key is revoked. */
import { afterEach, expect, test } from "vitest";
import { TestPage } from "@/app/testing";
import type { KeyRecord } from "@/lib/api/schema";
import type { Device } from "@/lib/live/fleet";
import { Revoke } from "./keys";

const PHONE = "018f2b5e-0000-7000-8000-00000000000a";

afterEach(() => document.body.replaceChildren());

test.each([
  ["device", PHONE, "PC-01 (device SERIAL0001)"],
  ["service_role", null, "PC-01 (service_role)"],
])("it names the phone of a key, because all keys of an enrolment have one name: %s", async (role, device_id, said) => {
  const page = new TestPage();
  page.live.fleet.devices.set(PHONE, { id: PHONE, serial: "SERIAL0001" } as Device);
  const key = { id: "k1", name: "PC-01", role, device_id } as KeyRecord;
  await page.show("admin", <Revoke of={key} close={() => {}} />);
  expect(page.text).toContain(said);
});
