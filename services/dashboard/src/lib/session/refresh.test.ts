/** A token that expired: one refresh for all, one retry, and what follows when that fails. SY-10, SY-19, SY-20. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { TRANSPORT_RETRY_MS } from "./client";
import { ApiError, NetworkError, ReplayFailed, SessionExpired } from "./errors";
import { SESSION_EXPIRED } from "./messages";
import { Given, outcome } from "./testing/given";
import { isTokenExpired } from "./transport";

let given: Given;

beforeEach(() => {
  vi.useFakeTimers();
  given = new Given();
});

afterEach(() => {
  vi.useRealTimers();
});

const settle = () => vi.advanceTimersByTimeAsync(5_000);

describe("a token that has expired (SY-10)", () => {
  test("every request carries the token", async () => {
    const { client } = await given.signedInTab();
    expect(await client.json("/rest/v1/jobs")).toEqual({ path: "/rest/v1/jobs", token: "token-1" });
  });

  test("a call is refused, the token renewed, the call repeated and answered", async () => {
    const { client, notices, pages } = await given.signedInTab();
    given.server.expireTokens();
    const answer = client.json("/api/saju/tests");
    await settle();
    expect(await answer).toEqual({ path: "/api/saju/tests", token: "token-2" });
    expect(given.server.to("/api/saju/tests").map((call) => call.token)).toEqual(["token-1", "token-2"]);
    expect(given.server.to("/api/auth/refresh")).toHaveLength(1);
    expect([notices, pages]).toEqual([[], []]); // nobody notices
  });

  test("five calls at once cause one refresh, and all five are answered", async () => {
    const { client } = await given.signedInTab();
    given.server.expireTokens();
    const calls = Promise.all([1, 2, 3, 4, 5].map((n) => client.json(`/api/${n}`)));
    await settle();
    expect(await calls).toEqual([1, 2, 3, 4, 5].map((n) => ({ path: `/api/${n}`, token: "token-2" })));
    expect(given.server.to("/api/auth/refresh")).toHaveLength(1);
  });

  test("a call that comes back late with the old token causes no second refresh", async () => {
    const { client } = await given.signedInTab();
    given.server.expireTokens();
    const release = given.server.keepAnswersOf("/api/slow");
    const slow = client.json("/api/slow");
    const quick = client.json("/api/quick");
    await settle();
    await quick;
    release();
    await settle();
    expect(await slow).toEqual({ path: "/api/slow", token: "token-2" });
    expect(given.server.to("/api/auth/refresh")).toHaveLength(1);
  });

  test("the refresh goes by cookie, with the header that other sites cannot send, and without the token", async () => {
    const { client } = await given.signedInTab();
    given.server.expireTokens();
    const answer = client.json("/api/1");
    await settle();
    await answer;
    const [call] = given.server.to("/api/auth/refresh");
    expect(call?.method).toBe("POST");
    expect(call?.headers.get("X-Drover-Csrf")).toBe("1");
    expect(call?.token).toBeNull();
  });

  test("a write is repeated with the same body", async () => {
    const { client } = await given.signedInTab();
    given.server.expireTokens();
    const answer = client.request("/rest/v1/jobs", { method: "POST", body: '{"title":"A"}' });
    await settle();
    await answer;
    expect(given.server.to("/rest/v1/jobs").map((call) => [call.method, call.body])).toEqual([
      ["POST", '{"title":"A"}'],
      ["POST", '{"title":"A"}'],
    ]);
  });
});

describe("a refresh that is refused (SY-10, SY-20)", () => {
  test("signs out, says so in the seed's words, and leads to the sign-in page", async () => {
    const { client, notices, pages } = await given.signedInTab();
    given.server.endSession();
    const answer = outcome(client.json("/api/1"));
    await settle();
    expect(await answer).toEqual({ error: expect.any(SessionExpired) });
    expect(client.state.get()).toEqual({ status: "signed-out" });
    expect(notices).toEqual(["session-expired"]);
    expect(pages).toEqual(["/sign-in?error=session_expired"]);
    expect(SESSION_EXPIRED).toBe("세션이 만료되었습니다. 다시 로그인해주세요.");
  });

  test("is tried once, however many calls wait for it, and leaves once", async () => {
    const { client, notices, pages } = await given.signedInTab();
    given.server.endSession();
    const calls = Promise.all([1, 2, 3, 4, 5].map((n) => outcome(client.json(`/api/${n}`))));
    await settle();
    expect(await calls).toEqual(Array(5).fill({ error: expect.any(SessionExpired) }));
    expect(given.server.to("/api/auth/refresh")).toHaveLength(1);
    expect([notices.length, pages.length]).toEqual([1, 1]);
  });

  test("after it no call is sent at all", async () => {
    const { client } = await given.signedInTab();
    given.server.endSession();
    const first = outcome(client.json("/api/1"));
    await settle();
    await first;
    expect(await outcome(client.json("/api/2"))).toEqual({ error: expect.any(SessionExpired) });
    expect(given.server.to("/api/2")).toEqual([]);
  });
});

describe("only TOKEN_EXPIRED refreshes (SY-20)", () => {
  test.each([
    [401, "INVALID_TOKEN"],
    [401, "UNAUTHORIZED"],
    [403, "TOKEN_EXPIRED"],
    [404, "NOT_FOUND"],
  ])("%i %s is passed on as it is", async (status, code) => {
    const { client, pages } = await given.signedInTab();
    given.server.fail("/api/1", [status, code]);
    const answer = await outcome(client.json("/api/1"));
    expect(answer).toEqual({ error: expect.any(ApiError) });
    expect(answer).toMatchObject({ error: { status, code } });
    expect(given.server.to("/api/auth/refresh")).toEqual([]);
    expect(pages).toEqual([]);
  });

  test("it is found in the errors of /rest, too, which call it code", async () => {
    const answer = Response.json(
      { code: "TOKEN_EXPIRED", message: "JWT expired", details: null, hint: null },
      { status: 401 },
    );
    expect(await isTokenExpired(answer)).toBe(true);
    expect(await answer.json()).toMatchObject({ code: "TOKEN_EXPIRED" }); // and can still be read
  });
});

describe("the network while refreshing (SY-19)", () => {
  test("one retry of the transport, and the call is answered", async () => {
    const { client, notices, pages } = await given.signedInTab();
    given.server.expireTokens();
    given.server.fail("/api/auth/refresh", "network");
    const answer = client.json("/api/1");
    await settle();
    expect(await answer).toEqual({ path: "/api/1", token: "token-2" });
    expect(given.server.to("/api/auth/refresh")).toHaveLength(2);
    expect([notices, pages]).toEqual([[], []]);
  });

  test("gone twice: a toast, and out", async () => {
    const { client, notices, pages } = await given.signedInTab();
    given.server.expireTokens();
    given.server.fail("/api/auth/refresh", "network", "network", "network");
    const answer = outcome(client.json("/api/1"));
    await settle();
    expect(await answer).toEqual({ error: expect.any(SessionExpired) });
    expect(given.server.to("/api/auth/refresh")).toHaveLength(2);
    expect(notices).toEqual(["refresh-unreachable"]);
    expect(pages).toEqual(["/sign-in?error=session_expired"]);
  });

  test("the retry comes after a moment, not at once", async () => {
    const { client } = await given.signedInTab();
    given.server.expireTokens();
    given.server.fail("/api/auth/refresh", "network");
    const answer = client.json("/api/1");
    await vi.advanceTimersByTimeAsync(TRANSPORT_RETRY_MS - 100);
    expect(given.server.to("/api/auth/refresh")).toHaveLength(1);
    await settle();
    await answer;
  });

  test("a server that cannot answer (503) has said nothing about the session", async () => {
    const { client } = await given.signedInTab();
    given.server.expireTokens();
    given.server.fail("/api/auth/refresh", 503);
    const answer = client.json("/api/1");
    await settle();
    expect(await answer).toEqual({ path: "/api/1", token: "token-2" });
  });
});

describe("a repeat that fails after the refresh (SY-19)", () => {
  async function failedReplay(fault: "network" | number): Promise<ReplayFailed> {
    const { client } = await given.signedInTab();
    given.server.expireTokens();
    const answer = outcome(client.json("/api/1"));
    await vi.advanceTimersByTimeAsync(1); // refused, and the refresh under way
    given.server.fail("/api/1", fault);
    await settle();
    const { error } = (await answer) as { error: ReplayFailed };
    expect(error).toBeInstanceOf(ReplayFailed);
    return error;
  }

  test("says what went wrong", async () => {
    expect((await failedReplay("network")).cause).toBeInstanceOf(NetworkError);
    given = new Given();
    expect((await failedReplay(500)).cause).toMatchObject({ status: 500 });
  });

  test("comes with a retry that does the same again", async () => {
    const error = await failedReplay("network");
    expect(await (await error.retry()).json()).toEqual({ path: "/api/1", token: "token-2" });
  });

  test("refused again as expired it is not refreshed again", async () => {
    const error = await failedReplay(401);
    expect(error.cause).toMatchObject({ status: 401 });
    expect(given.server.to("/api/auth/refresh")).toHaveLength(1);
  });
});
