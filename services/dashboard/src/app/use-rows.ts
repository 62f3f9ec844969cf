/** Lists that are read page by page, with the rows that were told since laid over them. */
import { type QueryKey, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { Frames } from "@/lib/live/frame";
import { useTable } from "@/lib/live/hooks";
import type { Listed, LiveView } from "@/lib/live/live";
import { type ListOf, Overlay, overlaid } from "@/lib/live/overlay";
import { keysetPage, type Query, rows } from "@/lib/rest/read";
import { type After, type ServerSort, sortedPage } from "@/lib/sort/sort";
import { useApp, useLive } from "./context";

/** Between two reads that rows asked for. */
const READ_EVERY_MS = 2_000;
/** Pages that are told to read at the same moment do not ask at the same moment. */
const SPREAD_MS = 1_000;
/** So often a list moves. */
const MOVE_EVERY_MS = 200;
/** Of the past, and of what somebody may not follow. */
const NOTHING = new Overlay(new Frames(() => {}));

const overlayOf = (live: LiveView, relation: Listed): Overlay => live.overlay(relation) ?? NOTHING;

/**
 * `list` stays the same while the same is shown. `isAll`: there are no more pages. `queryKey`: of the reads, which are
 * done again when the stream cannot tell what changed.
 */
export function useOverlaid<Row>(
  relation: Listed,
  read: readonly Row[],
  list: ListOf<Row>,
  { isAll, queryKey }: { isAll: boolean; queryKey: QueryKey },
): readonly Row[] {
  const overlay = overlayOf(useLive(), relation);
  const version = useTable(overlay.told, MOVE_EVERY_MS);
  useReadAfterResets([relation], [queryKey]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the version stands for what was told
  const rows = useMemo(() => overlaid(read, overlay, list, isAll), [read, overlay, list, isAll, version]);
  const shown = useRef(rows);
  if (!isSame(shown.current, rows)) shown.current = rows;
  return shown.current;
}

/** Rows on a page of a list. */
const PAGE = 50;

/** Rows of which nothing is to be changed before they are shown. */
export const asRead = <Row>(row: Row): Row => row;

interface LivePages<Row, Shown> {
  /** Its first word names all reads of this list. */
  readonly queryKey: readonly [string, ...unknown[]];
  readonly query: Query;
  readonly list: ListOf<Shown>;
  /** How a row that was read is shown. Stays the same. */
  readonly shownAs: (row: Row) => Shown;
  readonly isOldestFirst?: boolean;
  readonly isWanted?: boolean;
  /** Undefined: by the time of creation. */
  readonly sort?: ServerSort | undefined;
}

/** The page after this row, as a text. */
function placeAfter(row: { readonly created_at: string }, sort: ServerSort | undefined): string {
  if (sort === undefined) return row.created_at;
  const values = row as unknown as Readonly<Record<string, string | number | null>>;
  return JSON.stringify([values[sort.by] ?? null, values["id"]]);
}

/** In the order of the server, which alone knows how it compares texts: rows that were not read come with the next read. */
export function asSorted<Row>(read: readonly Row[], list: ListOf<Row>): ListOf<Row> {
  const places = new Map(read.map((row, at) => [list.keyOf(row), at]));
  return {
    ...list,
    rowOf: (told, known) => (known === undefined ? null : list.rowOf(told, known)),
    compare: (a, b) => (places.get(list.keyOf(a)) ?? 0) - (places.get(list.keyOf(b)) ?? 0),
  };
}

/** A list by the time its rows were created, page by page, as the stream goes on with it. */
export function useLivePages<Row extends { readonly created_at: string }, Shown>(
  relation: Listed,
  { queryKey, query, list, shownAs, isOldestFirst = false, isWanted = true, sort }: LivePages<Row, Shown>,
) {
  const { client } = useApp();
  const answer = useInfiniteQuery({
    queryKey: [...queryKey, sort],
    initialPageParam: "",
    queryFn: ({ pageParam }) => {
      const after = pageParam === "" || sort === undefined ? null : (JSON.parse(pageParam) as After);
      const page = sort === undefined ? keysetPage(pageParam, PAGE, isOldestFirst) : sortedPage(sort, after, PAGE);
      return rows<Row>(client, relation, { ...query, ...page });
    },
    getNextPageParam: (page) => {
      const last = page.at(-1);
      return page.length < PAGE || last === undefined ? undefined : placeAfter(last, sort);
    },
    placeholderData: (before) => before,
    enabled: isWanted,
  });
  const { data, hasNextPage } = answer;
  const read = useMemo(() => data?.pages.flat().map(shownAs) ?? [], [data, shownAs]);
  const ordered = useMemo(() => (sort === undefined ? list : asSorted(read, list)), [sort, read, list]);
  const found = useOverlaid(relation, read, ordered, { isAll: !hasNextPage, queryKey: [queryKey[0]] });
  return { answer, found: data === undefined ? undefined : found };
}

/** Most of what is told is about rows that are not shown: then nothing is drawn again. */
function isSame<Row>(before: readonly Row[], after: readonly Row[]): boolean {
  return before.length === after.length && before.every((row, at) => row === after[at]);
}

/** Reads again what cannot be made of rows that were told, such as sums: soon after rows of these relations were. */
export function useReadAfter(relations: readonly Listed[], keys: readonly QueryKey[]): void {
  useSoon(relations, keys, (overlay, readSoon) => {
    const stops = [overlay.told.watchAll(readSoon), overlay.resets.subscribe(readSoon)];
    return () => {
      for (const stop of stops) stop();
    };
  });
}

/** Reads again when the stream could not tell all that changed. */
export function useReadAfterResets(relations: readonly Listed[], keys: readonly QueryKey[]): void {
  useSoon(relations, keys, (overlay, readSoon) => overlay.resets.subscribe(readSoon));
}

function useSoon(
  relations: readonly Listed[],
  keys: readonly QueryKey[],
  watch: (overlay: Overlay, readSoon: () => void) => () => void,
): void {
  const live = useLive();
  const queries = useQueryClient();
  const latest = useRef({ keys, watch });
  latest.current = { keys, watch };
  const names = relations.join();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const readSoon = () => {
      timer ??= setTimeout(
        () => {
          timer = undefined;
          for (const queryKey of latest.current.keys) void queries.invalidateQueries({ queryKey });
        },
        READ_EVERY_MS + Math.random() * SPREAD_MS,
      );
    };
    const stops = names.split(",").map((name) => latest.current.watch(overlayOf(live, name as Listed), readSoon));
    return () => {
      clearTimeout(timer);
      for (const stop of stops) stop();
    };
  }, [live, queries, names]);
}
