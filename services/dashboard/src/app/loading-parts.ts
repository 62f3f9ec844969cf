/** Parts of the page that are loaded when they are needed; and what to do when the server is away just then. */

/** The router reloads the page for its own kind of this error. While the server is away, that would lose the page. */
export class PartNotLoaded extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? `Not loaded: ${cause.message}` : "Not loaded", { cause });
  }
}

export async function loaded<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch (error) {
    throw new PartNotLoaded(error);
  }
}

/** The messages of Chromium, Firefox, Safari and the style loader when a part cannot be loaded. */
const NOT_LOADED = /dynamically imported module|Importing a module script failed|Unable to preload CSS/;

export function isNotLoaded(error: unknown): boolean {
  return error instanceof PartNotLoaded || (error instanceof Error && NOT_LOADED.test(error.message));
}

const FIRST_AFTER_MS = 4_000;
const IDLE_WITHIN_MS = 10_000;

function idle(): Promise<unknown> {
  return new Promise((resolve) =>
    "requestIdleCallback" in window
      ? requestIdleCallback(resolve, { timeout: IDLE_WITHIN_MS })
      : setTimeout(resolve, FIRST_AFTER_MS),
  );
}

/** Loads them one after the other while nothing else happens, so that they are there even if the server is not. */
export async function loadInIdleTime(loads: readonly (() => Promise<unknown>)[], wait = idle): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, FIRST_AFTER_MS));
  for (const load of loads) {
    await wait();
    await load().catch(() => {}); // it is tried again when somebody goes there
  }
}

const ASK_EVERY_MS = 2_000;
const RELOADED_AT = "drover.reloaded-at";
/** A part that is missing although the server answers is not a reason to reload without end. */
const RELOAD_AGAIN_MS = 60_000;

/** Reloads the page as soon as the server answers. The result: stops waiting. */
export function reloadWhenBack(
  ask: () => Promise<boolean> = async () => (await fetch("/livez", { cache: "no-store" })).ok,
  reload: () => void = () => location.reload(),
): () => void {
  if (Date.now() - Number(sessionStorage.getItem(RELOADED_AT) ?? 0) < RELOAD_AGAIN_MS) return () => {};
  let isStopped = false;
  const look = async () => {
    const isBack = await ask().catch(() => false);
    if (isStopped) return;
    if (!isBack) {
      timer = setTimeout(look, ASK_EVERY_MS);
      return;
    }
    sessionStorage.setItem(RELOADED_AT, String(Date.now()));
    reload();
  };
  let timer = setTimeout(look, ASK_EVERY_MS);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
