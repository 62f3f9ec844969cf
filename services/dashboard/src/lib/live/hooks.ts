/** Live rows in components. Each hook draws again only when what it shows has changed. */
import { useCallback, useRef, useSyncExternalStore } from "react";
import type { Table } from "./table";

export function useRow<Row>(table: Table<Row>, id: string | null | undefined): Row | undefined {
  const subscribe = useCallback((listener: () => void) => (id ? table.watchRow(id, listener) : () => {}), [table, id]);
  return useSyncExternalStore(subscribe, () => (id ? table.get(id) : undefined));
}

/** Changes with every row that belongs to this. */
export function useTopic<Row>(table: Table<Row>, topic: string): number {
  const subscribe = useCallback((listener: () => void) => table.watchTopic(topic, listener), [table, topic]);
  return useSyncExternalStore(subscribe, () => table.topicVersion(topic));
}

export function useTableSize<Row>(table: Table<Row>): number {
  return useSyncExternalStore(table.watchAll, () => table.size);
}

/**
 * Changes with the table, but at most so often: for what goes through all of its rows. Whoever looks sees the latest.
 */
export function useTable<Row>(table: Table<Row>, everyMs: number): number {
  const seen = useRef(0);
  const subscribe = useCallback(
    (listener: () => void) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const show = () => {
        timer = undefined;
        seen.current = table.version();
        listener();
      };
      const stop = table.watchAll(() => {
        timer ??= setTimeout(show, everyMs);
      });
      show();
      return () => {
        clearTimeout(timer);
        stop();
      };
    },
    [table, everyMs],
  );
  return useSyncExternalStore(subscribe, () => seen.current);
}
