/** What can go wrong with a request, as data: nobody parses texts. */
import { SESSION_EXPIRED } from "./messages";

/** The server answered, and refused. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    /** `TOKEN_EXPIRED`, `CONFLICT`, … */
    readonly code: string,
    message: string,
    readonly details: unknown = null,
    readonly hint: string | null = null,
    /** How long it asks to be left alone. */
    readonly retryAfterS: number | null = null,
  ) {
    super(message);
  }
}

/** How far a read model is that the server is building after an upgrade, in percent. Null: the fault is another one. */
export function percentBuilt(error: unknown): number | null {
  if (!(error instanceof ApiError) || error.code !== "READ_MODEL_REBUILDING") return null;
  const { position, end } = { position: 0, end: 0, ...(error.details as { position?: number; end?: number } | null) };
  return end > 0 ? Math.min(99, Math.floor((100 * position) / end)) : 0;
}

/** Nothing came back. */
export class NetworkError extends Error {
  override readonly name = "NetworkError";
}

/** There is no session any more, and this request was not answered for that. */
export class SessionExpired extends Error {
  override readonly name = "SessionExpired";

  constructor() {
    super(SESSION_EXPIRED);
  }
}

/** The token was renewed, and the request failed all the same. Whoever shows it offers `retry`. */
export class ReplayFailed extends Error {
  override readonly name = "ReplayFailed";

  constructor(
    override readonly cause: ApiError | NetworkError,
    readonly retry: () => Promise<Response>,
  ) {
    super(cause.message);
  }
}

/** A sensitive action waited for a sign-in, and its person let it go. */
export class ActionAbandoned extends Error {
  override readonly name = "ActionAbandoned";
}

/** The refusal in an answer: `{error, message}` under `/api`, `{code, message, details, hint}` under `/rest`. */
export async function refusal(answer: Response): Promise<ApiError> {
  const body: unknown = await answer.json().catch(() => null);
  const told = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  const text = (key: string): string | null => (typeof told[key] === "string" ? told[key] : null);
  const seconds = Number(answer.headers.get("Retry-After") ?? Number.NaN);
  return new ApiError(
    answer.status,
    text("error") ?? text("code") ?? `HTTP_${answer.status}`,
    text("message") ?? (answer.statusText || `HTTP ${answer.status}`),
    told["details"] ?? null,
    text("hint"),
    Number.isFinite(seconds) ? seconds : null,
  );
}
