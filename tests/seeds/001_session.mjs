// 001: the browser's API client with Clerk's session tokens: attach, refresh once on TOKEN_EXPIRED, retry.
import assert from "node:assert/strict";
import { connect, step } from "./steps.mjs";

const { SUPABASE_URL, SUPABASE_SERVICE_ROLE_KEY, CLERK_URL } = process.env;
const USER = "user_session1";
const HISTORY = "/saju/tests";

/** Clerk's useAuth(): a session that keeps its token until it is told to fetch another one. */
class Session {
  refreshes = 0;
  signedOut = false;
  #refreshing = null;

  constructor(token) {
    this.token = token;
  }

  async getToken({ forceRefresh = false } = {}) {
    if (forceRefresh) {
      // The first call refreshes, the others wait for it (2.3, edge cases).
      this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = null));
      await this.#refreshing;
    }
    return this.token;
  }

  async #refresh() {
    this.refreshes += 1;
    this.token = await issued({ sub: USER });
  }
}

/** A token of Clerk, which has iss, sub, azp, sid, iat, nbf and exp, but no aud. */
async function issued(claims) {
  const answer = await fetch(`${CLERK_URL}/token?${new URLSearchParams(claims)}`);
  assert.equal(answer.status, 200, "Clerk has no such session");
  return answer.text();
}

const call = (path, token) =>
  fetch(`${SUPABASE_URL}/api${path}`, { headers: token ? { Authorization: `Bearer ${token}` } : {} });
const refused = async (answer) => [answer.status, ...Object.values(await answer.json()).slice(0, 2)];

/** The interceptors of 2.4. */
async function get(path, session, isRetry = false) {
  const used = await session.getToken();
  const answer = await call(path, used);
  if (answer.status !== 401 || isRetry || (await answer.clone().json()).error !== "TOKEN_EXPIRED") return answer;
  try {
    // Another request may have refreshed it meanwhile.
    if (session.token === used) await session.getToken({ forceRefresh: true });
  } catch {
    session.signedOut = true; // window.location.href = '/sign-in?error=session_expired'
    return answer;
  }
  return get(path, session, true);
}

const service = connect(SUPABASE_SERVICE_ROLE_KEY);
await step("2.3", "given a user", async () => {
  const { error, status } = await service.from("users").insert({ id: USER, remaining_tests: 3 });
  assert.equal(error, null, `${status} ${error?.code} ${error?.message}`);
});

await step("2.5", "no token is UNAUTHORIZED", async () => {
  assert.deepEqual(await refused(await call(HISTORY)), [401, "UNAUTHORIZED", "Missing token"]);
});

await step("2.5", "something else is INVALID_TOKEN", async () => {
  assert.deepEqual(await refused(await call(HISTORY, "not.a.token")), [401, "INVALID_TOKEN", "Invalid authentication token"]);
});

await step("2.5", "a token of another issuer is INVALID_TOKEN", async () => {
  const token = await issued({ sub: USER, iss: "https://other.example.com" });
  assert.deepEqual(await refused(await call(HISTORY, token)), [401, "INVALID_TOKEN", "Invalid authentication token"]);
});

await step("2.6", "a valid token gets the data", async () => {
  const answer = await call(HISTORY, await issued({ sub: USER }));
  assert.equal(answer.status, 200, `${answer.status} ${await answer.text()}`);
});

await step("2.5", "an expired token is TOKEN_EXPIRED", async () => {
  const token = await issued({ sub: USER, lifetime: -60 });
  assert.deepEqual(await refused(await call(HISTORY, token)), [401, "TOKEN_EXPIRED", "Please refresh your token"]);
});

await step("6.2", "an expired token is refreshed and the request repeated", async () => {
  const session = new Session(await issued({ sub: USER, lifetime: -60 }));
  const answer = await get(HISTORY, session);
  assert.deepEqual([answer.status, session.refreshes], [200, 1]);
});

await step("6.2", "five requests at once refresh once", async () => {
  const session = new Session(await issued({ sub: USER, lifetime: -60 }));
  const answers = await Promise.all(Array.from({ length: 5 }, () => get(HISTORY, session)));
  assert.deepEqual([answers.map(({ status }) => status), session.refreshes], [[200, 200, 200, 200, 200], 1]);
});

await step("6.2", "a session that is over leads to the sign-in page", async () => {
  const session = new Session(await issued({ sub: USER, lifetime: -60 }));
  session.getToken = async ({ forceRefresh = false } = {}) => (forceRefresh ? Promise.reject(new Error("over")) : session.token);
  const answer = await get(HISTORY, session);
  assert.deepEqual([answer.status, session.signedOut], [401, true]);
});

await step("2.7", "a token that soon expires is refreshed before", async () => {
  const session = new Session(await issued({ sub: USER, lifetime: 60 }));
  const { exp } = JSON.parse(atob(session.token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
  if (exp * 1000 - Date.now() < 5 * 60 * 1000) await session.getToken({ forceRefresh: true });
  const answer = await get(HISTORY, session);
  assert.deepEqual([answer.status, session.refreshes], [200, 1]);
});
process.exit(0);
