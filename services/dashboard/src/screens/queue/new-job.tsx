/** A new job, with what is usual filled in. */
import { type ReactNode, useMemo, useState } from "react";
import { useApp, useLive } from "@/app/context";
import { useCreate } from "@/app/use-create";
import { type OperateText, useOperateText } from "@/farm/operate-words";
import { findPhones } from "@/farm/phone-names";
import type { FleetStore } from "@/lib/live/fleet";
import { createJob } from "@/lib/rest/commands";
import { DialogForm } from "@/ui/dialog-form";
import { Field, Remark, Segmented, SelectField } from "@/ui/field";
import { TextArea } from "@/ui/text-area";
import { type Draft, EMPTY, type Fault, faultsOf, jobOf, SCRIPTS, TARGETS } from "./new-job-draft";
import { StartField } from "./schedule";
import { startFault } from "./start-time";

interface NewJobProps {
  /** Ids of the phones that it is for, if some were selected. */
  readonly phones?: readonly string[];
  readonly close: () => void;
  readonly created: (job: string) => void;
}

export function NewJob({ phones = [], close, created }: NewJobProps): ReactNode {
  const t = useOperateText();
  const { client, toasts } = useApp();
  const { fleet } = useLive();
  const [draft, setDraft] = useState<Draft>(() =>
    phones.length === 0 ? EMPTY : { ...EMPTY, ...selected(fleet, phones) },
  );
  const [isTried, setIsTried] = useState(false);
  const faults = faultsOf(draft);
  const create = useCreate(
    (job: ReturnType<typeof jobOf>, key) => createJob(client, job, key),
    (job) => {
      toasts.show({ kind: "done", title: t.newJob.created(job.title ?? t.queue.untitled) });
      created(job.id);
    },
  );
  const set = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const text = (name: keyof Draft) => ({
    value: String(draft[name]),
    onChange: (event: { target: { value: string } }) => set({ [name]: event.target.value }),
  });
  const wrong = (fault: Fault, words: string) => (isTried && faults.has(fault) ? words : undefined);

  function submit(): void {
    setIsTried(true);
    if (faults.size === 0) create.mutate(jobOf(draft));
  }

  return (
    <DialogForm
      close={close}
      title={t.newJob.title}
      width="w-xl"
      noValidate
      submit={submit}
      yes={create.isPending ? t.newJob.creating : t.newJob.create}
      disabled={create.isPending}
    >
      <Field label={`${t.newJob.name} (${t.common.optional})`} maxLength={200} autoFocus {...text("title")} />
      <Field
        label={t.newJob.address}
        type="url"
        placeholder={t.newJob.addressHint}
        wrong={wrong("address", t.newJob.addressWrong)}
        {...text("address")}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label={t.newJob.script}
          value={draft.script}
          choices={SCRIPTS.map((value) => ({ value, label: t.queue.scripts[value] }))}
          onChange={(script) => set({ script })}
        />
        <Group label={`${t.newJob.duration} (${t.newJob.percent})`} wrong={wrong("duration", t.newJob.durationWrong)}>
          <NumberBox label={`${t.newJob.duration} 1`} {...text("from")} />
          <span aria-hidden="true">–</span>
          <NumberBox label={`${t.newJob.duration} 2`} {...text("to")} />
        </Group>
      </div>
      <Group label={`${t.newJob.chances} (${t.newJob.percent})`} wrong={wrong("chances", t.newJob.chancesWrong)}>
        {(["like", "comment", "playlist"] as const).map((name) => (
          <span key={name} className="flex items-center gap-2 text-sm text-ink-3">
            <span aria-hidden="true" className="truncate">
              {t.queue[name]}
            </span>
            <NumberBox label={t.queue[name]} {...text(name)} />
          </span>
        ))}
      </Group>
      <Which draft={draft} set={set} wrong={wrong} />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label={t.operate.priority}
          type="number"
          hint={t.operate.priorityHint}
          wrong={wrong("priority", t.operate.priorityWrong)}
          {...text("priority")}
        />
        <StartField
          value={draft.start}
          onChange={(start) => set({ start })}
          wrong={wrong("start", t.operate.startWrong[startFault(draft.start, Date.now()) ?? "noTime"])}
        />
      </div>
      <label className="flex items-center gap-2 text-sm pointer-coarse:min-h-9">
        <input
          type="checkbox"
          className="size-4 accent-(--accent)"
          checked={draft.isHeldBack}
          onChange={(event) => set({ isHeldBack: event.target.checked })}
        />
        {t.newJob.startPaused}
      </label>
    </DialogForm>
  );
}

function Which({
  draft,
  set,
  wrong,
}: {
  draft: Draft;
  set: (part: Partial<Draft>) => void;
  wrong: (fault: Fault, words: string) => string | undefined;
}): ReactNode {
  const t = useOperateText();
  const { fleet } = useLive();
  const lists = useMemo(
    () => ({
      group: [...new Set([...fleet.devices.values()].map((device) => device.group))].sort(),
      pc: [...fleet.pcs.keys()].sort(),
    }),
    [fleet],
  );
  const choose = (target: Draft["target"]) =>
    set({ target, group: draft.group || (lists.group[0] ?? ""), pc: draft.pc || (lists.pc[0] ?? "") });
  const named = draft.target === "group" || draft.target === "pc" ? draft.target : null;
  const words = { all: "", group: t.operate.groupWrong, pc: t.operate.pcWrong, phones: phonesWrong(t, draft) };
  return (
    <>
      <Group label={t.newJob.target} wrong={wrong("target", words[draft.target])}>
        <Segmented
          label={t.newJob.target}
          value={draft.target}
          choices={TARGETS.map((value) => ({
            value,
            label: value === "phones" ? t.operate.namedPhones : t.newJob.targets[value],
          }))}
          onChange={choose}
        />
        {named !== null && (
          <SelectField
            label={named === "group" ? t.newJob.groupId : t.newJob.pcId}
            isLabelHidden
            className="min-w-32 flex-1"
            value={draft[named]}
            choices={lists[named].map((value) => ({ value, label: value }))}
            onChange={(value) => set({ [named]: value })}
          />
        )}
      </Group>
      {draft.target === "phones" && (
        <TextArea
          label={t.operate.phones}
          value={draft.phones}
          hint={draft.found.ids.length === 0 ? t.operate.phonesHint : t.operate.phonesFound(draft.found.ids.length)}
          wrong={draft.found.unknown.length > 0 ? phonesWrong(t, draft) : undefined}
          onChange={(phones) => set({ phones, found: findPhones(fleet, phones) })}
        />
      )}
      <Field
        label={`${t.operate.atMost} (${t.common.optional})`}
        inputMode="numeric"
        className="w-60"
        hint={t.operate.atMostHint}
        value={draft.count}
        wrong={wrong("count", t.newJob.countWrong)}
        onChange={(event) => set({ count: event.target.value })}
      />
    </>
  );
}

function selected(fleet: FleetStore, ids: readonly string[]): Partial<Draft> {
  const phones = ids.map((id) => fleet.devices.get(id)?.serial ?? id).join("\n");
  return { target: "phones", phones, found: findPhones(fleet, phones) };
}

const UNKNOWN_SHOWN = 5;

function phonesWrong(t: OperateText, { found: { unknown } }: Draft): string {
  if (unknown.length === 0) return t.operate.phonesWrong;
  const more = unknown.length > UNKNOWN_SHOWN ? " …" : "";
  return t.operate.phonesUnknown(unknown.slice(0, UNKNOWN_SHOWN).join(", ") + more);
}

function Group({
  label,
  wrong,
  children,
}: {
  label: string;
  wrong?: string | undefined;
  children: ReactNode;
}): ReactNode {
  return (
    <fieldset>
      <legend className="mb-1 block text-sm font-medium text-ink-2">{label}</legend>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">{children}</div>
      <Remark wrong={wrong} />
    </fieldset>
  );
}

function NumberBox(props: {
  label: string;
  value: string;
  onChange: (event: { target: { value: string } }) => void;
}): ReactNode {
  return (
    <input
      inputMode="numeric"
      aria-label={props.label}
      value={props.value}
      onChange={props.onChange}
      className="h-8 w-16 rounded-md border pointer-coarse:h-9 border-line-strong bg-surface px-2 text-right text-sm text-ink"
    />
  );
}
