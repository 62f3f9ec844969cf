/** Under a list that has more than is shown. */
import type { ReactNode } from "react";
import { useText } from "@/lib/i18n/i18n";
import { Button } from "./button";

export function More({ isBusy, show }: { isBusy: boolean; show: () => void }): ReactNode {
  const t = useText();
  return (
    <div className="flex justify-center border-t border-line py-3">
      <Button disabled={isBusy} onClick={show}>
        {isBusy ? t.common.loading : t.common.more}
      </Button>
    </div>
  );
}

interface Pages {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly fetchNextPage: () => unknown;
}

/** The button under a list that is read page by page; none where all of it is there. */
export function NextPage({ of: { hasNextPage, isFetchingNextPage, fetchNextPage } }: { of: Pages }): ReactNode {
  return hasNextPage ? <More isBusy={isFetchingNextPage} show={() => void fetchNextPage()} /> : null;
}
