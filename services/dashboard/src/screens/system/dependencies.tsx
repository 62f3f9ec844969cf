/** What the platform stands on, and where its numbers are. */
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Dependency, SystemHealth } from "@/lib/api/schema";
import type { Dictionary } from "@/lib/i18n/en";
import { useText } from "@/lib/i18n/i18n";
import { useFormat } from "@/lib/time/format";
import { Icon } from "@/ui/icon";
import { Card } from "@/ui/page";
import { Facts } from "@/ui/side-panel";
import { Dot, type Tone } from "@/ui/status";
import { useSystem } from "./use-system";

const LOOK_EVERY_MS = 10_000;

/** An answer that says that something is not well is an answer, too: it comes as 503. */
async function readHealth(fetchHealth: () => Promise<Response>): Promise<SystemHealth> {
  const answer = await fetchHealth();
  return (await answer.json()) as SystemHealth;
}

export function Dependencies(): ReactNode {
  const t = useText();
  const format = useFormat();
  const system = useSystem();
  const health = useQuery({
    queryKey: ["system-health"],
    queryFn: () => readHealth(() => fetch("/api/system/health")),
    refetchInterval: LOOK_EVERY_MS,
  });
  const remarkOf = ({ version, latency_ms, size_bytes }: Dependency): string =>
    [
      version,
      latency_ms === null || latency_ms === undefined ? null : `${format.number(latency_ms)} ms`,
      size_bytes === null || size_bytes === undefined ? null : t.renders.bytes(size_bytes),
    ]
      .filter((part) => part != null)
      .join(" · ");
  const facts: [string, ReactNode][] = ["nats", "postgres"].map((name) => {
    const found = system.data?.dependencies.find((one) => one.name === name);
    const said = found?.status ?? (system.error === null ? undefined : "error");
    const remark = found === undefined ? undefined : remarkOf(found);
    return [NAMES[name] ?? name, <How key={name} said={said} remark={remark} />];
  });
  // The two above say more of themselves.
  const others = Object.entries(health.data?.services ?? {}).filter(([name]) => name !== "nats" && name !== "database");
  for (const [name, said] of others) facts.push([nameOf(t, name), <How key={name} said={said} />]);
  if (system.data !== undefined) {
    facts.push([t.system.version, system.data.version], [t.system.answers, system.data.instance]);
  }
  return (
    <Card title={t.system.dependencies}>
      <Facts facts={facts} />
    </Card>
  );
}

function nameOf(t: Dictionary, service: string): string {
  const { names } = t.system;
  return names[service] ?? service;
}

const NAMES: Readonly<Record<string, string>> = { nats: "NATS", postgres: "Postgres" };
const WELL = ["connected", "reachable"];

function How({ said, remark }: { said: string | undefined; remark?: string | undefined }): ReactNode {
  const t = useText();
  if (said === undefined) return <span className="text-ink-3">{t.common.loading}</span>;
  const tone: Tone = WELL.includes(said) ? "online" : said === "not_configured" ? "offline" : "error";
  return (
    <span className="flex min-w-0 items-center gap-2">
      <Dot tone={tone} />
      <span className={tone === "error" ? "text-error-ink" : ""}>{t.system.words[said] ?? said}</span>
      {remark !== undefined && remark !== "" && <span className="truncate text-xs text-ink-3">{remark}</span>}
    </span>
  );
}

const LINKS = [
  { name: "metrics", path: "/metrics" },
  { name: "ready", path: "/readyz" },
  { name: "alive", path: "/livez" },
  { name: "openapi", path: "/api/openapi.json" },
] as const;

export function Links(): ReactNode {
  const t = useText();
  return (
    <Card title={t.system.links}>
      <ul className="flex flex-col gap-1 text-sm">
        {LINKS.map(({ name, path }) => (
          <li key={path}>
            <a
              href={path}
              target="_blank"
              rel="noreferrer"
              className="-mx-2 flex items-center gap-2 rounded px-2 py-0.5 hover:bg-hover"
            >
              <span className="w-24 shrink-0 font-mono text-xs">{path.replace("/api/", "")}</span>
              <span className="min-w-0 flex-1 truncate text-ink-2">{t.system.linkTexts[name]}</span>
              <Icon name="link" className="text-ink-3" />
            </a>
          </li>
        ))}
      </ul>
    </Card>
  );
}
