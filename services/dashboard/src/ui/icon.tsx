/** The few pictures there are, drawn on a grid of 16. Next to words they say nothing of their own. */
import type { ReactNode } from "react";

const PATHS = {
  overview: "M2.5 9.5h3v4h-3zM6.5 2.5h3v11h-3zM10.5 6.5h3v7h-3z",
  fleet: "M2.5 2.5h4.5v11h-4.5zM9 2.5h4.5v11h-4.5zM4.25 11.25h1M10.75 11.25h1",
  queue: "M2.5 4h11M2.5 8h11M2.5 12h7",
  events: "M2 8h2.5l2-5 3 10 2-5h2.5",
  alerts: "M8 2.5 14 13H2zM8 6.5v3M8 11.2v.1",
  renders: "M2 3.5h12v9H2zM5 3.5v9M11 3.5v9M2 6.5h3M2 9.5h3M11 6.5h3M11 9.5h3",
  analyses: "M6 2.5h4M6.75 2.5v4L3 12.3c-.4.7 0 1.2.7 1.2h8.6c.7 0 1.1-.5.7-1.2L9.25 6.5v-4M5 10h6",
  reminders:
    "M8 2.5a3.6 3.6 0 0 0-3.6 3.6c0 3.4-1.4 4.4-1.4 5.2h10c0-.8-1.4-1.8-1.4-5.2A3.6 3.6 0 0 0 8 2.5M6.8 13.5h2.4",
  system: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1M8 5h3M8 11h3",
  past: "M3 8a5 5 0 1 0 1.6-3.7M3 2.8v2.6h2.6M8 5v3.2l2 1.3",
  search: "M7 2.75a4.25 4.25 0 1 0 0 8.5 4.25 4.25 0 0 0 0-8.5M10.25 10.25l3.25 3.25",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  first: "M3.5 2.75h9M8 13.5v-8M4.5 9 8 5.5 11.5 9",
  play: "M5 3.2v9.6L12.5 8z",
  stop: "M4 4h8v8H4z",
  check: "M3 8.5l3.2 3.2L13 5",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
  moon: "M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6",
  globe: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M2.2 8h11.6M8 2c2 2 2.6 4 2.6 6S10 12 8 14M8 2C6 4 5.4 6 5.4 8S6 12 8 14",
  person: "M8 2.5a2.6 2.6 0 1 0 0 5.2 2.6 2.6 0 0 0 0-5.2M3 13.5c.6-2.6 2.5-3.8 5-3.8s4.4 1.2 5 3.8",
  keyboard: "M1.75 4.25h12.5v7.5H1.75zM4 6.5h.1M6.6 6.5h.1M9.3 6.5h.1M11.9 6.5h.1M5 9.4h6",
  chevron: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4 6 8l4 4",
  edit: "M3 13l.6-2.9L10.7 3a1.2 1.2 0 0 1 1.7 0l.6.6a1.2 1.2 0 0 1 0 1.7L5.9 12.4zM9.5 4.2l2.3 2.3",
  remove: "M3 4.5h10M6.5 4.5v-2h3v2M4.2 4.5l.6 9h6.4l.6-9M6.7 7v4M9.3 7v4",
  link: "M9.5 3h3.5v3.5M13 3 7.5 8.5M11 9.5V13H3V5h3.5",
  key: "M10.5 2.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8.3 7.7 3 13h2.2v-1.5h1.5V10",
  question: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M6.2 6.3a1.8 1.8 0 1 1 2.6 1.6c-.5.3-.8.6-.8 1.2M8 11.2v.1",
  reset: "M3 8a5 5 0 1 0 1.6-3.7M3 2.8v2.6h2.6",
  copy: "M5.5 5.5h7v7h-7zM3.5 10.5v-7h7",
  leave: "M9.5 3H3.5v10h6M7 8h6.5M11 5.5 13.5 8 11 10.5",
  phone: "M4.75 1.75h6.5v12.5h-6.5zM7.4 12.2h1.2",
  download: "M8 2.5v7.5M4.75 7 8 10.25 11.25 7M3 13.5h10",
  sortUp: "M8 13V3.5M4.5 7 8 3.5 11.5 7",
  sortDown: "M8 3v9.5M4.5 9 8 12.5 11.5 9",
  pc: "M2 3h12v7.5H2zM5.5 13.5h5M8 10.5v3",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, className = "" }: { name: IconName; className?: string }): ReactNode {
  return (
    <svg
      aria-hidden="true"
      className={`size-4 shrink-0 ${className}`}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
