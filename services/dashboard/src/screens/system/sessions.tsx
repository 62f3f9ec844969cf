/** Where somebody is signed in, and a way to end that. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useApp } from "@/app/context";
import { get } from "@/lib/api/get";
import type { OwnSession, Session } from "@/lib/api/schema";
import { useText } from "@/lib/i18n/i18n";
import { useFormat } from "@/lib/time/format";
import { useNow } from "@/lib/time/use-now";
import { Button } from "@/ui/button";
import { Part } from "@/ui/part";
import { Empty, Unread } from "@/ui/states";
import { Badge } from "@/ui/status";
import { ChangePassword } from "./change-password";

const OWN = "/api/auth/sessions";

/** Nobody says of another person's sessions which one is asking. */
type AnySession = Session & Partial<OwnSession>;

export function useOwnSessions() {
  const { client } = useApp();
  return useQuery({ queryKey: ["sessions"], queryFn: async () => (await get(client, OWN, {})).sessions });
}

export function OwnSessions(): ReactNode {
  const t = useText();
  const [isChanging, setIsChanging] = useState(false);
  const answer = useOwnSessions();
  const { data } = answer;
  return (
    <Part
      title={t.session.sessions}
      aside={
        <div className="flex gap-2">
          <Button icon="key" onClick={() => setIsChanging(true)}>
            {t.system.changePassword}
          </Button>
          <EndOthers sessions={data} />
        </div>
      }
    >
      {data === undefined ? <Unread of={answer} /> : <SessionList sessions={data} />}
      {isChanging && <ChangePassword close={() => setIsChanging(false)} />}
    </Part>
  );
}

/** Ends all sessions of the person but the one that asks. */
export function EndOthers({ sessions = [] }: { sessions: readonly OwnSession[] | undefined }): ReactNode {
  const t = useText();
  const { client, toasts } = useApp();
  const endOthers = useMutation({
    mutationFn: () => client.sensitive(t.session.endOthersLabel, () => client.request(OWN, { method: "DELETE" })),
    onSuccess: () => toasts.show({ kind: "done", title: t.session.ended }),
  });
  if (sessions.every((session) => session.current)) return null;
  return (
    <Button kind="danger" icon="leave" disabled={endOthers.isPending} onClick={() => endOthers.mutate()}>
      {t.session.endOthers}
    </Button>
  );
}

/** `path`: whose they are. */
export function SessionList({ sessions, path = OWN }: { sessions: readonly AnySession[]; path?: string }): ReactNode {
  const t = useText();
  if (sessions.length === 0) return <Empty isSmall title={t.system.noSessions} />;
  // The own one first, then the one that was used last.
  const sorted = sessions.toSorted(
    (a, b) =>
      Number(b.current ?? false) - Number(a.current ?? false) ||
      Date.parse(b.last_used_at) - Date.parse(a.last_used_at),
  );
  return (
    <ul>
      {sorted.map((session) => (
        <SessionLine key={session.id} session={session} path={path} />
      ))}
    </ul>
  );
}

function SessionLine({ session, path }: { session: AnySession; path: string }): ReactNode {
  const t = useText();
  const format = useFormat();
  const now = useNow(10_000);
  const { client, toasts } = useApp();
  const agent = session.user_agent;
  const end = useMutation({
    mutationFn: () =>
      client.sensitive(t.session.endLabel(agent), () => client.request(`${path}/${session.id}`, { method: "DELETE" })),
    onSuccess: () => toasts.show({ kind: "done", title: t.session.ended }),
  });
  return (
    <li className="flex min-h-12 items-center gap-3 border-t border-line px-4 py-2 text-sm first:border-t-0">
      <span className="min-w-0 flex-1">
        <span className="flex items-center gap-2">
          <span className="truncate font-medium">{agent}</span>
          {session.current === true && <Badge tone="busy">{t.session.thisOne}</Badge>}
        </span>
        <span className="block truncate text-xs text-ink-3">
          {t.session.startedAt(format.moment(session.started_at))} ·{" "}
          {t.session.lastUsed(format.ago(session.last_used_at, now))} ·{" "}
          {t.system.until(format.moment(session.expires_at))}
        </span>
      </span>
      {session.current === true ? (
        <Button icon="leave" onClick={() => void client.signOut()}>
          {t.session.signOut}
        </Button>
      ) : (
        <Button kind="danger" disabled={end.isPending} onClick={() => end.mutate()}>
          {t.session.end}
        </Button>
      )}
    </li>
  );
}
