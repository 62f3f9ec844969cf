/** Open alerts, of every context: raised, and gone when what they are about is over. */
import type { AlertRow } from "../rest/rows";
import { type AlertEvents, applyRule, type Envelope, type Rules } from "./events";
import type { Table } from "./table";

interface Open {
  readonly table: Table<AlertRow>;
  readonly context: string;
}

const rules: Rules<AlertEvents, Open> = {
  AlertRaised: ({ table, context }, e) =>
    table.set(e.alert_id, {
      context,
      id: e.alert_id,
      kind: e.kind,
      subject: e.subject,
      message: e.message,
      details: e.details,
      raised_at: e.at,
      until: e.until,
      resolved_at: null,
      reason: null,
    }),
  AlertResolved: ({ table }, e) => table.delete(e.alert_id),
};

export function foldAlerts(table: Table<AlertRow>, context: string, event: Envelope): void {
  applyRule(rules, { table, context }, event);
}
