/** The way to what an alert of another context than the fleet is about. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMay } from "@/app/context";
import { useText } from "@/lib/i18n/i18n";
import type { AlertRow } from "@/lib/rest/rows";

/** About a composition, not about one render of it. */
const OF_COMPOSITION = ["template_missing", "mapping_missing"];

export function WayElsewhere({ alert, className }: { alert: AlertRow; className: string }): ReactNode {
  const t = useText();
  const mayManage = useMay("manage-accounts");
  const { render_id: render, account_id: account } = alert.details;
  switch (alert.context) {
    case "render":
      if (OF_COMPOSITION.includes(alert.kind)) {
        return (
          <Link to="/renders" search={{ view: "mapping", map: alert.subject }} className={className}>
            {t.alertLinks.showMapping}
          </Link>
        );
      }
      return typeof render !== "number" ? null : (
        <Link to="/renders" search={{ render: String(render) }} className={className}>
          {t.alertLinks.showRender}
        </Link>
      );
    case "analysis":
      return (
        <Link to="/analyses" search={{ show: "stalled" }} className={className}>
          {t.alertLinks.showAnalyses}
        </Link>
      );
    case "reminder":
      return (
        <Link to="/reminders" search={{ show: "failed" }} className={className}>
          {t.alertLinks.showReminders}
        </Link>
      );
    case "identity":
      return typeof account !== "string" || !mayManage ? null : (
        <Link to="/system" search={{ account }} className={className}>
          {t.alertLinks.showAccount}
        </Link>
      );
    default:
      return null;
  }
}
