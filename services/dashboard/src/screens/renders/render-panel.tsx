/** One render: where it stands, how long its stages took, what became of it, and its story. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { useApp, useMay } from "@/app/context";
import { usePast } from "@/app/past";
import { useOverlaid } from "@/app/use-rows";
import { Actor } from "@/farm/actors";
import { Erase } from "@/farm/erase";
import { WorkWhy } from "@/farm/work-why";
import { useText } from "@/lib/i18n/i18n";
import { rows } from "@/lib/rest/read";
import { type AuditRow, RENDER_COLUMNS, type RenderRow } from "@/lib/rest/render-rows";
import type { EventRow } from "@/lib/rest/rows";
import { useFormat } from "@/lib/time/format";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { Facts, Section, SidePanel } from "@/ui/side-panel";
import { Unread } from "@/ui/states";
import { deedsFor, RenderActions } from "./actions";
import { Film } from "./film";
import { hasEnded } from "./past-renders";
import { isUnderWay, oneRender, type Render, renderOf } from "./render";
import { StageBar } from "./stage-bar";
import { Stages } from "./stages";
import { faultText, RenderBadge } from "./status-badge";
import { type Chapter, TOLD_BESIDES, timelineOf } from "./timeline";

interface RenderPanelProps {
  readonly id: string;
  /** Of those that have not ended, and of the past: what is known of it here. */
  readonly known: Render | undefined;
  readonly close: () => void;
}

function useRender(id: string, known: Render | undefined) {
  const { client } = useApp();
  const past = usePast();
  const read = useQuery({
    queryKey: ["ended-renders", "one", id],
    queryFn: async () => {
      const [row] = await rows<RenderRow>(client, "render_queue", { select: RENDER_COLUMNS, id: `eq.${id}` });
      return row === undefined ? null : renderOf(row);
    },
    enabled: known === undefined && past === null,
  });
  const list = useMemo(() => oneRender(id), [id]);
  const found = useMemo(() => (read.data == null ? [] : [read.data]), [read.data]);
  const [render = read.data] = useOverlaid("render_queue", found, list, { isAll: true, queryKey: ["ended-renders"] });
  return { read, render: known ?? (past === null ? render : null) };
}

export function RenderPanel({ id, known, close }: RenderPanelProps): ReactNode {
  const t = useText();
  const past = usePast();
  const { render, read } = useRender(id, known);
  const mayChange = useMay("change-render");
  const mayErase = useMay("erase");
  const fault = useCallback((code: string) => faultText(t, code), [t]);
  const stage = useCallback((name: string) => t.renders.status[name as Render["status"]] ?? name, [t]);
  if (render === undefined || render === null) {
    return (
      <SidePanel title={`${t.renders.render} #${id}`} close={close}>
        <Unread of={read} absent={render === null && (past === null ? t.renders.notFound : t.renders.notThen)} />
      </SidePanel>
    );
  }
  const subtitle = [`#${render.id}`, render.composition_id, render.broadcast_date].filter((part) => part !== "");
  return (
    <SidePanel
      title={render.composition_name}
      badge={<RenderBadge status={render.status} />}
      subtitle={subtitle.join(" · ")}
      close={close}
    >
      {((mayChange && deedsFor(render).length > 0) || (mayErase && hasEnded(render))) && (
        <div className="flex justify-end gap-1 border-b border-line px-4 py-2">
          {hasEnded(render) && (
            <Erase what="renders" id={render.id} name={`${render.composition_name} #${render.id}`} />
          )}
          <RenderActions render={render} />
        </div>
      )}
      {isUnderWay(render) && (
        <div className="border-b border-line px-4 py-3">
          <StageBar render={render} />
        </div>
      )}
      {render.error_code !== null && <Fault render={render} />}
      <WorkWhy of={`renders/${render.id}`} fault={fault} stage={stage} />
      {past === null && (
        <Section title={t.renders.stages}>
          <Stages render={render} />
        </Section>
      )}
      {render.unmapped_fields.length > 0 && <Unmapped render={render} />}
      {render.output_file_path !== null && <Output render={render} />}
      <State render={render} />
      <Section title={t.renders.story}>
        <Story render={render} />
      </Section>
      {past === null && <GfxData id={id} />}
    </SidePanel>
  );
}

function Fault({ render }: { render: Render }): ReactNode {
  const t = useText();
  const format = useFormat();
  const isOver = render.status === "failed";
  return (
    <div
      className={`border-b border-line px-4 py-2.5 text-sm ${isOver ? "bg-error-soft text-error-ink" : "bg-held-soft text-held-ink"}`}
    >
      <p className="font-medium" title={render.error_code ?? undefined}>
        {faultText(t, render.error_code ?? "")}
      </p>
      {render.error_message !== null && <p className="break-words">{render.error_message}</p>}
      {render.retry_due_at !== null && <p>{t.renders.again(format.clock(render.retry_due_at))}</p>}
    </div>
  );
}

/** They were not drawn: nobody said where they go. */
function Unmapped({ render }: { render: Render }): ReactNode {
  const t = useText();
  return (
    <Section
      title={t.renders.unmapped}
      aside={
        <Link
          to="/renders"
          search={{ view: "mapping", map: render.composition_id }}
          className="text-xs text-ink-3 underline-offset-2 hover:underline"
        >
          {t.renders.toMapping}
        </Link>
      }
    >
      <ul className="flex flex-wrap gap-1.5">
        {render.unmapped_fields.map((field) => (
          <li key={field} className="rounded bg-held-soft px-1.5 py-0.5 text-xs break-all text-held-ink">
            {field}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Output({ render }: { render: Render }): ReactNode {
  const t = useText();
  const format = useFormat();
  const past = usePast();
  const path = render.output_file_path ?? "";
  return (
    <Section title={t.renders.file}>
      {past === null && render.status === "completed" && <Film id={render.id} name={render.composition_name} />}
      <p className="mb-1.5 flex items-start gap-1">
        <span className="min-w-0 flex-1 font-mono text-xs leading-5 break-all">{path}</span>
        <CopyButton text={path} />
      </p>
      <Facts
        facts={[
          [t.renders.size, render.output_size_bytes === null ? "–" : t.renders.bytes(render.output_size_bytes)],
          [
            t.renders.took,
            render.duration_seconds === null ? "–" : format.duration(Math.round(render.duration_seconds) * 1000),
          ],
          [
            "SHA-256",
            <span key="sha" className="font-mono text-xs break-all">
              {render.output_sha256}
            </span>,
          ],
        ]}
      />
    </Section>
  );
}

function State({ render }: { render: Render }): ReactNode {
  const t = useText();
  const format = useFormat();
  const facts: [string, ReactNode][] = [[t.renders.requested, format.full(render.created_at)]];
  if (render.started_at !== null) facts.push([t.renders.started, format.full(render.started_at)]);
  if (render.cue_item_id !== null) facts.push([t.renders.cue, render.cue_item_id]);
  if (render.worker_id !== null) facts.push([t.renders.worker, render.worker_id]);
  if (render.lock_expires_at !== null) facts.push([t.renders.lease, format.moment(render.lock_expires_at)]);
  if (render.run > 1) facts.push([t.renders.runs, format.number(render.run)]);
  if (render.recovery_count > 0) facts.push([t.renders.recoveries, format.number(render.recovery_count)]);
  if (render.nexrender_job_id !== null) {
    facts.push([
      "nexrender",
      <span key="n" className="font-mono text-xs break-all">
        {render.nexrender_job_id}
      </span>,
    ]);
  }
  return (
    <Section title={t.common.details}>
      <Facts facts={facts} />
    </Section>
  );
}

const STORY_MAX = 200;

function Story({ render }: { render: Render }): ReactNode {
  const t = useText();
  const { client } = useApp();
  const past = usePast();
  const answer = useQuery({
    // Its last change is part of the key: each may be a chapter.
    queryKey: ["render-story", render.id, render.updated_at, past?.iso],
    queryFn: async () => {
      const until = (column: string) => (past === null ? {} : { [column]: `lte.${past.iso}` });
      const [audit, events] = await Promise.all([
        rows<AuditRow>(client, "render_queue_audit", {
          render_queue_id: `eq.${render.id}`,
          ...until("changed_at"),
          order: "id.desc",
          limit: STORY_MAX,
        }),
        rows<EventRow>(client, "events", {
          context: "eq.render",
          entities: `cs.{${render.id}}`,
          type: `in.(${TOLD_BESIDES.join(",")})`,
          ...until("at"),
          order: "at.desc",
          limit: STORY_MAX,
        }),
      ]);
      return timelineOf(audit, events);
    },
    placeholderData: (before) => before,
  });
  const { data } = answer;
  if (data === undefined) return <Unread of={answer} />;
  if (data.length === 0) return <p className="text-sm text-ink-3">{t.renders.noStory}</p>;
  return (
    <ol className="ml-1 border-l border-line-strong pl-3">
      {data.map((chapter) => (
        <ChapterLine key={chapter.key} chapter={chapter} />
      ))}
    </ol>
  );
}

function ChapterLine({ chapter }: { chapter: Chapter }): ReactNode {
  const t = useText();
  const format = useFormat();
  const title =
    chapter.status !== null
      ? t.renders.status[chapter.status]
      : chapter.retry !== null
        ? t.renders.retry(chapter.retry)
        : t.renders.reasons.stale;
  const reason = chapter.reason !== null && chapter.reason !== "stale" ? faultText(t, chapter.reason) : null;
  return (
    <li className="py-1 text-sm">
      <p className="flex items-baseline gap-2">
        <span className="w-16 shrink-0 text-ink-3" title={format.full(chapter.at)}>
          {format.clock(chapter.at)}
        </span>
        <span className={chapter.status === null ? "text-held-ink" : "font-medium"}>{title}</span>
        {reason !== null && <span className="min-w-0 truncate text-ink-2">{reason}</span>}
        <span className="ml-auto min-w-0 truncate text-xs text-ink-3" title={chapter.by}>
          {chapter.worker ?? <Actor by={chapter.by} />}
        </span>
      </p>
      {chapter.message !== null && <p className="ml-18 text-xs break-words text-ink-3">{chapter.message}</p>}
      {chapter.dueAt !== null && (
        <p className="ml-18 text-xs text-ink-3">{t.renders.again(format.clock(chapter.dueAt))}</p>
      )}
    </li>
  );
}

/** Sealed in the log: it is opened for those who may see it, when they ask. */
function GfxData({ id }: { id: string }): ReactNode {
  const t = useText();
  const { client } = useApp();
  const maySee = useMay("see-gfx-data");
  const [isWanted, setIsWanted] = useState(false);
  const answer = useQuery({
    queryKey: ["render-gfx", id],
    queryFn: async () => {
      const query = { select: "gfx_data,gfx_data_error", id: `eq.${id}` };
      const [row] = await rows<{ gfx_data: unknown; gfx_data_error: string | null }>(client, "render_queue", query);
      return row ?? null;
    },
    enabled: isWanted && maySee,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { data } = answer;
  if (!maySee) return null;
  const text = JSON.stringify(data?.gfx_data, null, 2);
  return (
    <Section title={t.renders.gfxData} aside={data?.gfx_data != null && <CopyButton text={text} />}>
      {!isWanted ? (
        <Button onClick={() => setIsWanted(true)}>{t.renders.showGfxData}</Button>
      ) : data === undefined ? (
        <Unread of={answer} />
      ) : data?.gfx_data == null ? (
        <p className="text-sm text-held-ink">{data?.gfx_data_error ?? t.common.none}</p>
      ) : (
        <pre className="rounded-md break-words whitespace-pre-wrap bg-sunken p-3 font-mono text-xs leading-5">
          {text}
        </pre>
      )}
    </Section>
  );
}
