/** Which racks are shown, in which order. */
import { beforeEach, expect, test } from "vitest";
import { deviceOf, FleetStore, type Shown } from "@/lib/live/fleet";
import { Frames } from "@/lib/live/frame";
import type { DeviceRow, DeviceStatus } from "@/lib/rest/rows";
import { rackHeight, racksInRow } from "./layout";
import { isMeant, select, type Wish } from "./select";

let fleet: FleetStore;

beforeEach(() => {
  fleet = new FleetStore(new Frames(() => {}));
});

function given(pc: string, ...statuses: DeviceStatus[]): void {
  fleet.pcs.set(pc, { id: pc, capacity: 20, heldUntil: null });
  statuses.forEach((status, n) => {
    const error_code = status === "error" ? "APP_CRASH" : null;
    const row = { id: `${pc}-${n}`, serial_number: `${pc}S${n}`, group_id: "P1-G1", pc_id: pc, status, error_code };
    fleet.putDevice(deviceOf({ ...row, held_until: null } as unknown as DeviceRow));
  });
}

const wish = (change: Partial<Wish> = {}): Wish => ({ text: "", shown: new Set<Shown>(), sort: "name", ...change });

test("all, by name as people count: PC-2 before PC-10", () => {
  given("PC-10", "online");
  given("PC-2", "online");
  expect(select(fleet, wish())).toEqual({ pcs: ["PC-2", "PC-10"], devices: 2 });
});

test("a PC without phones is shown, unless something is looked for", () => {
  given("PC-1");
  expect(select(fleet, wish()).pcs).toEqual(["PC-1"]);
  expect(select(fleet, wish({ text: "x" })).pcs).toEqual([]);
});

test("states: racks with at least one, and how many are meant", () => {
  given("PC-1", "online", "error");
  given("PC-2", "online");
  expect(select(fleet, wish({ shown: new Set<Shown>(["error"]) }))).toEqual({ pcs: ["PC-1"], devices: 1 });
});

test("a text may be of a serial number, a PC or a group", () => {
  given("PC-1", "online");
  given("PC-2", "online");
  expect(select(fleet, wish({ text: "pc-2s0" })).pcs).toEqual(["PC-2"]);
  expect(select(fleet, wish({ text: "pc-1" })).pcs).toEqual(["PC-1"]);
  expect(select(fleet, wish({ text: "p1-g1" })).pcs).toEqual(["PC-1", "PC-2"]);
});

test("trouble first, errors before phones that are away", () => {
  given("PC-1", "online");
  given("PC-2", "offline", "offline");
  given("PC-3", "error");
  expect(select(fleet, wish({ sort: "trouble" })).pcs).toEqual(["PC-3", "PC-2", "PC-1"]);
});

test("phones that are not meant stay in their place and are dimmed", () => {
  given("PC-1", "online", "error");
  const errors = wish({ shown: new Set<Shown>(["error"]) });
  expect(fleet.devicesOf("PC-1").map((id) => isMeant(fleet.devices.get(id) as never, errors))).toEqual([false, true]);
});

test("as many racks side by side as fit, at least one, and higher for more phones", () => {
  expect(racksInRow("comfortable", 100)).toBe(1);
  expect(racksInRow("compact", 1200)).toBeGreaterThan(racksInRow("comfortable", 1200));
  expect(rackHeight("comfortable", 40)).toBeGreaterThan(rackHeight("comfortable", 20));
  expect(rackHeight("comfortable", 3)).toBe(rackHeight("comfortable", 20));
});
