/** What can be done with renders: cancel, take from a worker, run again. What loses work is asked about first. */
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Confirm } from "@/app/confirm";
import { useApp, useMay } from "@/app/context";
import { useText } from "@/lib/i18n/i18n";
import { isUnderWay, type Render } from "@/lib/live/fold-renders";
import { randomKey } from "@/lib/rest/key";
import { changeRenders } from "@/lib/rest/render-commands";
import { Button, IconButton } from "@/ui/button";
import type { IconName } from "@/ui/icon";
import { hasEnded } from "./past-renders";

export const DEEDS = ["cancel", "release", "again"] as const;
export type Deed = (typeof DEEDS)[number];

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
  const [asked, setAsked] = useState<"cancel" | "release" | null>(null);
  const deeds = deedsFor(render);
  if (!mayChange || deeds.length === 0) return null;
  const ids = [render.id];
  return (
    <span className="flex shrink-0 justify-end gap-1">
      {deeds.map((deed) => {
        const onClick = () => (deed === "again" ? change.mutate({ deed, ids }) : setAsked(deed));
        const shared = { icon: ICONS[deed], disabled: change.isPending, onClick };
        const isDanger = deed === "cancel";
        return isSmall ? (
          <IconButton
            key={deed}
            label={t.renders.deeds[deed]}
            kind={isDanger ? "danger" : "quiet"}
            className={isDanger ? "border-transparent bg-transparent" : ""}
            {...shared}
          />
        ) : (
          <Button key={deed} kind={isDanger ? "danger" : "plain"} {...shared}>
            {t.renders.deeds[deed]}
          </Button>
        );
      })}
      {asked !== null && (
        <Ask deed={asked} count={1} close={() => setAsked(null)} confirm={() => change.mutate({ deed: asked, ids })} />
      )}
    </span>
  );
}

function Ask({
  deed,
  count,
  close,
  confirm,
}: {
  deed: "cancel" | "release";
  count: number;
  close: () => void;
  confirm: () => void;
}): ReactNode {
  const t = useText();
  const words = t.renders.confirm[deed];
  return (
    <Confirm
      title={words.title(count)}
      lead={words.lead}
      keep={t.renders.keep}
      yes={words.yes(count)}
      close={close}
      confirm={confirm}
    />
  );
}

/** Of all that are selected. */
export function BulkCancel({ renders, done }: { renders: readonly Render[]; done: () => void }): ReactNode {
  const t = useText();
  const change = useRenderChange(done);
  const [isAsking, setIsAsking] = useState(false);
  const ids = renders.map((render) => render.id);
  return (
    <div className="flex items-center gap-2">
      <span className="text-sm text-ink-2">{t.common.selected(ids.length)}</span>
      <Button icon="stop" kind="danger" disabled={change.isPending} onClick={() => setIsAsking(true)}>
        {t.renders.bulkCancel(ids.length)}
      </Button>
      {isAsking && (
        <Ask
          deed="cancel"
          count={ids.length}
          close={() => setIsAsking(false)}
          confirm={() => change.mutate({ deed: "cancel", ids })}
        />
      )}
    </div>
  );
}
