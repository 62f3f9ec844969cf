/** How the render queue is, in numbers; and its workers. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApp } from "@/app/context";
import { useReadAfter } from "@/app/use-rows";
import { useText } from "@/lib/i18n/i18n";
import { rows } from "@/lib/rest/read";
import type { RenderFiguresRow, RenderWorkerRow } from "@/lib/rest/render-rows";
import { useFormat } from "@/lib/time/format";
import { Figure } from "@/ui/figure";
import { Dot, type Tone } from "@/ui/status";

const LOOK_EVERY_MS = 10_000;
const WORKERS_SHOWN = 6;
const KEYS = [["render-figures"], ["render-workers"]];

const TONES: Record<RenderWorkerRow["status"], Tone> = { busy: "busy", idle: "online", gone: "error" };

/** `waiting`: in the list below, which may hold fewer than there are. One number, so that the two never disagree. */
export function Figures({
  waiting,
  isMore,
  open,
}: {
  waiting: number | undefined;
  isMore: boolean;
  open: (render: string) => void;
}): ReactNode {
  const t = useText();
  const format = useFormat();
  const { client } = useApp();
  useReadAfter(["render_queue"], KEYS);
  const figures = useQuery({
    queryKey: ["render-figures"],
    queryFn: async () => (await rows<RenderFiguresRow>(client, "render_figures", {}))[0],
    refetchInterval: LOOK_EVERY_MS,
  });
  const workers = useQuery({
    queryKey: ["render-workers"],
    queryFn: () => rows<RenderWorkerRow>(client, "render_workers", { order: "worker_id", limit: 200 }),
    refetchInterval: LOOK_EVERY_MS,
  });
  const { data } = figures;
  const unknown = figures.error === null ? "…" : "–";
  return (
    <div className="grid grid-cols-2 gap-4 xl:grid-cols-[1fr_1fr_1fr_2fr]">
      <Figure
        name={t.renders.figures.waiting}
        value={waiting === undefined ? "…" : `${format.number(waiting)}${isMore ? "+" : ""}`}
        remark={t.renders.figures.waitingRemark}
      />
      <Figure
        name={t.renders.figures.took}
        value={
          data === undefined
            ? unknown
            : data.avg_duration_seconds === null
              ? "–"
              : format.duration(Math.round(data.avg_duration_seconds) * 1000)
        }
        remark={t.renders.figures.tookRemark}
      />
      <Figure
        name={t.renders.figures.success}
        value={
          data === undefined ? unknown : data.success_rate === null ? "–" : format.percent(data.success_rate / 100)
        }
        remark={t.renders.figures.successRemark}
      />
      <Workers workers={workers.data} hasFailed={workers.error !== null} open={open} />
    </div>
  );
}

function Workers({
  workers,
  hasFailed,
  open,
}: {
  workers: readonly RenderWorkerRow[] | undefined;
  hasFailed: boolean;
  open: (render: string) => void;
}): ReactNode {
  const t = useText();
  const shown = workers?.slice(0, WORKERS_SHOWN) ?? [];
  const more = (workers?.length ?? 0) - shown.length;
  return (
    <section className="card flex flex-col gap-1.5 px-4 py-3">
      <h2 className="caption">{t.renders.workers}</h2>
      {workers === undefined ? (
        <p className="text-sm text-ink-3">{hasFailed ? t.errors.away : t.common.loading}</p>
      ) : workers.length === 0 ? (
        <p className="text-sm text-ink-3">{t.renders.noWorkers}</p>
      ) : (
        <ul className="grid gap-x-6 gap-y-1 sm:grid-cols-2">
          {shown.map((worker) => (
            <li key={worker.worker_id} className="flex min-w-0 items-center gap-2 text-sm">
              <Dot tone={TONES[worker.status]} />
              <span className="truncate font-medium" title={worker.worker_id}>
                {worker.worker_id}
              </span>
              <span className="shrink-0 text-ink-3">
                {worker.render_queue_id === null ? (
                  t.renders.workerStatus[worker.status]
                ) : (
                  <button
                    type="button"
                    className="rounded underline-offset-2 hover:underline"
                    onClick={() => open(String(worker.render_queue_id))}
                  >
                    {worker.status === "gone" ? `${t.renders.workerStatus.gone}, ` : ""}#{worker.render_queue_id}
                  </button>
                )}
              </span>
            </li>
          ))}
          {more > 0 && <li className="text-sm text-ink-3">{t.renders.moreWorkers(more)}</li>}
        </ul>
      )}
    </section>
  );
}
