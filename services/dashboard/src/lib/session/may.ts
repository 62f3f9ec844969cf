/** What a role may do here. The server decides (`web/permissions.py`); this only keeps buttons away that it would refuse. */
import type { Role } from "./session";

export const ACTIONS = [
  "create-job",
  "change-job",
  "cancel-assignment",
  "reset-device",
  "register-device",
  "move-device",
  "handle-alerts",
  "change-pc",
  "create-render",
  "change-render",
  "change-mapping",
  "see-gfx-data",
  "see-films",
  "run-cleanup",
  "see-alarms",
  "manage-accounts",
  "change-users",
  "see-audit",
  "erase",
  "manage-keys",
] as const;
export type Action = (typeof ACTIONS)[number];

/** What only administrators may. */
const OFFICE: readonly Action[] = ["manage-accounts", "change-users", "see-audit", "erase", "manage-keys"];

const TABLE: Record<Role, readonly Action[]> = {
  admin: ACTIONS,
  operator: ACTIONS.filter((action) => !OFFICE.includes(action)),
  viewer: [],
};

export function may(role: Role, action: Action): boolean {
  return TABLE[role].includes(action);
}
