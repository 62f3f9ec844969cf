/** What can be done with renders: cancel, take from a worker, run again. What loses work is asked about first. */
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Confirm } from "@/app/confirm";
import { useApp, useMay } from "@/app/context";
import { useDialog } from "@/app/dialog-host";
import { useText } from "@/lib/i18n/i18n";
import { randomKey } from "@/lib/rest/key";
import { changeRenders } from "@/lib/rest/render-commands";
import { ActionButton, Button } from "@/ui/button";
import type { IconName } from "@/ui/icon";
import { useAsTheyStand } from "./open-renders";
import { hasEnded } from "./past-renders";
import { isUnderWay, type Render } from "./render";

type Deed = "cancel" | "release" | "again";

const ICONS: Record<Deed, IconName> = { cancel: "stop", release: "leave", again: "reset" };

/** A completed one has its file: to have another, request another. */
export function deedsFor(render: Pick<Render, "status">): readonly Deed[] {
  if (render.status === "failed" || render.status === "cancelled") return ["again"];
  if (hasEnded(render)) return [];
  return isUnderWay(render) ? ["release", "cancel"] : ["cancel"];
}

interface Wish {
  readonly deed: Deed;
  readonly ids: readonly string[];
}

export function useRenderChange(done?: () => void) {
  const t = useText();
  const { client, toasts } = useApp();
  return useMutation({
    mutationFn: ({ deed, ids }: Wish) => {
      const key = randomKey();
      const run = () => changeRenders(client, ids, deed === "cancel" ? "cancelled" : "pending", key);
      return deed === "again" ? run() : client.sensitive(t.renders.confirm[deed].yes(ids.length), run);
    },
    onSuccess: (_, { deed, ids }) => {
      toasts.show({ kind: "done", title: t.renders.done[deed](ids.length) });
      done?.();
    },
  });
}

/** Of one render. With words, or as pictures in a row of a table. */
export function RenderActions({ render, isSmall = false }: { render: Render; isSmall?: boolean }): ReactNode {
  const t = useText();
  const mayChange = useMay("change-render");
  const change = useRenderChange();
  const ask = useAsk(change.mutate);
  const deeds = deedsFor(render);
  if (!mayChange || deeds.length === 0) return null;
  return (
    <span className="flex shrink-0 justify-end gap-1">
      {deeds.map((deed) => (
        <ActionButton
          key={deed}
          icon={ICONS[deed]}
          label={t.renders.deeds[deed]}
          isSmall={isSmall}
          isDanger={deed === "cancel"}
          disabled={change.isPending}
          onClick={() => (deed === "again" ? change.mutate({ deed, ids: [render.id] }) : ask(deed, [render]))}
        />
      ))}
    </span>
  );
}

type Asked = Exclude<Deed, "again">;

/** `confirm` gets those with which it can still be done when the answer is given. */
function useAsk(confirm: (wish: Wish) => void): (deed: Asked, renders: readonly Render[]) => void {
  const show = useDialog();
  return (deed, renders) => show((close) => <Ask deed={deed} asked={renders} close={close} confirm={confirm} />);
}

interface AskProps {
  readonly deed: Asked;
  /** As they were when somebody asked. */
  readonly asked: readonly Render[];
  readonly close: () => void;
  readonly confirm: (wish: Wish) => void;
}

function Ask({ deed, asked, close, confirm }: AskProps): ReactNode {
  const t = useText();
  const words = t.renders.confirm[deed];
  const ids = useAsTheyStand(asked).flatMap((one) => (one !== null && deedsFor(one).includes(deed) ? [one.id] : []));
  const [only] = asked.length === 1 ? asked : [];
  const count = ids.length || asked.length;
  const lead = ids.length === asked.length ? "" : `${t.renders.someEnded(asked.length - ids.length)} `;
  return (
    <Confirm
      title={words.title(count)}
      subject={only && `${only.composition_name} #${only.id}`}
      lead={lead + words.lead}
      over={ids.length > 0 ? null : words.over(asked.length)}
      keep={t.renders.keep}
      yes={words.yes(count)}
      close={close}
      confirm={() => confirm({ deed, ids })}
    />
  );
}

/** Of all that are selected. */
export function BulkCancel({ renders, done }: { renders: readonly Render[]; done: () => void }): ReactNode {
  const t = useText();
  const change = useRenderChange(done);
  const ask = useAsk(change.mutate);
  return (
    <div className="flex items-center gap-2">
      <span className="text-sm text-ink-2">{t.common.selected(renders.length)}</span>
      <Button icon="stop" kind="danger" disabled={change.isPending} onClick={() => ask("cancel", renders)}>
        {t.renders.bulkCancel(renders.length)}
      </Button>
    </div>
  );
}
