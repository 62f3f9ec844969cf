/** How long a render was in each stage, against what is usual. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApp } from "@/app/context";
import { useText } from "@/lib/i18n/i18n";
import { rows } from "@/lib/rest/read";
import type { StageRow } from "@/lib/rest/render-rows";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Unread } from "@/ui/states";
import type { Render } from "./render";

type Verdict = NonNullable<StageRow["verdict"]>;

const FILLS: Record<Verdict, string> = { below: "bg-busy", within: "bg-online", above: "bg-held" };
const INKS: Record<Verdict, string> = { below: "text-ink-3", within: "text-online-ink", above: "text-held-ink" };
/** What stands beyond the usual still fits. */
const ROOM = 1.15;

export function Stages({ render }: { render: Render }): ReactNode {
  const t = useText();
  const { client } = useApp();
  const answer = useQuery({
    // Each stage that it comes to adds one.
    queryKey: ["render-stages", render.id, render.status],
    queryFn: () => rows<StageRow>(client, "render_stages", { render_queue_id: `eq.${render.id}`, order: "number" }),
    placeholderData: (before) => before,
  });
  const { data, dataUpdatedAt } = answer;
  if (data === undefined) return <Unread of={answer} />;
  if (data.length === 0) return <p className="text-sm text-ink-3">{t.renders.noStages}</p>;
  return (
    <ul className="flex flex-col gap-2.5">
      {data.map((stage) => (
        <StageLine key={stage.stage} stage={stage} readAt={dataUpdatedAt} />
      ))}
    </ul>
  );
}

function StageLine({ stage, readAt }: { stage: StageRow; readAt: number }): ReactNode {
  const t = useText();
  const format = useFormat();
  const now = useNow(1_000);
  const seconds = stage.under_way ? stage.seconds + Math.max(0, now - readAt) / 1000 : stage.seconds;
  const verdict: Verdict | null = stage.under_way && seconds > stage.seconds_max ? "above" : stage.verdict;
  const full = Math.max(seconds, stage.seconds_max) * ROOM;
  const secondsText = (value: number) => {
    if (value < 1) return `${Math.round(value * 1000)} ms`;
    return value < 10
      ? `${format.number(Math.round(value * 10) / 10)}${t.time.units.s}`
      : format.duration(value * 1000);
  };
  const at = (value: number) => `${(100 * value) / full}%`;
  return (
    <li>
      <p className="mb-1 flex items-baseline gap-2 text-sm">
        <span className={stage.under_way ? "font-medium" : ""}>{t.renders.status[stage.stage]}</span>
        <span className="ml-auto font-medium">{secondsText(seconds)}</span>
        <span className={`w-36 truncate text-right text-xs ${verdict === null ? "text-ink-3" : INKS[verdict]}`}>
          {verdict === null || verdict === "within"
            ? t.renders.usual(stage.seconds_min, stage.seconds_max)
            : t.renders.verdicts[verdict](stage.seconds_min, stage.seconds_max)}
        </span>
      </p>
      <div className="relative h-2 overflow-hidden rounded-full bg-sunken">
        <div
          className="absolute inset-y-0 bg-online-soft"
          style={{ left: at(stage.seconds_min), width: at(stage.seconds_max - stage.seconds_min) }}
        />
        <div
          className={`absolute inset-y-0 left-0 rounded-full ${verdict === null ? "bg-busy" : FILLS[verdict]}`}
          style={{ width: at(seconds) }}
        />
      </div>
    </li>
  );
}
