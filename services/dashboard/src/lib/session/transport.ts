/** One HTTP call with a token. Knows what an expired token looks like; what follows from it is the client's. */
import { NetworkError, refusal } from "./errors";

export type Fetch = (path: string, init: RequestInit) => Promise<Response>;

/** The refresh cookie alone must not be enough to act: a form of another site cannot send this header. */
export const CSRF_HEADER = { "X-Drover-Csrf": "1" } as const;

export async function send(fetch: Fetch, path: string, init: RequestInit, token?: string): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token !== undefined) headers.set("Authorization", `Bearer ${token}`);
  try {
    return await fetch(path, { credentials: "same-origin", ...init, headers });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new NetworkError(error instanceof Error ? error.message : String(error));
  }
}

/** Only 401 `TOKEN_EXPIRED` is worth a refresh; any other 401 would be refused again. */
export async function isTokenExpired(answer: Response): Promise<boolean> {
  return answer.status === 401 && (await refusal(answer.clone())).code === "TOKEN_EXPIRED";
}

/** The server could not answer: that says nothing about the session. */
export function isAway(answer: Response): boolean {
  return answer.status >= 500 || answer.status === 429;
}
