/** What a fault is called in the person's words. The server's own sentence, where it has one that helps. */
import type { Dictionary } from "../i18n/en";
import { useText } from "../i18n/i18n";
import { ApiError, NetworkError, percentBuilt, ReplayFailed, SessionExpired } from "../session/errors";

export function errorText(t: Dictionary, error: unknown): string {
  if (error instanceof ReplayFailed) return `${t.errors.replay} ${errorText(t, error.cause)}`;
  if (error instanceof NetworkError) return t.errors.network;
  if (error instanceof SessionExpired) return error.message;
  const percent = percentBuilt(error);
  if (percent !== null) return t.errors.buildingHint(percent);
  if (error instanceof ApiError) {
    if (error.status === 403) return t.errors.forbidden;
    if (error.status >= 500 || error.status === 429) return t.errors.away;
    return error.message;
  }
  return error instanceof Error ? error.message : String(error);
}

export function useErrorText(): (error: unknown) => string {
  const t = useText();
  return (error) => errorText(t, error);
}
