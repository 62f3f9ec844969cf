/** All racks, of which only those in sight are drawn. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type MouseEvent, type ReactNode, useEffect, useReducer, useRef } from "react";
import { useLive } from "@/app/context";
import type { Density } from "@/lib/preferences/preferences";
import { useWidth } from "@/lib/react/use-width";
import { drawnNext, RACK_GAP, rackHeight, racksInRow } from "./layout";
import { PhoneTip } from "./phone-tip";
import { Rack } from "./rack";
import type { Wish } from "./select";
import "./fleet.css";

/** Beside the racks, and on a phone. */
const EDGE = 24;
const EDGE_OF_PHONE = 16;
const PHONE_WIDTH_MAX = 640;

interface RacksProps {
  readonly pcs: readonly string[];
  readonly wish: Wish;
  readonly density: Density;
  readonly selected: string | null;
  readonly openDevice: (id: string) => void;
  readonly openPc: (id: string) => void;
}

export function Racks({ pcs, wish, density, selected, openDevice, openPc }: RacksProps): ReactNode {
  const { fleet } = useLive();
  const scroller = useRef<HTMLDivElement>(null);
  const width = useWidth(scroller);
  const edge = width < PHONE_WIDTH_MAX ? EDGE_OF_PHONE : EDGE;
  const perRow = racksInRow(density, width - 2 * edge);
  const rows = Math.ceil(pcs.length / perRow);
  const row = (index: number) => pcs.slice(index * perRow, (index + 1) * perRow);
  const virtual = useVirtualizer({
    count: rows,
    getScrollElement: () => scroller.current,
    estimateSize: (index) =>
      Math.max(...row(index).map((pc) => rackHeight(density, fleet.devicesOf(pc).length))) + RACK_GAP,
    getItemKey: (index) => row(index).join(" "),
    overscan: 3,
    paddingStart: edge - 8,
    paddingEnd: edge,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: heights follow from these
  useEffect(() => virtual.measure(), [virtual, density, perRow, pcs.length]);
  // Side by side under one parent, not in rows: a rack that comes to stand elsewhere is moved, not made anew.
  const rackWidth = (width - 2 * edge - (perRow - 1) * RACK_GAP) / perRow;
  const spots = new Map(
    virtual
      .getVirtualItems()
      .flatMap(({ index, start }) =>
        row(index).map((pc, column) => [pc, { top: start, left: edge + column * (rackWidth + RACK_GAP) }] as const),
      ),
  );
  const drawn = useDrawn(width > 0 ? [...spots.keys()] : []);

  /** One listener for all phones. */
  function onClick(event: MouseEvent): void {
    const target = (event.target as HTMLElement).closest<HTMLElement>("[data-device], [data-pc]");
    if (target?.dataset["device"] !== undefined) openDevice(target.dataset["device"]);
    else if (target?.dataset["pc"] !== undefined) openPc(target.dataset["pc"]);
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons are in it
    // biome-ignore lint/a11y/useKeyWithClickEvents: buttons turn keys into clicks
    <div ref={scroller} className="racks min-h-0 flex-1 overflow-y-auto" data-density={density} onClick={onClick}>
      <div className="relative" style={{ height: virtual.getTotalSize() }}>
        {drawn.map((pc) => (
          <div key={pc} className="absolute" style={{ ...spots.get(pc), width: rackWidth }}>
            <Rack
              id={pc}
              wish={wish}
              selected={selected !== null && isIn(fleet.devicesOf(pc), selected) ? selected : null}
            />
          </div>
        ))}
      </div>
      <PhoneTip within={scroller} />
    </div>
  );
}

function isIn(ids: readonly string[], id: string): boolean {
  return ids.includes(id);
}

/** Those of them that are drawn now. Many new ones at once would hold up the page: the rest comes with the next frames. */
function useDrawn(ids: readonly string[]): readonly string[] {
  const before = useRef<ReadonlySet<string>>(new Set());
  const [, drawMore] = useReducer((turns: number) => turns + 1, 0);
  const drawn = drawnNext(before.current, ids);
  useEffect(() => {
    before.current = new Set(drawn);
    if (drawn.length === ids.length) return;
    const frame = requestAnimationFrame(drawMore);
    return () => cancelAnimationFrame(frame);
  });
  return drawn;
}
