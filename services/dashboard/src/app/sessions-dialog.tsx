/** Where a person is signed in, and how to end it. */
import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { ErrorState, Loading } from "@/ui/states";
import { Badge } from "@/ui/status";
import { useApp } from "./context";

interface SessionRow {
  readonly id: string;
  readonly user_agent: string | null;
  readonly started_at: string;
  readonly last_used_at: string;
  readonly current: boolean;
}

export function SessionsDialog({ close }: { close: () => void }): ReactNode {
  const t = useText();
  const format = useFormat();
  const now = useNow(10_000);
  const { client, toasts } = useApp();
  const { data, error, refetch } = useQuery({
    queryKey: ["sessions"],
    queryFn: async () => (await client.json<{ sessions: SessionRow[] }>("/api/auth/sessions")).sessions,
  });
  /** Without an id: all but this one. */
  const end = useMutation({
    mutationFn: (session: SessionRow | null) => {
      const path = session === null ? "/api/auth/sessions" : `/api/auth/sessions/${encodeURIComponent(session.id)}`;
      const label = session === null ? t.session.endOthersLabel : t.session.endLabel(agentOf(session));
      return client.sensitive(label, () => client.request(path, { method: "DELETE" }));
    },
    onSuccess: () => toasts.show({ kind: "done", title: t.session.ended }),
  });
  const agentOf = (session: SessionRow) => session.user_agent ?? t.session.unknownAgent;
  return (
    <Dialog close={close} title={t.session.sessions} lead={t.session.sessionsLead} width="w-lg">
      {error !== null ? (
        <ErrorState isSmall error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <Loading isSmall />
      ) : (
        <>
          <ul>
            {data.map((session) => (
              <li
                key={session.id}
                className="flex min-h-12 items-center gap-3 border-t border-line py-2 first:border-t-0"
              >
                <div className="min-w-0 flex-1">
                  <p className="flex items-center gap-2 text-sm font-medium">
                    <span className="truncate">{agentOf(session)}</span>
                    {session.current && <Badge tone="busy">{t.session.thisOne}</Badge>}
                  </p>
                  <p className="text-xs text-ink-3">
                    {t.session.startedAt(format.moment(session.started_at))} ·{" "}
                    {t.session.lastUsed(format.ago(session.last_used_at, now))}
                  </p>
                </div>
                {!session.current && (
                  <Button disabled={end.isPending} onClick={() => end.mutate(session)}>
                    {t.session.end}
                  </Button>
                )}
              </li>
            ))}
          </ul>
          {data.length > 1 && (
            <div className="mt-3 flex justify-end">
              <Button kind="danger" disabled={end.isPending} onClick={() => end.mutate(null)}>
                {t.session.endOthers}
              </Button>
            </div>
          )}
        </>
      )}
    </Dialog>
  );
}
