/**
 * Where the address names a moment (`?as_of=`), everything inside sees the farm as it was then: rows, clock, and no
 * button that acts. The present goes on unseen, so that the way back is short.
 */
import { useQuery } from "@tanstack/react-query";
import { useLocation, useSearch } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import type { FleetStore } from "@/lib/live/fleet";
import { loadPast } from "@/lib/live/history";
import type { FleetMoment } from "@/lib/past/moments";
import { PastLive } from "@/lib/past/past-live";
import { oneOf, rows } from "@/lib/rest/read";
import type { AlertRow, JobRow } from "@/lib/rest/rows";
import { StoppedClock } from "@/lib/time/use-now";
import { SignedInProvider, useApp, useSignedIn } from "./context";
import { type Past, PastContext } from "./past";
import { pastOf } from "./past-search";
import { useMoment } from "./use-moment";

const ALERTS_MAX = 1000;
/** Jobs in one question, so that its address stays short. */
const JOBS_AT_ONCE = 50;
const NO_JOBS: ReadonlyMap<string, JobRow> = new Map();

export function TimeTravel({ children }: { children: ReactNode }): ReactNode {
  const present = useSignedIn();
  const { as_of } = useSearch({ from: "/inside" });
  const past = useMemo(() => pastOf(as_of, Date.now()), [as_of]);
  const live = usePastLive(past, present.live.fleet);
  const seen = useMemo(() => (past === null ? present : { user: present.user, live }), [past, present, live]);
  return (
    <PastContext value={past}>
      <StoppedClock value={past?.at ?? null}>
        <SignedInProvider signedIn={seen}>{children}</SignedInProvider>
      </StoppedClock>
    </PastContext>
  );
}

/** One for the whole stay: rows change as the moment does, what is drawn of them stays. */
function usePastLive(past: Past | null, present: FleetStore): PastLive {
  const [live] = useState(() => new PastLive());
  const { data: moment } = useMoment("fleet", past);
  const { data: jobs } = usePastJobs(moment, present);
  const { data: alerts } = usePastAlerts(past);
  const isPast = past !== null;
  useEffect(() => {
    if (!isPast) live.clear();
    else if (moment !== undefined) live.show({ moment, jobs: jobs ?? NO_JOBS, alerts: alerts ?? [] });
  }, [live, isPast, moment, jobs, alerts]);
  usePastTally(live, past);
  return live;
}

/** What never changes about a job is read from its row; most are known from the present. */
function usePastJobs(moment: FleetMoment | undefined, present: FleetStore) {
  const { client } = useApp();
  return useQuery({
    queryKey: ["past-jobs", moment?.at],
    queryFn: async ({ signal }) => {
      const ids = moment?.jobs.map((job) => job.id) ?? [];
      const known = new Map(ids.flatMap((id) => [[id, present.jobs.get(id)] as const]));
      const unknown = ids.filter((id) => known.get(id) === undefined);
      for (let from = 0; from < unknown.length; from += JOBS_AT_ONCE) {
        const id = oneOf(unknown.slice(from, from + JOBS_AT_ONCE));
        for (const row of await rows<JobRow>(client, "jobs", { id }, { signal })) known.set(row.id, row);
      }
      return new Map([...known].flatMap(([id, row]) => (row === undefined ? [] : [[id, row] as const])));
    },
    enabled: moment !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before) => before,
  });
}

function usePastAlerts(past: Past | null) {
  const { client } = useApp();
  return useQuery({
    queryKey: ["past-open-alerts", past?.iso],
    queryFn: ({ signal }) => {
      const or = `(resolved_at.is.null,resolved_at.gt.${past?.iso})`;
      const query = { raised_at: `lte.${past?.iso}`, or, order: "raised_at.desc", limit: ALERTS_MAX };
      return rows<AlertRow>(client, "alerts", query, { signal });
    },
    enabled: past !== null,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: (before) => before,
  });
}

/** The quarter of an hour before that moment, for the charts of the overview. */
function usePastTally(live: PastLive, past: Past | null): void {
  const { client } = useApp();
  const isShown = useLocation().pathname === "/";
  useEffect(() => {
    if (past === null || !isShown) return;
    const stopping = new AbortController();
    live.tally.clear();
    loadPast(client, live.tally, stopping.signal, past.at).catch(() => undefined);
    return () => stopping.abort();
  }, [client, live, past, isShown]);
}
