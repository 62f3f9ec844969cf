/**
 * The way to the server for somebody who is signed in: attaches the token, renews it, and knows what to do when that
 * fails. Knows no screen: where people are sent and what they are told goes through its ports.
 */
import { debug } from "../debug/debug";
import { type ApiError, NetworkError, ReplayFailed, refusal, SessionExpired } from "./errors";
import { HeldActions } from "./held";
import { SIGN_IN_EXPIRED_PATH, SIGN_IN_PATH } from "./messages";
import { Observable } from "./observable";
import { readSession, renewAt, type Session, type User } from "./session";
import type { TabMessage, Tabs } from "./tabs";
import { CSRF_HEADER, type Fetch, isAway, isTokenExpired, send } from "./transport";

/** Before the one retry of a refresh that the network swallowed. */
export const TRANSPORT_RETRY_MS = 1_000;
/** Between two tries to renew ahead of time while the server is away. The token is good meanwhile. */
export const RENEW_AGAIN_MS = 30_000;
/** `setTimeout` takes no more. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export type SessionState =
  /** Not asked yet whether the cookie is good. */
  | { readonly status: "unknown" }
  | { readonly status: "signed-in"; readonly user: User }
  | { readonly status: "signed-out" }
  /** Over, but a sensitive action waits for somebody to sign in: nobody is sent away. */
  | { readonly status: "expired"; readonly user: User };

/** What a person should see for a moment. */
export type Notice = "session-expired" | "refresh-unreachable";

export interface Ports {
  readonly fetch: Fetch;
  readonly tabs: Tabs;
  /** Goes to another page of the dashboard. */
  readonly leave: (path: string) => void;
  readonly tell: (notice: Notice) => void;
}

/** The session was not renewed. */
class NotRenewed extends Error {
  constructor(readonly why: "refused" | "unreachable") {
    super(why);
  }
}

const log = debug("session");

export class SessionClient {
  readonly state = new Observable<SessionState>({ status: "unknown" });
  readonly held = new HeldActions();

  readonly #ports: Ports;
  #session: Session | null = null;
  #refreshing: Promise<Session> | null = null;
  #renewal: ReturnType<typeof setTimeout> | undefined;
  #sensitive = 0;

  constructor(ports: Ports) {
    this.#ports = ports;
    ports.tabs.listen((message) => this.#hear(message));
    this.held.subscribe(() => this.#leaveIfNothingIsHeld());
  }

  /** Takes up the session that the cookie stands for, if there is one. Rejects while the server is away. */
  async restore(): Promise<void> {
    try {
      await this.#refresh(this.#session);
    } catch (error) {
      if (error instanceof NotRenewed && error.why === "refused") this.#end();
      else throw new NetworkError("The server does not answer");
    }
  }

  async signIn(email: string, password: string): Promise<User> {
    const answer = await send(this.#ports.fetch, "/api/auth/sign-in", {
      method: "POST",
      headers: { "Content-Type": "application/json", ...CSRF_HEADER },
      body: JSON.stringify({ email, password }),
    });
    const session = await this.#read(answer);
    this.#adopt(session);
    this.#ports.tabs.tell({ kind: "session", session });
    return session.user;
  }

  /** Because somebody asked for it. */
  async signOut(): Promise<void> {
    const token = this.#session?.token;
    this.#end();
    this.#ports.tabs.tell({ kind: "signed-out", why: "asked" });
    this.#ports.leave(SIGN_IN_PATH);
    // The server ends the session; where it cannot be reached, this browser has forgotten it all the same.
    const told = send(this.#ports.fetch, "/api/auth/sign-out", { method: "POST", headers: CSRF_HEADER }, token);
    await told.catch(() => undefined);
  }

  /** The answer, if it is a good one. Rejects with `ApiError`, `NetworkError`, `SessionExpired` or `ReplayFailed`. */
  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const session = this.#session ?? (await this.#underWay());
    const answer = await send(this.#ports.fetch, path, init, session.token);
    if (!(await isTokenExpired(answer))) return good(answer);
    const renewed = await this.#renewOrLeave(session);
    return this.#replay(path, init, renewed);
  }

  async json<T>(path: string, init: RequestInit = {}): Promise<T> {
    return (await (await this.request(path, init)).json()) as T;
  }

  /**
   * Runs what must not be lost when the session ends under it: then it waits for a sign-in and is offered again.
   * It may be run twice, so what it sends must bear that (`Idempotency-Key`).
   */
  async sensitive<T>(label: string, run: () => Promise<T>): Promise<T> {
    this.#sensitive++;
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof SessionExpired)) throw error;
      return this.held.hold(label, () => this.sensitive(label, run));
    } finally {
      this.#sensitive--;
      this.#leaveIfNothingIsHeld();
    }
  }

  /**
   * Somebody is about to do something sensitive: until the function that is returned is called, a session that ends
   * sends nobody away. What they had chosen is still there when they do it.
   */
  prepareSensitive(): () => void {
    this.#sensitive++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#sensitive--;
      this.#leaveIfNothingIsHeld();
    };
  }

  /** Renews it if it is time: for a tab that wakes up, whose timers slept with it. */
  renewIfDue(): void {
    if (this.#session !== null && Date.now() >= renewAt(this.#session)) void this.#renewAhead();
  }

  async #underWay(): Promise<Session> {
    if (this.#refreshing === null) throw new SessionExpired();
    return this.#refreshing.catch(() => {
      throw new SessionExpired();
    });
  }

  async #replay(path: string, init: RequestInit, session: Session): Promise<Response> {
    const retry = () => this.request(path, init);
    let answer: Response;
    try {
      answer = await send(this.#ports.fetch, path, init, session.token);
    } catch (error) {
      throw error instanceof NetworkError ? new ReplayFailed(error, retry) : error;
    }
    if (answer.status === 401 || isAway(answer)) throw new ReplayFailed(await refusal(answer), retry);
    return good(answer);
  }

  /** For a request that was refused: without a new token there is no session any more. */
  async #renewOrLeave(stale: Session): Promise<Session> {
    try {
      return await this.#refresh(stale);
    } catch (error) {
      // Many may wait for the same refresh: the first one to hear of its end leaves for all of them.
      if (this.#session === stale) this.#expire(error instanceof NotRenewed ? error.why : "unreachable");
      throw new SessionExpired();
    }
  }

  /** One at a time, however many ask; none, if `stale` has been replaced in the meantime. */
  #refresh(stale: Session | null): Promise<Session> {
    this.#refreshing ??= this.#ports.tabs
      .exclusively(async () => {
        // Done meanwhile: by another tab while this one waited for its turn, or before this call came back.
        if (this.#session !== null && this.#session !== stale) return this.#session;
        const session = await this.#fetchSession();
        this.#adopt(session);
        this.#ports.tabs.tell({ kind: "session", session });
        return session;
      })
      .finally(() => {
        this.#refreshing = null;
      });
    return this.#refreshing;
  }

  async #fetchSession(): Promise<Session> {
    for (let isLast = false; ; isLast = true) {
      try {
        const answer = await send(this.#ports.fetch, "/api/auth/refresh", { method: "POST", headers: CSRF_HEADER });
        if (isAway(answer)) throw new NetworkError(`HTTP ${answer.status}`);
        return await this.#read(answer);
      } catch (error) {
        log("refresh failed", error);
        if (!(error instanceof NetworkError)) throw new NotRenewed("refused");
        if (isLast) throw new NotRenewed("unreachable");
        await new Promise((resolve) => setTimeout(resolve, TRANSPORT_RETRY_MS));
      }
    }
  }

  async #read(answer: Response): Promise<Session> {
    if (!answer.ok) throw await refusal(answer);
    const body: unknown = await answer.json().catch(() => null);
    const session = readSession(body, answer.headers.get("Date"), Date.now());
    if (session === null) throw new NetworkError("The answer is no session"); // somebody else's, in between
    return session;
  }

  #adopt(session: Session): void {
    this.#session = session;
    this.#renewAt(renewAt(session) + this.#ports.tabs.lagMs);
    this.state.set({ status: "signed-in", user: session.user });
  }

  #renewAt(at: number): void {
    clearTimeout(this.#renewal);
    const wait = Math.min(Math.max(0, at - Date.now()), TIMER_MAX_MS);
    this.#renewal = setTimeout(() => this.#renewAhead(), wait);
  }

  /** Nobody was refused yet: while the server is away there is time to try again; a refusal is final. */
  async #renewAhead(): Promise<void> {
    const stale = this.#session;
    if (stale === null) return;
    try {
      await this.#refresh(stale);
    } catch (error) {
      if (this.#session !== stale) return;
      if (error instanceof NotRenewed && error.why === "refused") this.#expire("refused");
      else this.#renewAt(Date.now() + RENEW_AGAIN_MS);
    }
  }

  #expire(why: "refused" | "unreachable"): void {
    // Where the server is merely out of reach, other tabs find out for themselves.
    if (why === "refused") this.#ports.tabs.tell({ kind: "signed-out", why: "expired" });
    else this.#ports.tell("refresh-unreachable");
    this.#lapse(why === "refused");
  }

  /** The session is over: away, unless a sensitive action must be kept for whoever signs in again. */
  #lapse(tell: boolean): void {
    const user = this.#session?.user;
    this.#forget();
    if (user !== undefined && this.#mustStay()) {
      this.state.set({ status: "expired", user });
    } else {
      if (tell) this.#ports.tell("session-expired");
      this.#end();
      this.#ports.leave(SIGN_IN_EXPIRED_PATH);
    }
  }

  #mustStay(): boolean {
    return this.#sensitive > 0 || this.held.get().length > 0;
  }

  #leaveIfNothingIsHeld(): void {
    if (this.state.get().status !== "expired" || this.#mustStay()) return;
    this.#end();
    this.#ports.leave(SIGN_IN_EXPIRED_PATH);
  }

  #hear(message: TabMessage): void {
    if (message.kind === "session") {
      if (this.#isNews(message.session)) this.#adopt(message.session);
    } else if (message.why === "asked") {
      if (this.state.get().status === "signed-out") return;
      this.#end();
      this.#ports.leave(SIGN_IN_PATH);
    } else if (this.#session !== null) {
      this.#lapse(true);
    }
  }

  /** Messages of tabs may cross. Another person's session is news: the cookie is theirs now. */
  #isNews(other: Session): boolean {
    const own = this.#session;
    return own === null || other.user.id !== own.user.id || other.serverExpiresAt >= own.serverExpiresAt;
  }

  #end(): void {
    this.#forget();
    this.state.set({ status: "signed-out" });
    for (const action of this.held.get()) action.abandon();
  }

  #forget(): void {
    clearTimeout(this.#renewal);
    this.#session = null;
  }
}

async function good(answer: Response): Promise<Response> {
  if (answer.ok) return answer;
  const error: ApiError = await refusal(answer);
  throw error;
}
