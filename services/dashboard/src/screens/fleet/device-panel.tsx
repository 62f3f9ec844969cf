/** One phone: what it is doing, why, and what it did. */
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useApp, useLive, useMay } from "@/app/context";
import { useDialog } from "@/app/dialog-host";
import { usePast } from "@/app/past";
import { Cause, codeText } from "@/farm/code";
import { EventsLink } from "@/farm/events-link";
import { useJobTitles } from "@/farm/names";
import { useOperateText } from "@/farm/operate-words";
import { Why } from "@/farm/why";
import { useText } from "@/lib/i18n/i18n";
import { type Device, shownAs } from "@/lib/live/fleet";
import { useRow } from "@/lib/live/hooks";
import { resetDevices } from "@/lib/rest/commands";
import { randomKey } from "@/lib/rest/key";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Button } from "@/ui/button";
import { Facts, Section, SidePanel } from "@/ui/side-panel";
import { Unread } from "@/ui/states";
import { Badge, PhaseBadge, ShownBadge } from "@/ui/status";
import { useDeviceRuns } from "./device-history";
import { Evidence } from "./evidence";
import { Gantt } from "./gantt";
import { MovePhones } from "./move";
import { type Run, toneOfRun } from "./runs";

const RUNS_SHOWN = 30;

export function DevicePanel({ id, close }: { id: string; close: () => void }): ReactNode {
  const t = useText();
  const { fleet } = useLive();
  const device = useRow(fleet.devices, id);
  const history = useDeviceRuns(device, id);
  if (device === undefined) {
    return (
      <SidePanel title={t.device.title} close={close}>
        <p className="p-4 text-sm text-ink-3">{t.device.notFound}</p>
      </SidePanel>
    );
  }
  return (
    <SidePanel
      title={device.serial}
      badge={<ShownBadge shown={shownAs(device)} />}
      subtitle={`${device.pc} · ${device.group}`}
      actions={
        <>
          {device.errorCode !== null && <Reset device={device} />}
          <Move device={device} />
        </>
      }
      close={close}
    >
      <State device={device} />
      <InHand device={device} />
      <Section title={t.device.why}>
        <Why subject={{ device_id: id }} />
      </Section>
      <Section title={t.device.day}>
        {history.data === undefined ? <Unread of={history} /> : <Gantt key={id} runs={history.data} />}
      </Section>
      <Section title={t.device.history} aside={<EventsLink entity={id}>{t.device.events}</EventsLink>}>
        <Runs device={device} runs={history.data?.slice(0, RUNS_SHOWN) ?? []} />
      </Section>
    </SidePanel>
  );
}

function State({ device }: { device: Device }): ReactNode {
  const t = useText();
  const isPast = usePast() !== null;
  const format = useFormat();
  const facts: [string, ReactNode][] = [];
  if (device.errorCode !== null) {
    const condition = device.errorCondition as keyof typeof t.conditions | null;
    const ends =
      device.errorUntil !== null
        ? t.device.errorUntil(format.moment(device.errorUntil))
        : condition !== null && Object.hasOwn(t.conditions, condition)
          ? t.conditions[condition]
          : t.device.needsReset;
    facts.push([t.shown.error, <span key="e">{`${codeText(t, device.errorCode)}, ${ends}`}</span>]);
  }
  if (device.heldUntil !== null) facts.push([t.shown.held, t.device.heldUntil(format.moment(device.heldUntil))]);
  if (!isPast) facts.push([t.device.capabilities, device.capabilities.join(", ") || t.device.noCapabilities]);
  if (facts.length === 0) return null;
  return (
    <Section title={t.device.state}>
      <Facts facts={facts} />
    </Section>
  );
}

function InHand({ device }: { device: Device }): ReactNode {
  const t = useText();
  const format = useFormat();
  const { fleet } = useLive();
  const assignment = useRow(fleet.assignments, device.assignment);
  const title = useJobTitles(assignment === undefined ? [] : [assignment.job]);
  if (assignment === undefined) {
    return (
      <Section title={t.device.current}>
        <p className="text-sm text-ink-3">{t.device.nothingInHand}</p>
      </Section>
    );
  }
  return (
    <Section title={t.device.current} aside={<PhaseBadge phase={assignment.phase} />}>
      <Link to="/queue" search={{ job: assignment.job }} className="font-medium underline-offset-2 hover:underline">
        {title(assignment.job)}
      </Link>
      <p className="text-sm text-ink-3">
        {t.device.attempt(assignment.attempt)}
        {assignment.phase === "running" && assignment.timeoutAt !== null && (
          <> · {t.device.timesOut(format.moment(assignment.timeoutAt))}</>
        )}
        {assignment.retryDueAt !== null && <> · {t.device.retryAt(format.clock(assignment.retryDueAt))}</>}
      </p>
      {assignment.phase === "running" && (
        <div className="mt-2 flex items-center gap-3">
          <div className="h-2 flex-1 overflow-hidden rounded-full bg-busy-soft">
            <div
              className="h-full bg-busy transition-[width] duration-500"
              style={{ width: `${assignment.progress}%` }}
            />
          </div>
          <span className="w-10 text-right text-sm">{assignment.progress} %</span>
        </div>
      )}
      {assignment.isAdPlaying && <p className="mt-1 text-sm text-held-ink">{t.device.adPlaying}</p>}
    </Section>
  );
}

function Runs({ device, runs }: { device: Device; runs: readonly Run[] }): ReactNode {
  const t = useText();
  const format = useFormat();
  const now = useNow(10_000);
  const title = useJobTitles(runs.map((run) => run.job));
  if (runs.length === 0) return <p className="text-sm text-ink-3">{t.device.noHistory}</p>;
  const words = {
    completed: t.attemptEvents.SUCCEEDED,
    failed: t.attemptEvents.FAILED,
    lost: t.attemptEvents.ROLLED_BACK,
    withdrawn: t.attemptEvents.CANCELLED,
  };
  return (
    <ol className="flex flex-col">
      {runs.map((run) => (
        <li
          key={run.key}
          className="grid grid-cols-[1fr_auto] gap-x-3 border-t border-line py-2 text-sm first:border-t-0 first:pt-0"
        >
          <span className="flex min-w-0 items-center gap-2">
            <Badge tone={toneOfRun(run)}>
              {run.end === null ? t.phases.running : run.isFinal ? t.attemptEvents.FAILED_FINAL : words[run.end]}
            </Badge>
            <Link to="/queue" search={{ job: run.job }} className="truncate underline-offset-2 hover:underline">
              {title(run.job)}
            </Link>
          </span>
          <span className="text-right text-ink-3" title={format.full(run.offeredAt)}>
            {format.ago(run.endedAt ?? run.offeredAt, now)}
          </span>
          <span className="truncate text-ink-3">
            {t.device.attempt(run.attempt)}
            <Cause code={run.code} message={run.message} />
          </span>
          <span className="text-right text-ink-3">
            {run.startedAt !== null && format.duration((run.endedAt ?? now) - run.startedAt)}
          </span>
          <Evidence run={run} device={device} />
        </li>
      ))}
    </ol>
  );
}

function Move({ device }: { device: Device }): ReactNode {
  const t = useOperateText();
  const mayMove = useMay("move-device");
  const show = useDialog();
  if (!mayMove) return null;
  return (
    <Button icon="pc" onClick={() => show((close) => <MovePhones ids={[device.id]} close={close} />)}>
      {t.operate.move}
    </Button>
  );
}

export function Reset({ device }: { device: Device }): ReactNode {
  const t = useText();
  const { client, toasts } = useApp();
  const mayReset = useMay("reset-device");
  const reset = useMutation({
    mutationFn: () => {
      const key = randomKey();
      return client.sensitive(t.device.resetLabel(device.serial), () => resetDevices(client, [device.id], key));
    },
    onSuccess: () => toasts.show({ kind: "done", title: t.device.resetDone(device.serial) }),
  });
  if (!mayReset) return null;
  return (
    <Button icon="reset" disabled={reset.isPending} onClick={() => reset.mutate()}>
      {t.device.reset}
    </Button>
  );
}
