/** A server of the session endpoints for tests: short tokens, one refresh cookie, and faults on request. */
import type { Fetch } from "../transport";

export const MINUTE_MS = 60_000;

/** What a call meets instead of its usual answer. */
export type Fault = "network" | number | readonly [status: number, code: string];

export interface Call {
  readonly path: string;
  readonly method: string;
  readonly token: string | null;
  readonly headers: Headers;
  readonly body: string | null;
}

export class FakeServer {
  readonly calls: Call[] = [];
  /** Faults of the next calls to a path, in turn. */
  readonly faults = new Map<string, Fault[]>();
  /** What a path is answered by, for those who are signed in. */
  readonly answers = new Map<string, () => Response>();
  lifetimeMs = 60 * MINUTE_MS;
  /** How much its clock is ahead. */
  clockAheadMs = 0;
  /** How long a refresh takes. */
  refreshMs = 20;
  isSessionAlive = true;
  user = { id: "user-1", role: "operator", email: "anna@example.com" };
  readonly #kept = new Map<string, Promise<void>>();
  #issued = 0;
  #good = new Set<string>();

  get now(): number {
    return Date.now() + this.clockAheadMs;
  }

  /** All tokens have expired; the cookie is as good as before. */
  expireTokens(): void {
    this.#good.clear();
  }

  /** The cookie is worth nothing any more. */
  endSession(): void {
    this.isSessionAlive = false;
    this.expireTokens();
  }

  fail(path: string, ...faults: Fault[]): void {
    this.faults.set(path, faults);
  }

  /** Answers to this path stay on their way until the function that is returned is called. */
  keepAnswersOf(path: string): () => void {
    const { promise, resolve } = withResolvers();
    this.#kept.set(path, promise);
    return () => {
      this.#kept.delete(path);
      resolve();
    };
  }

  to(path: string): Call[] {
    return this.calls.filter((call) => call.path === path);
  }

  readonly fetch: Fetch = async (path, init) => {
    const headers = new Headers(init.headers);
    const token = headers.get("Authorization")?.replace("Bearer ", "") ?? null;
    const body = typeof init.body === "string" ? init.body : null;
    this.calls.push({ path, method: init.method ?? "GET", token, headers, body });
    const fault = this.faults.get(path)?.shift();
    if (path === "/api/auth/refresh") await new Promise((resolve) => setTimeout(resolve, this.refreshMs));
    else await Promise.resolve();
    if (fault === "network") throw new TypeError("Failed to fetch");
    const [status, code] = typeof fault === "number" ? [fault, "FAULT"] : (fault ?? [null, ""]);
    const answer = status === null ? this.#answer(path, token, body) : this.#refuse(status, code, "for the test");
    await this.#kept.get(path);
    return answer;
  };

  #answer(path: string, token: string | null, body: string | null): Response {
    if (path === "/api/auth/sign-in") {
      if (JSON.parse(body ?? "{}").password !== "right") return this.#refuse(401, "INVALID_CREDENTIALS", "No");
      this.isSessionAlive = true;
      return this.#session();
    }
    if (path === "/api/auth/refresh") {
      return this.isSessionAlive ? this.#session() : this.#refuse(401, "UNAUTHORIZED", "No session");
    }
    if (path === "/api/auth/sign-out") {
      this.endSession();
      return new Response(null, { status: 204 });
    }
    if (token === null) return this.#refuse(401, "UNAUTHORIZED", "Missing token");
    if (token === "tampered") return this.#refuse(401, "INVALID_TOKEN", "Invalid authentication token");
    if (!this.#good.has(token)) return this.#refuse(401, "TOKEN_EXPIRED", "Please refresh your token");
    return this.answers.get(path)?.() ?? Response.json({ path, token });
  }

  #session(): Response {
    const token = `token-${++this.#issued}`;
    this.#good.add(token);
    const expires_at = new Date(this.now + this.lifetimeMs).toISOString();
    return Response.json(
      { access_token: token, expires_at, user: this.user },
      { headers: { Date: new Date(this.now).toUTCString() } },
    );
  }

  #refuse(status: number, error: string, message: string): Response {
    return Response.json({ error, message }, { status });
  }
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
