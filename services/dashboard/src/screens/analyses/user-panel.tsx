/** One user: what they have left, and how that came about. */
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useApp, useMay } from "@/app/context";
import type { LedgerRow, UserRow } from "@/lib/rest/analysis-rows";
import { withBody } from "@/lib/rest/commands";
import { randomKey } from "@/lib/rest/key";
import { rows } from "@/lib/rest/read";
import { useFormat } from "@/lib/time/format";
import { Button } from "@/ui/button";
import { Field } from "@/ui/field";
import { Form } from "@/ui/form";
import { Facts, Section, SidePanel } from "@/ui/side-panel";
import { Unread } from "@/ui/states";
import { Badge } from "@/ui/status";
import { Ledger, signed } from "./ledger";
import { useAnalysesText } from "./words";

const PAGE = 50;
const GRANT_MAX = 1_000_000;
const GRANT_FIRST = "1";

interface UserPanelProps {
  readonly id: string;
  readonly openTest: (id: string) => void;
  readonly close: () => void;
}

export function UserPanel({ id, openTest, close }: UserPanelProps): ReactNode {
  const t = useAnalysesText();
  const format = useFormat();
  const { client } = useApp();
  const mayChange = useMay("change-users");
  const answer = useQuery({
    queryKey: ["analysis-user", id],
    queryFn: async () => (await rows<UserRow>(client, "users", { id: `eq.${id}` }))[0] ?? null,
  });
  const { data } = answer;
  if (data === undefined || data === null) {
    return (
      <SidePanel title={t.analyses.user} subtitle={id} close={close}>
        <Unread of={answer} absent={data === null && t.analyses.noUser} />
      </SidePanel>
    );
  }
  return (
    <SidePanel
      title={id}
      badge={data.frozen ? <Badge tone="held">{t.analyses.frozen}</Badge> : undefined}
      subtitle={`${t.analyses.tier} ${data.tier}`}
      close={close}
    >
      <Section title={t.analyses.left}>
        <p className="text-2xl leading-8 font-semibold">{format.number(data.remaining_tests)}</p>
        <p className="mb-2 text-sm text-ink-3">
          {t.analyses.sum(
            format.number(data.granted),
            data.adjusted === 0 ? null : signed(data.adjusted, format.number),
            format.number(data.charged),
            format.number(data.refunded),
          )}
        </p>
        <Facts facts={[[t.analyses.since, format.full(data.created_at)]]} />
        {data.frozen && <p className="mt-2 text-sm text-held-ink">{t.analyses.frozenHint}</p>}
      </Section>
      {mayChange && (
        <Section title={t.analyses.office}>
          <Office user={data} />
        </Section>
      )}
      <Section title={t.analyses.ledger}>
        <Lines id={id} openTest={openTest} />
      </Section>
    </SidePanel>
  );
}

function Lines({ id, openTest }: { id: string; openTest: (id: string) => void }): ReactNode {
  const t = useAnalysesText();
  const { client } = useApp();
  const answer = useInfiniteQuery({
    queryKey: ["ledger", id],
    initialPageParam: "",
    queryFn: ({ pageParam }) =>
      rows<LedgerRow>(client, "test_ledger", {
        user_id: `eq.${id}`,
        ...(pageParam === "" ? {} : { id: `lt.${pageParam}` }),
        order: "id.desc",
        limit: PAGE,
      }),
    getNextPageParam: (page) => (page.length < PAGE ? undefined : String(page.at(-1)?.id)),
  });
  const { data, fetchNextPage, hasNextPage, isFetchingNextPage } = answer;
  if (data === undefined) return <Unread of={answer} />;
  return (
    <>
      <Ledger lines={data.pages.flat()} openTest={openTest} />
      {hasNextPage && (
        <Button className="mt-2 w-full" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t.common.more}
        </Button>
      )}
    </>
  );
}

/** What administrators can do for a user: give tests, freeze, unfreeze. */
function Office({ user }: { user: UserRow }): ReactNode {
  const t = useAnalysesText();
  const { client, toasts } = useApp();
  const [text, setText] = useState(GRANT_FIRST);
  const wanted = Number(text);
  const isGood = Number.isInteger(wanted) && wanted >= 1 && wanted <= GRANT_MAX;
  const change = useMutation({
    mutationFn: (body: { readonly grant_tests: number } | { readonly frozen: boolean }) => {
      const path = `/api/saju/users/${encodeURIComponent(user.id)}`;
      const key = randomKey();
      const run = () => client.request(path, withBody("PATCH", body, key));
      return client.sensitive(`${t.analyses.office}: ${user.id}`, run);
    },
    onSuccess: (_, body) => {
      toasts.show({ kind: "done", title: t.analyses.changed(user.id) });
      if ("grant_tests" in body) setText(GRANT_FIRST);
    },
  });
  function grant(): void {
    if (isGood) change.mutate({ grant_tests: wanted });
  }
  return (
    <div className="flex items-end justify-between gap-2">
      <Form className="flex items-end gap-2" submit={grant}>
        <Field
          label={t.analyses.grant}
          type="number"
          min={1}
          max={GRANT_MAX}
          className="w-28"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="submit" disabled={!isGood || change.isPending}>
          {t.analyses.give}
        </Button>
      </Form>
      <Button disabled={change.isPending} onClick={() => change.mutate({ frozen: !user.frozen })}>
        {user.frozen ? t.analyses.unfreeze : t.analyses.freeze}
      </Button>
    </div>
  );
}
