/** Searching events: time, names, export, in English. */

export const searches = {
  time: "Time",
  anyTime: "Any time",
  lasts: {
    "15m": "Last 15 min",
    "1h": "Last hour",
    "24h": "Last 24 hours",
    "7d": "Last 7 days",
    "30d": "Last 30 days",
  },
  between: "Between…",
  from: "From",
  to: "To",
  backwards: "The end is before the beginning.",
  type: "Type",
  saved: "Saved searches",
  savedLead: "Searches are saved in this browser. To give one to somebody else, copy its link.",
  none: "No saved searches yet.",
  name: "Name",
  nameHint: "Such as “Failures of last night”.",
  save: "Save this search",
  full: (n: number) => `At most ${n} searches can be saved. Delete one first.`,
  open: (name: string) => `Open “${name}”`,
  remove: (name: string) => `Delete “${name}”`,
  copyLink: (name: string) => `Copy the link of “${name}”`,
  copied: "Link copied",
};
