/** What a session is: a token for a while, and whose it is. Lives in memory only. */

export const ROLES = ["admin", "operator", "viewer"] as const;
export type Role = (typeof ROLES)[number];

export interface User {
  readonly id: string;
  readonly role: Role;
  /** How they are called here; an issuer need not tell it. */
  readonly email: string | null;
}

export interface Session {
  readonly token: string;
  readonly user: User;
  /** By the server's clock: the later of two sessions is the newer one. */
  readonly serverExpiresAt: number;
  /** Milliseconds of this machine's clock. Up to a second off, because the header `Date` counts whole seconds. */
  readonly expiresAt: number;
  /** For how long it was given. */
  readonly lifetimeMs: number;
}

/** Less than this left: it is renewed before anybody is refused. */
export const RENEW_BEFORE_MS = 5 * 60_000;

/**
 * When to renew it. A token that is given for less than ten minutes is renewed at half its life, else it would be
 * renewed all the time.
 */
export function renewAt(session: Session): number {
  return session.expiresAt - Math.min(RENEW_BEFORE_MS, session.lifetimeMs / 2);
}

/**
 * From an answer of sign-in or refresh. Clocks differ, so its life is counted from the server's clock (the header
 * `Date`) and then laid on ours. Null: it is no session.
 */
export function readSession(body: unknown, serverDate: string | null, now: number): Session | null {
  if (typeof body !== "object" || body === null) return null;
  const { access_token: token, expires_at: end, user } = body as Record<string, unknown>;
  const endsAt = typeof end === "number" ? end * 1000 : Date.parse(String(end));
  const known = readUser(user);
  if (typeof token !== "string" || token === "" || Number.isNaN(endsAt) || known === null) return null;
  const saidAt = serverDate === null ? Number.NaN : Date.parse(serverDate);
  const lifetimeMs = Math.max(0, endsAt - (Number.isNaN(saidAt) ? now : saidAt));
  return { token, user: known, serverExpiresAt: endsAt, expiresAt: now + lifetimeMs, lifetimeMs };
}

export function readUser(user: unknown): User | null {
  if (typeof user !== "object" || user === null) return null;
  const { id, role, email } = user as Record<string, unknown>;
  const known = ROLES.find((one) => one === role);
  if (typeof id !== "string" || known === undefined) return null;
  return { id, role: known, email: typeof email === "string" ? email : null };
}
