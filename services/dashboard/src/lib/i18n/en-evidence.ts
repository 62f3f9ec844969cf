/** What a phone sent along with a failure, in English. */

export const evidence = {
  show: "Show screenshot",
  showHint: "Looking at a screenshot is recorded in the audit.",
  loading: "Loading the screenshot…",
  alt: (serial: string) => `Screenshot of ${serial} when it failed`,
  title: "Screenshot",
  enlarge: "Enlarge the screenshot",
  gone: "The screenshot was deleted. Screenshots are kept for a limited time.",
  notConfigured: "This server keeps no screenshots (DROVER_EVIDENCE is not set).",
  broken: "The screenshot cannot be displayed.",
  elsewhere: "Screenshot at another address",
  reference: "Screenshot reference",
  stack: "Activity stack",
  erase: "Erase screenshots",
  eraseTitle: "Erase the screenshots of this run?",
  eraseLead: "All screenshots of this assignment are deleted. This can't be undone.",
  keep: "Keep",
  erased: (count: number) => (count === 1 ? "1 screenshot erased" : `${count} screenshots erased`),
};
