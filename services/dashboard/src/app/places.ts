/** The screens there are, in the order of the menu. A new screen is a row here and a folder in `screens`. */
import type { Dictionary } from "@/lib/i18n/en";
import type { IconName } from "@/ui/icon";

export const PLACES = [
  { name: "overview", path: "/", icon: "overview", key: "g o" },
  { name: "fleet", path: "/fleet", icon: "fleet", key: "g f" },
  { name: "queue", path: "/queue", icon: "queue", key: "g q" },
  { name: "renders", path: "/renders", icon: "renders", key: "g r" },
  { name: "analyses", path: "/analyses", icon: "analyses", key: "g n" },
  { name: "reminders", path: "/reminders", icon: "reminders", key: "g m" },
  { name: "events", path: "/events", icon: "events", key: "g e" },
  { name: "alerts", path: "/alerts", icon: "alerts", key: "g a" },
  { name: "system", path: "/system", icon: "system", key: "g s" },
] as const satisfies readonly { name: keyof Dictionary["places"]; path: string; icon: IconName; key: string }[];

export type Place = (typeof PLACES)[number];
