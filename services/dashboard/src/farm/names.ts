/** Ids as people know them: titles of jobs, serial numbers of phones. What the page does not know it asks for, once. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useApp, useLive } from "@/app/context";
import { useText } from "@/lib/i18n/i18n";
import type { Names } from "@/lib/i18n/reasons";
import { oneOf, rows } from "@/lib/rest/read";
import { useFormat } from "@/lib/time/format";
import { shortId } from "./short-id";

const ASKED_MAX = 100;

/** Titles of these jobs; until they are known, the end of the id. */
export function useJobTitles(ids: readonly string[]): (id: string) => string {
  const { client } = useApp();
  const { fleet } = useLive();
  const t = useText();
  const unknown = [...new Set(ids)]
    .filter((id) => fleet.jobs.get(id) === undefined)
    .slice(0, ASKED_MAX)
    .sort();
  const { data } = useQuery({
    queryKey: ["titles", unknown],
    queryFn: () =>
      rows<{ id: string; title: string | null }>(client, "jobs", { select: "id,title", id: oneOf(unknown) }),
    enabled: unknown.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const asked = useMemo(() => new Map(data?.map((row) => [row.id, row.title])), [data]);
  return (id) => {
    const title = fleet.jobs.get(id)?.title ?? asked.get(id);
    if (title !== undefined && title !== null) return title;
    return fleet.jobs.get(id) !== undefined || asked.has(id) ? t.queue.untitled : shortId(id);
  };
}

export function useNames(): Names {
  const { fleet } = useLive();
  const t = useText();
  const format = useFormat();
  return useMemo(
    () => ({
      job: (id) => (id === undefined ? "" : (fleet.jobs.get(id)?.title ?? `${t.queue.job} ${shortId(id)}`)),
      device: (id) => (id === undefined ? "" : (fleet.devices.get(id)?.serial ?? shortId(id))),
      time: (at) => (at === null || at === undefined ? t.common.unknown : format.moment(at)),
    }),
    [fleet, t, format],
  );
}
