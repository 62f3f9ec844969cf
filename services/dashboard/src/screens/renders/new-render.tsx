/** A new render: its composition, and what is to stand in its fields. */
import { type ReactNode, useId, useState } from "react";
import { Confirm } from "@/app/confirm";
import { useApp } from "@/app/context";
import { useCreate } from "@/app/use-create";
import { useText } from "@/lib/i18n/i18n";
import { createRender } from "@/lib/rest/render-commands";
import type { FieldRow } from "@/lib/rest/render-rows";
import { ComboboxField, chosenOf } from "@/ui/combobox";
import { Dialog } from "@/ui/dialog";
import { DialogForm } from "@/ui/dialog-form";
import { Field, Remark, Segmented } from "@/ui/field";
import { Unread } from "@/ui/states";
import { inOrder, useCompositions, useFields } from "./compositions";
import {
  type Draft,
  EMPTY,
  type Fault,
  faultsOf,
  gfxOf,
  isBlank,
  MODES,
  type Mode,
  renderWished,
  valuesOf,
} from "./new-render-draft";

export function NewRender({ close, created }: { close: () => void; created: (render: string) => void }): ReactNode {
  const t = useText();
  const { client, toasts } = useApp();
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const [isTried, setIsTried] = useState(false);
  const [isAsking, setIsAsking] = useState(false);
  const compositions = useCompositions();
  const choices = (compositions.data ?? []).map(({ id, name }) => ({ value: id, name }));
  const chosen = chosenOf(choices, draft.composition);
  const fields = useFields(chosen?.value);
  const names = (fields.data ?? []).map((field) => field.field_name);
  const faults = faultsOf(draft, chosen?.value);
  const wished = chosen === undefined ? undefined : renderWished(draft, chosen.value, names);
  const create = useCreate(
    (render: NonNullable<typeof wished>, key) => createRender(client, render, key),
    (row) => {
      toasts.show({ kind: "done", title: t.newRender.created(row.composition_name, row.id) });
      created(String(row.id));
    },
  );
  const set = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const wrong = (fault: Fault, words: string) => (isTried && faults.has(fault) ? words : undefined);
  const unknown =
    compositions.data?.length === 0 ? t.newRender.noneKnown : t.newRender.compositionWrong(draft.composition.trim());

  function submit(): void {
    setIsTried(true);
    if (faults.size > 0 || wished === undefined) return;
    if (isBlank(wished.gfx_data)) setIsAsking(true);
    else create.mutate(wished);
  }

  if (compositions.error !== null && compositions.data === undefined) {
    return (
      <Dialog close={close} title={t.newRender.title} width="w-2xl">
        <Unread of={compositions} />
      </Dialog>
    );
  }
  return (
    <DialogForm
      close={close}
      title={t.newRender.title}
      width="w-2xl"
      noValidate
      submit={submit}
      yes={create.isPending ? t.newRender.creating : t.newRender.create}
      disabled={create.isPending || compositions.isPending || fields.isLoading}
    >
      <div className="grid gap-4 sm:grid-cols-[2fr_1fr_1fr]">
        <ComboboxField
          label={t.renders.composition}
          autoFocus
          value={draft.composition}
          choices={choices}
          empty={t.newRender.noneMatches}
          hint={chosen?.name || undefined}
          wrong={wrong("composition", unknown)}
          onChange={(composition) => set({ composition })}
        />
        <Field
          label={`${t.renders.cue} (${t.common.optional})`}
          value={draft.cue}
          wrong={wrong("cue", t.newRender.cueWrong)}
          onChange={(event) => set({ cue: event.target.value })}
        />
        <Field
          label={`${t.renders.day} (${t.common.optional})`}
          type="date"
          title={t.newRender.dayHint}
          value={draft.day}
          wrong={wrong("day", t.newRender.dayWrong)}
          onChange={(event) => set({ day: event.target.value })}
        />
      </div>
      <Data
        draft={draft}
        set={set}
        isChosen={chosen !== undefined}
        fields={fields.data}
        wrong={wrong("json", t.newRender.jsonWrong)}
      />
      {isAsking && wished !== undefined && (
        <Confirm
          title={t.newRender.blankTitle}
          lead={t.newRender.blankLead}
          keep={t.newRender.blankKeep}
          yes={t.newRender.blankYes}
          close={() => setIsAsking(false)}
          confirm={() => create.mutate(wished)}
        />
      )}
    </DialogForm>
  );
}

function Data({
  draft,
  set,
  isChosen,
  fields,
  wrong,
}: {
  draft: Draft;
  set: (part: Partial<Draft>) => void;
  /** A known composition is named. */
  isChosen: boolean;
  /** Its fields, once they are there. */
  fields: readonly FieldRow[] | undefined;
  wrong: string | undefined;
}): ReactNode {
  const t = useText();
  const about = useId();
  // What was written in fields goes along; back from JSON the fields are as they were.
  const choose = (mode: Mode) => {
    if (mode === "fields" || draft.mode === "json") return set({ mode });
    const values = valuesOf(draft, fields?.map((field) => field.field_name) ?? []);
    set({ mode, json: JSON.stringify(gfxOf(values), null, 2) });
  };
  return (
    <section>
      <div className="mb-2 flex items-center justify-between">
        <h3 className="text-sm font-medium text-ink-2">{t.newRender.data}</h3>
        <Segmented
          label={t.newRender.data}
          value={draft.mode}
          choices={MODES.map((value) => ({ value, label: t.newRender.modes[value] }))}
          onChange={choose}
        />
      </div>
      {draft.mode === "json" ? (
        <>
          <textarea
            aria-label={t.newRender.data}
            aria-invalid={wrong !== undefined}
            aria-describedby={wrong === undefined ? undefined : about}
            rows={12}
            spellCheck={false}
            value={draft.json}
            className="w-full rounded-md border border-line-strong bg-surface px-2.5 py-2 font-mono text-xs leading-5 aria-[invalid=true]:border-error"
            onChange={(event) => set({ json: event.target.value })}
          />
          <Remark id={about} wrong={wrong} />
        </>
      ) : fields === undefined || fields.length === 0 ? (
        <p className="rounded-md bg-sunken px-3 py-4 text-sm text-ink-3">
          {isChosen && fields !== undefined ? t.newRender.noFields : t.newRender.chooseFirst}
        </p>
      ) : (
        <FieldInputs
          fields={fields}
          values={draft.values}
          change={(name, value) => set({ values: { ...draft.values, [name]: value } })}
        />
      )}
    </section>
  );
}

function FieldInputs({
  fields,
  values,
  change,
}: {
  fields: readonly FieldRow[];
  values: Draft["values"];
  change: (name: string, value: string) => void;
}): ReactNode {
  const t = useText();
  const names = fields.toSorted((a, b) => inOrder(a.field_name, b.field_name));
  return (
    <div className="grid max-h-[38vh] gap-x-4 gap-y-2 sm:grid-cols-2 overflow-y-auto rounded-md bg-sunken p-3">
      {names.map((field) => (
        <Field
          key={field.id}
          label={field.field_name}
          placeholder={field.kind === "image" ? t.newRender.imageHint : field.layer_name}
          value={values[field.field_name] ?? ""}
          onChange={(event) => change(field.field_name, event.target.value)}
        />
      ))}
    </div>
  );
}
