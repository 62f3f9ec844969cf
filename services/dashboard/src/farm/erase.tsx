/** "Erase…": destroys the key of a person's or a render's data, so that nobody can read it. For administrators only. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Confirm } from "@/app/confirm";
import { useApp, useMay } from "@/app/context";
import { useDialog } from "@/app/dialog-host";
import { erase as en } from "@/lib/i18n/en-erase";
import { erase as ko } from "@/lib/i18n/ko-erase";
import { useScreenText } from "@/lib/i18n/screen-text";
import { ActionButton } from "@/ui/button";

export const WORDS = { en: { erase: en }, ko: { erase: ko } };

interface EraseProps {
  readonly what: "users" | "renders";
  readonly id: string;
  /** How the question names it. */
  readonly name: string;
}

export function Erase({ what, id, name }: EraseProps): ReactNode {
  const t = useScreenText(WORDS);
  const mayErase = useMay("erase");
  const { client, toasts } = useApp();
  const queries = useQueryClient();
  const show = useDialog();
  const words = t.erase[what];
  const erase = useMutation({
    mutationFn: () =>
      client.sensitive(words.yes, () =>
        client.request(`/api/erasures/${what}/${encodeURIComponent(id)}`, { method: "POST" }),
      ),
    onSuccess: () => {
      toasts.show({ kind: "done", title: words.done(name) });
      return queries.invalidateQueries();
    },
  });
  if (!mayErase) return null;
  const ask = () =>
    show((close) => (
      <Confirm
        title={words.title}
        subject={name}
        lead={`${words.lead} ${t.erase.forEver}`}
        keep={t.renders.keep}
        yes={words.yes}
        close={close}
        confirm={erase.mutate}
      />
    ));
  return (
    <ActionButton
      icon="remove"
      label={t.erase.open}
      isSmall={false}
      isDanger
      disabled={erase.isPending}
      onClick={ask}
    />
  );
}
