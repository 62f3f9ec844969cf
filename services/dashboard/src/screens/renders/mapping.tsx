/** Which field goes to which layer: compositions on the left, the fields of one on the right. */
import { type ReactNode, useState } from "react";
import { useApp, useMay } from "@/app/context";
import { useCreate } from "@/app/use-create";
import { useReadAfter } from "@/app/use-rows";
import { useText } from "@/lib/i18n/i18n";
import { createComposition } from "@/lib/rest/render-commands";
import type { CompositionRow } from "@/lib/rest/render-rows";
import { Button } from "@/ui/button";
import { DialogForm } from "@/ui/dialog-form";
import { Field } from "@/ui/field";
import { Page } from "@/ui/page";
import { Empty, Unread } from "@/ui/states";
import { Composition } from "./composition";
import { useCompositions } from "./compositions";

const KEYS = [["compositions"], ["fields"]];
/** Of the last renders. */
const UNMAPPED = [["unmapped"]];

export function Mapping({
  chosen,
  choose,
  tools,
}: {
  chosen: string | undefined;
  choose: (id: string | undefined) => void;
  tools: ReactNode;
}): ReactNode {
  const t = useText();
  const answer = useCompositions();
  const { data } = answer;
  useReadAfter(["aep_compositions", "aep_field_mapping"], KEYS);
  useReadAfter(["render_queue"], UNMAPPED);
  const shown = data?.find((one) => one.id === chosen);
  return (
    <Page title={t.renders.title} tools={tools}>
      {data === undefined ? (
        <Unread of={answer} isSmall={false} />
      ) : (
        <div className="flex min-h-0 flex-1">
          <List compositions={data} chosen={chosen} choose={choose} />
          <div className={`page-body ${chosen === undefined ? "max-md:hidden" : ""}`}>
            {chosen !== undefined && (
              <Button kind="quiet" icon="left" className="mb-2 -ml-2.5 md:hidden" onClick={() => choose(undefined)}>
                {t.mapping.compositions}
              </Button>
            )}
            {shown !== undefined ? (
              <Composition key={shown.id} composition={shown} removed={() => choose(undefined)} />
            ) : chosen !== undefined ? (
              <Empty icon="question" title={t.mapping.notFound} hint={t.mapping.notFoundHint} />
            ) : (
              <Empty icon="renders" title={t.mapping.choose} hint={t.mapping.chooseHint} />
            )}
          </div>
        </div>
      )}
    </Page>
  );
}

function List({
  compositions,
  chosen,
  choose,
}: {
  compositions: readonly CompositionRow[];
  chosen: string | undefined;
  choose: (id: string) => void;
}): ReactNode {
  const t = useText();
  const mayChange = useMay("change-mapping");
  const [isNew, setIsNew] = useState(false);
  return (
    // Where there is no room for both, the one that is chosen stands in its place.
    <nav
      aria-label={t.mapping.compositions}
      className={`flex w-64 shrink-0 flex-col border-r border-line bg-surface max-md:w-full ${chosen === undefined ? "" : "max-md:hidden"}`}
    >
      <div className="flex min-h-12 items-center justify-between gap-2 border-b border-line px-4">
        <h2 className="text-sm font-semibold">
          {t.mapping.compositions} <span className="ml-1 font-normal text-ink-3">{compositions.length}</span>
        </h2>
        {mayChange && (
          <Button kind="quiet" icon="plus" onClick={() => setIsNew(true)}>
            {t.mapping.add}
          </Button>
        )}
      </div>
      {compositions.length === 0 && <Empty isSmall title={t.mapping.none} hint={t.mapping.noneHint} />}
      <ul className="min-h-0 flex-1 overflow-y-auto p-2">
        {compositions.map((one) => (
          <li key={one.id}>
            <button
              type="button"
              aria-current={one.id === chosen ? "true" : undefined}
              className="flex w-full items-baseline gap-2 rounded-md px-2 py-1.5 text-left text-sm hover:bg-hover aria-[current=true]:bg-accent-soft"
              onClick={() => choose(one.id)}
            >
              <span className="min-w-0 flex-1">
                <span className="block truncate font-medium">{one.name || one.id}</span>
                {one.name !== "" && one.name !== one.id && (
                  <span className="block truncate text-xs text-ink-3">{one.id}</span>
                )}
              </span>
              <span className="shrink-0 text-xs text-ink-3">{t.mapping.fieldCount(one.fields)}</span>
            </button>
          </li>
        ))}
      </ul>
      {isNew && <NewComposition close={() => setIsNew(false)} created={choose} />}
    </nav>
  );
}

function NewComposition({ close, created }: { close: () => void; created: (id: string) => void }): ReactNode {
  const t = useText();
  const { client, toasts } = useApp();
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const [isTried, setIsTried] = useState(false);
  const create = useCreate(
    (described: { name?: string }, key) => createComposition(client, id.trim(), described, key),
    (made) => {
      toasts.show({ kind: "done", title: t.mapping.added(made.id) });
      close();
      created(made.id);
    },
  );
  function submit(): void {
    setIsTried(true);
    if (id.trim() !== "") create.mutate(name.trim() === "" ? {} : { name: name.trim() });
  }
  return (
    <DialogForm
      close={close}
      title={t.mapping.newTitle}
      noValidate
      submit={submit}
      yes={t.mapping.add}
      disabled={create.isPending}
    >
      <Field
        label={t.mapping.id}
        hint={t.mapping.idHint}
        autoFocus
        maxLength={128}
        value={id}
        wrong={isTried && id.trim() === "" ? t.mapping.idWrong : undefined}
        onChange={(event) => setId(event.target.value)}
      />
      <Field
        label={`${t.mapping.name} (${t.common.optional})`}
        hint={t.mapping.nameHint}
        maxLength={200}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
    </DialogForm>
  );
}
