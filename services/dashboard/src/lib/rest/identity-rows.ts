/** Accounts and sessions as `/api/accounts` and `/api/auth` answer them; and how dependencies are. */
import type { Role } from "../session/session";

export interface SessionRow {
  readonly id: string;
  readonly user_agent: string | null;
  readonly started_at: string;
  readonly last_used_at: string;
  readonly expires_at: string;
  /** The one that asks. Of another person's sessions nobody says. */
  readonly current?: boolean;
}

export interface AccountRow {
  readonly id: string;
  /** Null: it cannot be opened with the keys that there are. */
  readonly email: string | null;
  readonly role: Role;
  readonly disabled: boolean;
  readonly created_at: string;
  readonly last_sign_in_at: string | null;
}

export interface SystemHealth {
  readonly status: "healthy" | "unhealthy";
  readonly version: string;
  readonly services: Readonly<Record<string, string>>;
}
