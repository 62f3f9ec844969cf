/** The day of a phone: one line for each job, one block for each run. */
import { type ReactNode, useState } from "react";
import { useJobTitles } from "@/farm/names";
import { useText } from "@/lib/i18n/i18n";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { FILLS } from "@/ui/bar";
import { Segmented } from "@/ui/field";
import { type Run, toneOfRun } from "./runs";

const LANES_MAX = 8;
const LANE_HEIGHT = 18;
const BLOCK_MIN_PCT = 0.4;
const TICKS = 4;
const HOUR_MS = 3_600_000;
const RANGES = [1, 6, 24] as const;

export function Gantt({ runs }: { runs: readonly Run[] }): ReactNode {
  const t = useText();
  const format = useFormat();
  const now = useNow(5_000);
  const [hours, setHours] = useState<(typeof RANGES)[number]>(() => firstRange(runs, now));
  const from = now - hours * HOUR_MS;
  const inRange = runs.filter((run) => (run.endedAt ?? now) >= from);
  const jobs = [...new Set(inRange.map((run) => run.job))].slice(0, LANES_MAX);
  const title = useJobTitles(jobs);
  const x = (at: number) => (100 * (Math.max(at, from) - from)) / (now - from);
  return (
    <>
      <div className="mb-2 flex items-center justify-between">
        <Segmented
          label={t.device.day}
          value={String(hours)}
          choices={RANGES.map((value) => ({ value: String(value), label: `${value}${t.time.units.h}` }))}
          onChange={(value) => setHours(RANGES.find((range) => String(range) === value) ?? 24)}
        />
        <span className="text-xs text-ink-3">
          {t.device.summary(
            inRange.filter((run) => run.end === "completed").length,
            inRange.filter((run) => run.end === "failed").length,
          )}
        </span>
      </div>
      {jobs.length === 0 ? (
        <p className="py-2 text-sm text-ink-3">{t.device.nothingInDay}</p>
      ) : (
        <div role="img" aria-label={t.device.dayLabel} className="flex flex-col">
          {jobs.map((job) => (
            <div key={job} className="flex items-center gap-2" style={{ height: LANE_HEIGHT + 4 }}>
              <span className="w-32 shrink-0 truncate text-xs text-ink-2" title={title(job)}>
                {title(job)}
              </span>
              <div className="relative flex-1 rounded-sm bg-sunken" style={{ height: LANE_HEIGHT }}>
                {inRange.map(
                  (run) =>
                    run.job === job && (
                      <Block
                        key={run.key}
                        run={run}
                        from={x(run.startedAt ?? run.offeredAt)}
                        to={x(run.endedAt ?? now)}
                      />
                    ),
                )}
              </div>
            </div>
          ))}
          <div className="relative ml-34 h-4 text-[0.6875rem] text-ink-3">
            {Array.from({ length: TICKS + 1 }, (_, index) => (
              <span
                // biome-ignore lint/suspicious/noArrayIndexKey: ticks have their place and nothing else
                key={index}
                className={`absolute top-0.5 ${index === 0 ? "" : index === TICKS ? "-translate-x-full" : "-translate-x-1/2"}`}
                style={{ left: `${(100 * index) / TICKS}%` }}
              >
                {index === TICKS
                  ? t.common.now
                  : format
                      .moment(from + ((now - from) * index) / TICKS)
                      .split(",")
                      .at(-1)}
              </span>
            ))}
          </div>
        </div>
      )}
    </>
  );
}

function Block({ run, from, to }: { run: Run; from: number; to: number }): ReactNode {
  const t = useText();
  const format = useFormat();
  const span = (run.endedAt ?? Date.now()) - (run.startedAt ?? run.offeredAt);
  const text = `${format.clock(run.startedAt ?? run.offeredAt)} · ${format.duration(span)} · ${t.device.attempt(run.attempt)}${run.code === null ? "" : ` · ${run.code}`}`;
  return (
    <span
      title={text}
      className={`absolute inset-y-0.5 rounded-[2px] ${FILLS[toneOfRun(run)]} ${run.startedAt === null ? "opacity-45" : ""}`}
      style={{ left: `${from}%`, width: `${Math.max(BLOCK_MIN_PCT, to - from)}%` }}
    />
  );
}

/** The shortest that shows some work. */
function firstRange(runs: readonly Run[], now: number): (typeof RANGES)[number] {
  const oldest = runs.at(-1)?.offeredAt ?? now;
  return RANGES.find((hours) => now - oldest <= hours * HOUR_MS) ?? 24;
}
