/** One composition: where it is, how it is encoded, and the layers of its fields. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Confirm } from "@/app/confirm";
import { useApp, useMay } from "@/app/context";
import { useDialog } from "@/app/dialog-host";
import { useText } from "@/lib/i18n/i18n";
import { useDraft } from "@/lib/react/use-draft";
import { randomKey } from "@/lib/rest/key";
import { describeComposition, removeComposition } from "@/lib/rest/render-commands";
import type { CompositionRow } from "@/lib/rest/render-rows";
import { Button } from "@/ui/button";
import { Field } from "@/ui/field";
import { Form } from "@/ui/form";
import { Part } from "@/ui/part";
import { Unread } from "@/ui/states";
import { useCompositions, useFields, useUnmapped } from "./compositions";
import { FieldTable } from "./field-table";

export function Composition({ composition, removed }: { composition: CompositionRow; removed: () => void }): ReactNode {
  const t = useText();
  const fields = useFields(composition.id);
  const unmapped = useUnmapped(composition.id).data ?? [];
  const mapped = new Set(fields.data?.map((field) => field.field_name));
  const missing = unmapped.filter((name) => !mapped.has(name));
  return (
    <div className="flex max-w-5xl flex-col gap-6">
      <Part title={composition.name || composition.id} aside={<Remove composition={composition} removed={removed} />}>
        <Description composition={composition} />
      </Part>
      <Part title={t.mapping.fields} count={fields.data?.length ?? 0}>
        {fields.data === undefined ? (
          <Unread of={fields} />
        ) : (
          <FieldTable composition={composition.id} fields={fields.data} missing={missing} />
        )}
      </Part>
    </div>
  );
}

function Description({ composition }: { composition: CompositionRow }): ReactNode {
  const t = useText();
  const { client, toasts } = useApp();
  const mayChange = useMay("change-mapping");
  const [name, setName] = useDraft(composition.name);
  const [template, setTemplate] = useDraft(composition.template);
  const [output, setOutput] = useDraft(composition.output_module);
  const isSame = name === composition.name && template === composition.template && output === composition.output_module;
  const save = useMutation({
    mutationFn: () => describeComposition(client, composition.id, { name, template, output_module: output }),
    onSuccess: () => toasts.show({ kind: "done", title: t.mapping.saved }),
  });
  return (
    <Form className="grid gap-4 p-4 sm:grid-cols-2" submit={() => save.mutate()}>
      {[
        { label: t.mapping.name, hint: t.mapping.nameHint, maxLength: 200, value: name, set: setName },
        { label: t.mapping.template, hint: t.mapping.templateHint, maxLength: 1000, value: template, set: setTemplate },
        { label: t.mapping.output, maxLength: 200, value: output, set: setOutput },
      ].map(({ set, ...field }) => (
        <Field key={field.label} {...field} readOnly={!mayChange} onChange={(event) => set(event.target.value)} />
      ))}
      {mayChange && (
        <div className="flex items-end justify-end">
          <Button type="submit" kind="primary" disabled={isSame || save.isPending}>
            {t.mapping.save}
          </Button>
        </div>
      )}
    </Form>
  );
}

export function Remove({ composition, removed }: { composition: CompositionRow; removed: () => void }): ReactNode {
  const t = useText();
  const { client, toasts } = useApp();
  const mayChange = useMay("change-mapping");
  const show = useDialog();
  const remove = useMutation({
    mutationFn: () => {
      const key = randomKey();
      return client.sensitive(t.mapping.removeYes, () => removeComposition(client, composition.id, key));
    },
    onSuccess: () => {
      toasts.show({ kind: "done", title: t.mapping.removed(composition.name || composition.id) });
      removed();
    },
  });
  if (!mayChange) return null;
  return (
    <Button
      icon="remove"
      kind="danger"
      disabled={remove.isPending}
      onClick={() =>
        show((close) => <ConfirmRemove composition={composition} close={close} confirm={() => remove.mutate()} />)
      }
    >
      {t.mapping.remove}
    </Button>
  );
}

interface ConfirmRemoveProps {
  readonly composition: CompositionRow;
  readonly close: () => void;
  readonly confirm: () => void;
}

function ConfirmRemove({ composition, close, confirm }: ConfirmRemoveProps): ReactNode {
  const t = useText();
  const known = useCompositions().data?.find((one) => one.id === composition.id);
  return (
    <Confirm
      title={t.mapping.removeTitle(composition.name || composition.id)}
      lead={t.mapping.removeLead((known ?? composition).fields)}
      over={known === undefined ? t.mapping.isGone : null}
      keep={t.renders.keep}
      yes={t.mapping.removeYes}
      close={close}
      confirm={confirm}
    />
  );
}
