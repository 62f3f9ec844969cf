/** Alerts of the same kind are told apart by what they are about. */
import { expect, test } from "vitest";
import { FleetStore } from "@/lib/live/fleet";
import { Frames } from "@/lib/live/frame";
import type { AlertRow, JobRow } from "@/lib/rest/rows";
import { alertSubject } from "./alert-text";

const about = (subject: string, context = "fleet") => ({ subject, context }) as AlertRow;

test("a phone, a PC and a job are called as people call them, and others are not guessed", () => {
  const fleet = new FleetStore(new Frames((flush) => flush()));
  fleet.devices.set("D1", { id: "D1", serial: "SERIAL01" } as never);
  fleet.pcs.set("PC-01", { id: "PC-01" } as never);
  fleet.jobs.set("J1", { id: "J1", title: "Launch" } as JobRow);
  fleet.jobs.set("J2", { id: "J2", title: null } as JobRow);
  const named = ["D1", "PC-01", "J1", "J2", "35"].map((subject) => alertSubject(fleet, about(subject)));
  expect(named).toEqual(["SERIAL01", "PC-01", "Launch", null, null]);
  expect(alertSubject(fleet, about("35", "render"))).toBe("#35");
});
