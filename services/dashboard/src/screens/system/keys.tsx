/** Which keys sign and which are still believed, by name: nothing of them can be seen. For administrators. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useApp } from "@/app/context";
import { get } from "@/lib/api/get";
import { buttonClass } from "@/ui/button";
import { Part } from "@/ui/part";
import { Unread } from "@/ui/states";
import { Badge } from "@/ui/status";
import { useKeysText } from "../keys/words";
import { WithCode } from "./with-code";

const RINGS = ["api_keys", "shared_secrets", "access_tokens", "sealing"] as const;

export function Keys(): ReactNode {
  const t = useKeysText();
  const { client } = useApp();
  const answer = useQuery({
    queryKey: ["keys"],
    queryFn: () => get(client, "/api/keys/signing", {}),
  });
  const { data } = answer;
  return (
    <Part
      title={t.system.keys}
      aside={
        <Link to="/keys" className={buttonClass("plain")}>
          {t.keys.title}
        </Link>
      }
    >
      {data === undefined ? (
        <Unread of={answer} />
      ) : (
        <>
          <ul>
            {RINGS.map((ring) => (
              <li
                key={ring}
                className="flex min-h-10 flex-wrap items-center gap-x-6 gap-y-1 border-b border-line px-4 py-1.5 text-sm"
              >
                <span className="w-40 font-medium">{t.system.keyRings[ring]}</span>
                {data[ring].length === 0 && <span className="text-ink-3">{t.common.none}</span>}
                {data[ring].map((key) => (
                  <span key={key.id} className="flex min-w-0 items-center gap-2">
                    <span className="truncate font-mono text-xs">{key.id}</span>
                    <Badge tone={key.use === "current" ? "online" : "held"}>{t.system.keyUses[key.use]}</Badge>
                  </span>
                ))}
              </li>
            ))}
          </ul>
          <p className="max-w-5xl px-4 py-2.5 text-xs text-ink-3">
            <WithCode text={t.system.keysLead} />
          </p>
        </>
      )}
    </Part>
  );
}
