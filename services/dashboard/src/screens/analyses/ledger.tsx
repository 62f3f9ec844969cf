/** What a user was given, charged and given back: every line of it, with what was left after it. */
import type { ReactNode } from "react";
import { useActors } from "@/farm/actors";
import type { LedgerRow } from "@/lib/rest/analysis-rows";
import { useFormat } from "@/lib/time/format";
import { type AnalysesText, useAnalysesText } from "./words";

export function Ledger({
  lines,
  openTest,
}: {
  lines: readonly LedgerRow[];
  openTest?: ((id: string) => void) | undefined;
}): ReactNode {
  const t = useAnalysesText();
  const format = useFormat();
  const nameOf = useActors();
  if (lines.length === 0) return <p className="text-sm text-ink-3">{t.analyses.noLedger}</p>;
  return (
    <table aria-label={t.analyses.ledger} className="w-full table-fixed border-collapse text-sm">
      <thead>
        <tr className="text-left text-xs text-ink-3">
          <th scope="col" className="w-26 pb-1 font-medium">
            {t.analyses.when}
          </th>
          <th scope="col" className="pb-1 font-medium">
            {t.analyses.what}
          </th>
          <th scope="col" className="w-12 pb-1 text-right font-medium">
            {t.analyses.amount}
          </th>
          <th scope="col" className="w-20 pb-1 pl-3 text-right font-medium">
            {t.analyses.left}
          </th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <tr key={line.id} className="border-t border-line">
            <td className="truncate py-1.5 text-ink-3" title={format.full(line.created_at)}>
              {format.moment(line.created_at)}
            </td>
            <td className="truncate py-1.5 pr-2" title={line.by}>
              {line.test_id !== null && openTest !== undefined ? (
                <button
                  type="button"
                  className="rounded underline-offset-2 hover:underline"
                  onClick={() => openTest(line.test_id ?? "")}
                >
                  {kindText(t, line)}
                </button>
              ) : (
                kindText(t, line)
              )}
              <span className="text-ink-3"> · {nameOf(line.by)}</span>
            </td>
            <td className={`py-1.5 text-right font-medium ${line.amount < 0 ? "text-error-ink" : "text-online-ink"}`}>
              {signed(line.amount, format.number)}
            </td>
            <td className="py-1.5 pl-3 text-right">{format.number(line.remaining_tests)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** With a sign of its own on both sides: +1, −1. */
export function signed(amount: number, number: (n: number) => string): string {
  return amount < 0 ? `−${number(-amount)}` : `+${number(amount)}`;
}

function kindText(t: AnalysesText, line: LedgerRow): string {
  const { kinds } = t.analyses;
  return Object.hasOwn(kinds, line.kind) ? kinds[line.kind as keyof typeof kinds] : line.kind;
}
