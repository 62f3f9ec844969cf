/** Who did something, as people know them: `by` of an event in words. The id stays in the title. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { useApp, useLive, useMay, useSignedIn } from "@/app/context";
import { get } from "@/lib/api/get";
import { actors as en } from "@/lib/i18n/en-actors";
import { actors as ko } from "@/lib/i18n/ko-actors";
import { useScreenText } from "@/lib/i18n/screen-text";
import { shortId } from "./short-id";

export const WORDS = { en: { actors: en }, ko: { actors: ko } };
export type ActorWords = (typeof WORDS)["en"]["actors"];

const PERSON = "user:";
const DEVICE = "device:";
const SESSION = "session:";
/** A process of a service, such as `reminder:vm-1`. */
const PROCESS = /^([a-z]+):/;
/** Accounts change seldom, and each read of them is in the audit. */
const FRESH_MS = 5 * 60_000;

/** What is known about people and phones here. */
export interface Known {
  readonly ownId: string;
  /** By id. Empty for those who may not see addresses. */
  readonly emails: ReadonlyMap<string, string>;
  readonly serial: (deviceId: string) => string | undefined;
}

/** Somebody who was erased, or whose address the reader may not see, keeps the end of the id. */
export function actorName(words: ActorWords, known: Known, by: string): string {
  if (by.startsWith(PERSON)) {
    const id = by.slice(PERSON.length);
    if (id === known.ownId) return words.you;
    return known.emails.get(id) ?? words.person(shortId(id));
  }
  if (by.startsWith(DEVICE)) {
    const id = by.slice(DEVICE.length);
    return words.phone(known.serial(id) ?? shortId(id));
  }
  if (by.startsWith(SESSION)) return words.session(shortId(by.slice(SESSION.length)));
  const service = PROCESS.exec(by)?.[1];
  if (service !== undefined) return words.service(service.charAt(0).toUpperCase() + service.slice(1));
  return Object.hasOwn(words.programs, by) ? (words.programs[by as keyof ActorWords["programs"]] ?? by) : by;
}

/** Names of those who did something. Only administrators see addresses of others, as on the screen System. */
export function useActors(): (by: string) => string {
  const { actors } = useScreenText(WORDS);
  const { client } = useApp();
  const { fleet } = useLive();
  const { user } = useSignedIn();
  const seesAccounts = useMay("manage-accounts");
  const { data } = useQuery({
    queryKey: ["accounts"],
    queryFn: async () => (await get(client, "/api/accounts", {})).accounts,
    enabled: seesAccounts,
    staleTime: FRESH_MS,
  });
  return useMemo(() => {
    const emails = new Map<string, string>();
    for (const account of data ?? []) if (account.email !== null) emails.set(account.id, account.email);
    const known: Known = {
      ownId: user.id,
      emails,
      serial: (id) => fleet.devices.get(id)?.serial,
    };
    return (by) => actorName(actors, known, by);
  }, [actors, data, fleet, user]);
}

export function Actor({ by, className }: { by: string; className?: string }): ReactNode {
  const name = useActors();
  return (
    <span title={by} className={className}>
      {name(by)}
    </span>
  );
}
