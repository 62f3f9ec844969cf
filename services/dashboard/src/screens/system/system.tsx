/** The platform itself: who leads what, what it stands on, its read models, its keys, and who is signed in. */
import { useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMay } from "@/app/context";
import { usePageTitle } from "@/app/page-title";
import { useChange } from "@/app/use-change";
import { useText } from "@/lib/i18n/i18n";
import { useEscape } from "@/lib/keys/use-keys";
import { sortIn, sortText } from "@/lib/sort/sort";
import { Page } from "@/ui/page";
import { AccountPanel } from "./account-panel";
import { Accounts, NewAccount } from "./accounts";
import { Dependencies, Links } from "./dependencies";
import { Keys } from "./keys";
import { Processes } from "./processes";
import { ReadModels } from "./read-models";
import { RebuildPanel } from "./rebuild-panel";
import { ACCOUNT_SORTS, type SystemSearch } from "./search";
import { Services } from "./services";
import { OwnSessions } from "./sessions";

export function System(): ReactNode {
  const t = useText();
  const search = useSearch({ from: "/inside/system" });
  const mayManage = useMay("manage-accounts");
  usePageTitle(t.system.title);
  const change = useChange<SystemSearch>("/system");
  const shut = { account: undefined, rebuild: undefined };
  const close = () => change(shut);
  useEscape(close);
  return (
    <Page
      title={t.system.title}
      panel={
        mayManage && search.account !== undefined ? (
          <AccountPanel key={search.account} id={search.account} close={close} />
        ) : (
          search.rebuild !== undefined && <RebuildPanel key={search.rebuild} id={search.rebuild} close={close} />
        )
      }
    >
      <div className="page-body">
        <div className="@container mx-auto flex max-w-[100rem] flex-col gap-6">
          <Services />
          <div className="grid gap-4 @2xl:grid-cols-2 @5xl:grid-cols-3">
            <Dependencies />
            <Processes />
            <Links />
          </div>
          <ReadModels current={search.rebuild} open={(rebuild) => change({ ...shut, rebuild })} />
          <OwnSessions />
          {mayManage && (
            <Accounts
              current={search.account}
              open={(account) => change({ ...shut, account })}
              create={() => change({ new: true })}
              sorting={{
                sort: sortIn(search.order, ACCOUNT_SORTS),
                change: (sort) => change({ order: sortText(sort) }),
              }}
            />
          )}
          {mayManage && <Keys />}
        </div>
      </div>
      {search.new && mayManage && (
        <NewAccount
          close={() => change({ new: undefined })}
          created={(account) => change({ new: undefined, account })}
        />
      )}
    </Page>
  );
}
