/** How reads and actions behave when they fail: what is worth another try, and who hears of it. */
import { MutationCache, QueryClient } from "@tanstack/react-query";
import { errorText } from "@/lib/errors/error-text";
import type { Dictionary } from "@/lib/i18n/en";
import {
  ActionAbandoned,
  ApiError,
  NetworkError,
  percentBuilt,
  ReplayFailed,
  SessionExpired,
} from "@/lib/session/errors";
import type { Toasts } from "@/ui/toasts";

const RETRIES_MAX = 2;
const FRESH_MS = 5_000;
/** So often a page asks whether tables that are being made are complete. */
const BUILT_AGAIN_MS = 3_000;
/** So often a page reads again what the server could not answer. */
const FAILED_AGAIN_MS = 15_000;

/** `meta` of a change whose form shows what went wrong: a toast would say it twice. Only its "Retry" is worth one. */
export const FAULT_IN_FORM = { isFaultInForm: true };

export function createQueryClient(toasts: Toasts, words: () => Dictionary): QueryClient {
  const client: QueryClient = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: FRESH_MS,
        retry: (failures, error) => failures < RETRIES_MAX && isWorthAnotherTry(error) && percentBuilt(error) === null,
        refetchInterval: ({ state }) => againMs(state.error),
      },
      mutations: { retry: false },
    },
    mutationCache: new MutationCache({
      onError: (error, _variables, _before, { meta }) => {
        if (meta !== FAULT_IN_FORM || error instanceof ReplayFailed) showFault(error);
      },
      onSuccess: () => void client.invalidateQueries(),
    }),
  });

  function showFault(error: unknown): void {
    // Whoever let it go knows; whose session ended has been told.
    if (error instanceof ActionAbandoned || error instanceof SessionExpired) return;
    const t = words();
    const retry = error instanceof ReplayFailed ? () => void tryAgain(error) : undefined;
    const action = retry === undefined ? undefined : { label: t.common.retry, run: retry };
    toasts.show({ kind: "fault", title: t.errors.title, text: errorText(t, error), action });
  }

  async function tryAgain(failed: ReplayFailed): Promise<void> {
    try {
      await failed.retry();
      await client.invalidateQueries();
    } catch (error) {
      const stillFails = error instanceof ReplayFailed || error instanceof SessionExpired;
      showFault(stillFails || !isWorthAnotherTry(error) ? error : new ReplayFailed(error, failed.retry));
    }
  }

  return client;
}

function againMs(error: unknown): number | false {
  if (percentBuilt(error) !== null) return BUILT_AGAIN_MS;
  return isWorthAnotherTry(error) ? FAILED_AGAIN_MS : false;
}

export function isWorthAnotherTry(error: unknown): error is NetworkError | ApiError {
  return error instanceof NetworkError || (error instanceof ApiError && error.status >= 500);
}
