/** Charts, in English. */

export const charts = {
  range: "Range of the charts",
  ranges: { "15m": "15 min", "1h": "1 h", "6h": "6 h", "24h": "24 h", "7d": "7 d", "30d": "30 d" },
  over: {
    "15m": "over the last 15 minutes",
    "1h": "over the last hour",
    "6h": "over the last 6 hours",
    "24h": "over the last 24 hours",
    "7d": "over the last 7 days",
    "30d": "over the last 30 days",
  },
  noData: "no data",
  gap: "no data",
  restart: "restart",
  restartAt: (time: string) => `Restart at ${time}`,
  throughputLabel: (over: string) => `Attempts completed, failed or lost per minute, ${over}`,
  pickupLabel: (over: string) => `Time from offer to start of an attempt, ${over}`,
  phones: "Phones",
  phonesLabel: (over: string) => `Phones by status, ${over}`,
  lagLabel: (over: string) => `Largest lag of the read models behind the log, ${over}`,
  delayLabel: (since: string) => `Longest time from the commit of an event to this page, since ${since}`,
  sincePage: (since: string) => `measured by this page, since ${since}`,
  keys: "Focus a chart and use the arrow keys to read its values.",
};
