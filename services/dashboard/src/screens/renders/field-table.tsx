/** Fields and their layers, each changed in its own line; a new one is written at the end. */
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import { Confirm } from "@/app/confirm";
import { useApp, useMay } from "@/app/context";
import { useDialog } from "@/app/dialog-host";
import { useCreate } from "@/app/use-create";
import { useErrorText } from "@/lib/errors/error-text";
import { useText } from "@/lib/i18n/i18n";
import { randomKey } from "@/lib/rest/key";
import { changeField, type Layer, mapField, type NewField, unmapField } from "@/lib/rest/render-commands";
import { FIELD_KINDS, type FieldKind, type FieldRow } from "@/lib/rest/render-rows";
import { ActionButton, Button, IconButton } from "@/ui/button";
import { INPUT } from "@/ui/field";
import { Form } from "@/ui/form";
import { Empty } from "@/ui/states";
import { Badge } from "@/ui/status";
import { inOrder, useFields } from "./compositions";

interface FieldTableProps {
  readonly composition: string;
  readonly fields: readonly FieldRow[];
  /** What renders brought along and had no layer. */
  readonly missing: readonly string[];
}

const CELL = "h-11 px-3 first:pl-4 last:pr-4";
/** Where a text goes in a layer of After Effects. */
const PROPERTY = "Source Text";
const COLUMNS = 5;

export function FieldTable({ composition, fields, missing }: FieldTableProps): ReactNode {
  const t = useText();
  const mayChange = useMay("change-mapping");
  const [edited, setEdited] = useState<number | null>(null);
  const [name, setName] = useState("");
  const sorted = fields.toSorted((a, b) => inOrder(a.field_name, b.field_name));
  return (
    <>
      {mayChange && missing.length > 0 && (
        <div className="flex flex-wrap items-center gap-1.5 border-b border-line bg-held-soft px-4 py-2 text-sm text-held-ink">
          <span className="mr-1">{t.mapping.missing}</span>
          {missing.map((one) => (
            <button
              key={one}
              type="button"
              className="rounded border border-held bg-surface px-1.5 text-xs text-ink hover:bg-hover pointer-coarse:py-1"
              onClick={() => setName(one)}
            >
              + {one}
            </button>
          ))}
        </div>
      )}
      {fields.length === 0 && <Empty isSmall title={t.mapping.noFields} hint={t.mapping.noFieldsHint} />}
      {(fields.length > 0 || mayChange) && (
        <table aria-label={t.mapping.fields} className="stacks w-full table-fixed border-collapse text-sm">
          <thead>
            <tr className="border-b border-line text-left text-xs text-ink-3">
              {[t.mapping.field, t.mapping.layer, t.mapping.kind, t.mapping.property].map((header, index) => (
                <th
                  key={header}
                  scope="col"
                  className={`px-3 py-2 font-medium first:pl-4 ${index === 0 ? "stacks-title" : ""} ${index === 2 ? "w-32" : ""}`}
                >
                  {header}
                </th>
              ))}
              <th scope="col" className="w-36">
                <span className="sr-only">{t.mapping.change}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {sorted.map((field) =>
              field.id === edited ? (
                <EditLine key={field.id} field={field} close={() => setEdited(null)} />
              ) : (
                <Line key={field.id} field={field} edit={mayChange ? () => setEdited(field.id) : undefined} />
              ),
            )}
            {mayChange && (
              <NewLine
                key={name}
                composition={composition}
                first={name}
                missing={missing}
                taken={fields.map((field) => field.field_name)}
                done={() => setName("")}
              />
            )}
          </tbody>
        </table>
      )}
    </>
  );
}

function Line({ field, edit }: { field: FieldRow; edit: (() => void) | undefined }): ReactNode {
  const t = useText();
  const { client, toasts } = useApp();
  const show = useDialog();
  const remove = useMutation({
    mutationFn: () => {
      const key = randomKey();
      return client.sensitive(t.mapping.unmapYes, () => unmapField(client, field.id, key));
    },
    onSuccess: () => toasts.show({ kind: "done", title: t.mapping.unmapped(field.field_name) }),
  });
  return (
    <tr className="border-b border-line last:border-b-0 hover:bg-hover">
      <td className={`${CELL} stacks-title truncate font-medium`}>{field.field_name}</td>
      <td className={`${CELL} truncate`}>{field.layer_name}</td>
      <td className={CELL}>
        <Badge tone={field.kind === "image" ? "busy" : "offline"}>{t.mapping.kinds[field.kind]}</Badge>
      </td>
      <td className={`${CELL} truncate text-ink-2`}>{field.kind === "image" ? "–" : field.property}</td>
      <td className={CELL}>
        {edit !== undefined && (
          <span className="flex justify-end gap-1">
            <IconButton icon="edit" label={`${t.mapping.change}: ${field.field_name}`} onClick={edit} />
            <ActionButton
              icon="remove"
              isSmall
              isDanger
              label={`${t.mapping.unmap}: ${field.field_name}`}
              disabled={remove.isPending}
              onClick={() =>
                show((close) => <ConfirmUnmap field={field} close={close} confirm={() => remove.mutate()} />)
              }
            />
          </span>
        )}
      </td>
    </tr>
  );
}

interface ConfirmUnmapProps {
  readonly field: FieldRow;
  readonly close: () => void;
  readonly confirm: () => void;
}

function ConfirmUnmap({ field, close, confirm }: ConfirmUnmapProps): ReactNode {
  const t = useText();
  const isKnown = useFields(field.composition_id).data?.some((one) => one.id === field.id) ?? false;
  return (
    <Confirm
      title={t.mapping.unmapTitle(field.field_name)}
      lead={t.mapping.unmapLead}
      over={isKnown ? null : t.mapping.isGone}
      keep={t.renders.keep}
      yes={t.mapping.unmapYes}
      close={close}
      confirm={confirm}
    />
  );
}

function EditLine({ field, close }: { field: FieldRow; close: () => void }): ReactNode {
  const t = useText();
  const { client, toasts } = useApp();
  const [layer, setLayer] = useState<Layer>(field);
  const save = useMutation({
    mutationFn: () => changeField(client, field.id, layerOf(layer)),
    onSuccess: () => {
      toasts.show({ kind: "done", title: t.mapping.saved });
      close();
    },
  });
  const form = useId();
  const errorText = useErrorText();
  return (
    <>
      <tr className="border-b border-line bg-accent-soft last:border-b-0">
        <td className={`${CELL} truncate font-medium`}>
          <Form id={form} submit={() => isComplete(layer) && save.mutate()} />
          {field.field_name}
        </td>
        <LayerCells form={form} layer={layer} set={setLayer} isFirst />
        <td className={CELL}>
          <span className="flex justify-end gap-1">
            <Button type="submit" form={form} kind="primary" disabled={!isComplete(layer) || save.isPending}>
              {t.mapping.save}
            </Button>
            <IconButton icon="close" label={t.common.cancel} onClick={close} />
          </span>
        </td>
      </tr>
      {save.error !== null && <Wrong>{errorText(save.error)}</Wrong>}
    </>
  );
}

/** What is wrong with the line above. */
function Wrong({ children }: { children: ReactNode }): ReactNode {
  return (
    <tr>
      <td colSpan={COLUMNS} role="alert" className="px-4 pb-2.5 text-sm text-error-ink">
        {children}
      </td>
    </tr>
  );
}

function NewLine({
  composition,
  first,
  missing,
  taken,
  done,
}: {
  composition: string;
  first: string;
  missing: readonly string[];
  /** Names that have a layer. */
  taken: readonly string[];
  done: () => void;
}): ReactNode {
  const t = useText();
  const { client, toasts } = useApp();
  const [name, setName] = useState(first);
  const [layer, setLayer] = useState<Layer>(() => ({ ...guessed(first), property: PROPERTY }));
  const [form, list] = [useId(), useId()];
  const errorText = useErrorText();
  const isTaken = taken.includes(name.trim());
  const isGood = name.trim() !== "" && !isTaken && isComplete(layer);
  const add = useCreate(
    (field: NewField, key) => mapField(client, field, key),
    (_, field) => {
      toasts.show({ kind: "done", title: t.mapping.mapped(field.field_name) });
      setName("");
      setLayer({ layer_name: "", kind: "data", property: PROPERTY });
      done();
    },
  );
  const wrong = isTaken ? t.mapping.taken(name.trim()) : add.error !== null ? errorText(add.error) : null;
  return (
    <>
      <tr>
        <td className={CELL}>
          <Form
            id={form}
            submit={() =>
              isGood && add.mutate({ composition_id: composition, field_name: name.trim(), ...layerOf(layer) })
            }
          />
          <input
            form={form}
            list={list}
            aria-label={t.mapping.field}
            placeholder={t.mapping.fieldHint}
            maxLength={200}
            value={name}
            aria-invalid={isTaken}
            className={INPUT}
            onChange={(event) => setName(event.target.value)}
          />
          <datalist id={list}>
            {missing.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </td>
        <LayerCells form={form} layer={layer} set={setLayer} isFirst={first !== ""} />
        <td className={CELL}>
          <span className="flex justify-end">
            <Button type="submit" form={form} icon="plus" disabled={!isGood || add.isPending}>
              {t.mapping.map}
            </Button>
          </span>
        </td>
      </tr>
      {wrong !== null && <Wrong>{wrong}</Wrong>}
    </>
  );
}

function LayerCells({
  form,
  layer,
  set,
  isFirst,
}: {
  form: string;
  layer: Layer;
  set: (layer: Layer) => void;
  isFirst: boolean;
}): ReactNode {
  const t = useText();
  return (
    <>
      <td className={CELL}>
        <input
          // biome-ignore lint/a11y/noAutofocus: whoever opened the line came to write in it
          autoFocus={isFirst}
          form={form}
          aria-label={t.mapping.layer}
          placeholder={t.mapping.layer}
          maxLength={200}
          value={layer.layer_name}
          className={INPUT}
          onChange={(event) => set({ ...layer, layer_name: event.target.value })}
        />
      </td>
      <td className={CELL}>
        <select
          form={form}
          aria-label={t.mapping.kind}
          value={layer.kind}
          className={INPUT}
          onChange={(event) => set({ ...layer, kind: event.target.value as FieldKind })}
        >
          {FIELD_KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {t.mapping.kinds[kind]}
            </option>
          ))}
        </select>
      </td>
      <td className={CELL}>
        <input
          form={form}
          aria-label={t.mapping.property}
          disabled={layer.kind === "image"}
          maxLength={200}
          value={layer.kind === "image" ? "" : layer.property}
          className={INPUT}
          onChange={(event) => set({ ...layer, property: event.target.value })}
        />
      </td>
    </>
  );
}

function isComplete(layer: Layer): boolean {
  return layer.layer_name.trim() !== "" && (layer.kind === "image" || layer.property.trim() !== "");
}

function layerOf({ layer_name, kind, property }: Layer): Layer {
  return { layer_name: layer_name.trim(), kind, property: property.trim() || PROPERTY };
}

/** As layers are usually called: `Slot 1 - name` is `Name 1`, `Flag 1` is itself. */
export function guessed(field: string): { layer_name: string; kind: FieldKind } {
  const slot = /^Slot (\d+) - (.+)$/.exec(field);
  if (slot?.[2] !== undefined) return { layer_name: `${capital(slot[2])} ${slot[1]}`, kind: "data" };
  const single = /^Single - (.+)$/.exec(field);
  if (single?.[1] !== undefined) return { layer_name: capital(single[1].replaceAll("_", " ")), kind: "data" };
  return { layer_name: field, kind: field.startsWith("Flag") ? "image" : "data" };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
