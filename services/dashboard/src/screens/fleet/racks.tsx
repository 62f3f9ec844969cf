/** All racks, of which only those in sight are drawn. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type MouseEvent, type ReactNode, useEffect, useReducer, useRef } from "react";
import { useLive } from "@/app/context";
import type { Density } from "@/lib/preferences/preferences";
import { useWidth } from "@/lib/react/use-width";
import { type How, howOf } from "./chosen";
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
  readonly chosen: ReadonlySet<string>;
  /** The PC that the open panel is about, itself or by its phone: its rack is in sight. */
  readonly shownPc: string | null;
  /** Whether every click selects. */
  readonly isSelecting: boolean;
  readonly onDevice: (id: string, how: How) => void;
  readonly openPc: (id: string) => void;
}

export function Racks(props: RacksProps): ReactNode {
  const { pcs, wish, density, selected, chosen, shownPc, isSelecting, onDevice, openPc } = props;
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
  // When a panel opens racks move, and what it is about may come from a link. Later somebody may scroll away.
  const isLaidOut = width > 0;
  const isKnown = shownPc !== null && isIn(pcs, shownPc);
  // biome-ignore lint/correctness/useExhaustiveDependencies: racks that come and go, or change places, move nobody
  useEffect(() => {
    if (isLaidOut && isKnown) virtual.scrollToIndex(Math.floor(pcs.indexOf(shownPc) / perRow), { align: "auto" });
  }, [virtual, shownPc, isLaidOut, isKnown, perRow]);
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
    if (target?.dataset["device"] !== undefined) onDevice(target.dataset["device"], howOf(event, isSelecting));
    else if (target?.dataset["pc"] !== undefined) openPc(target.dataset["pc"]);
  }

  /** x selects the phone that has the focus, Shift and x all up to it. */
  function onKeyDown(event: KeyboardEvent): void {
    const device = (event.target as HTMLElement).dataset["device"];
    if (device === undefined || event.key.toLowerCase() !== "x" || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    onDevice(device, event.shiftKey ? "range" : "toggle");
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons are in it
    <div
      ref={scroller}
      className="racks min-h-0 flex-1 overflow-y-auto"
      data-density={density}
      onClick={onClick}
      onKeyDown={onKeyDown}
    >
      <div className="relative" style={{ height: virtual.getTotalSize() }}>
        {drawn.map((pc) => (
          <div key={pc} className="absolute" style={{ ...spots.get(pc), width: rackWidth }}>
            <Rack
              id={pc}
              wish={wish}
              selected={selected !== null && isIn(fleet.devicesOf(pc), selected) ? selected : null}
              chosen={
                chosen.size === 0
                  ? ""
                  : fleet
                      .devicesOf(pc)
                      .filter((id) => chosen.has(id))
                      .join(" ")
              }
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
