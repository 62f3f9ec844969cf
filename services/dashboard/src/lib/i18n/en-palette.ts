/** The palette: what the server finds, in English. */

export const find = {
  endedJobs: "Jobs in the history",
  renders: "Renders",
  users: "Users",
  events: "Events",
  searches: "Saved searches",
  searching: "Searching…",
  unreachable: "The server could not be searched. What this page knows is shown.",
  eventsOfType: (type: string) => `Events: ${type}`,
  eventsAbout: (id: string) => `All events about ${id}`,
  frozen: "frozen",
  render: (id: number) => `#${id}`,
  charts: (range: string) => `Charts: ${range}`,
};
