/** The four numbers that say how the farm is. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useLive } from "@/app/context";
import { useTally } from "@/farm/use-tally";
import { useText } from "@/lib/i18n/i18n";
import { SHOWN } from "@/lib/live/fleet";
import { useTable } from "@/lib/live/hooks";
import { useFormat } from "@/lib/time/format";
import { Bar } from "@/ui/bar";
import { Figure } from "@/ui/figure";
import { Dot } from "@/ui/status";
import { type Sums, sumFrom } from "./recorded";
import { useRecorded } from "./use-series";

const RATE_OVER_MIN = 5;
const EVERY_MS = 500;
const STEP_S = 15;
const SLOTS_MAX = 20;

export function Figures(): ReactNode {
  return (
    // In two columns the first one and the last one have a row of their own.
    <div className="grid grid-cols-2 gap-4 xl:grid-cols-[2fr_1fr_1fr_1fr] max-xl:[&>:first-child]:col-span-2 max-xl:[&>:last-child]:col-span-2">
      <Phones />
      <Slots />
      <Rates />
    </div>
  );
}

function Phones(): ReactNode {
  const t = useText();
  const format = useFormat();
  const { fleet } = useLive();
  useTable(fleet.devices, EVERY_MS);
  const parts = SHOWN.map((shown) => ({ key: shown, value: fleet.shown[shown], tone: shown, label: t.shown[shown] }));
  return (
    <section className="card flex flex-col justify-between gap-2 px-4 py-3">
      <div className="flex items-baseline justify-between">
        <h2 className="caption">{t.overview.phones}</h2>
        <span className="text-sm text-ink-3">{format.number(fleet.devices.size)}</span>
      </div>
      <Bar parts={parts} total={fleet.devices.size} label={t.overview.phones} className="h-2.5" />
      {/* Columns by the width of the card, not of the numbers: numbers that grow move nothing below. */}
      <ul className="grid grid-cols-[repeat(auto-fit,minmax(4rem,1fr))] gap-x-3 gap-y-1">
        {SHOWN.map((shown) => (
          <li key={shown}>
            <Link
              to="/fleet"
              search={{ show: shown }}
              className="flex flex-col text-sm underline-offset-2 hover:underline pointer-coarse:min-h-8"
            >
              <span className="flex items-center gap-1.5 text-ink-3">
                <Dot tone={shown} />
                {t.shown[shown]}
              </span>
              <span className="font-medium">{format.number(fleet.shown[shown])}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function sumOf({ completed, failed }: Sums): number {
  return completed + failed;
}

function Slots(): ReactNode {
  const t = useText();
  const format = useFormat();
  const { fleet } = useLive();
  useTable(fleet.devices, EVERY_MS);
  let slots = 0;
  for (const pc of fleet.pcs.values()) slots += Math.min(pc.capacity, SLOTS_MAX, fleet.devicesOf(pc.id).length);
  let inUse = 0;
  for (const device of fleet.devices.values()) if (device.assignment !== null) inUse++;
  return (
    <Figure
      name={t.overview.slots}
      value={format.number(inUse)}
      remark={t.common.of(format.percent(slots === 0 ? 0 : inUse / slots), format.number(slots))}
    />
  );
}

function Rates(): ReactNode {
  const t = useText();
  const format = useFormat();
  const { tally, now } = useTally();
  const read = useRecorded("15m");
  const since = now - RATE_OVER_MIN * 60_000;
  const heard = tally.sumSince(since);
  const recorded = sumFrom(since / 1000, tally.series(now, STEP_S), STEP_S, read.data);
  // This page has not heard all that was before it was opened, and the server records it up to a minute later.
  const { completed, failed } = sumOf(recorded) > sumOf(heard) ? recorded : heard;
  const perMinute = (n: number) => format.number(Math.round((10 * n) / RATE_OVER_MIN) / 10);
  const span = t.overview.lastMinutes(RATE_OVER_MIN);
  return (
    <>
      <Figure
        name={`${t.overview.completedRate}, ${t.overview.perMinute}`}
        value={perMinute(completed)}
        remark={span}
      />
      <Figure
        name={`${t.overview.failedRate}, ${t.overview.perMinute}`}
        value={perMinute(failed)}
        remark={`${span} · ${t.overview.failureShare(format.percent(failed / (completed + failed)))}`}
      />
    </>
  );
}
