// Collects what the Core Web Vitals are computed from. Run in the page before anything else of it.
(() => {
  const vitals = { paintMs: 0, painted: "", shifts: [], interactions: {} };
  window.__vitals = vitals;
  const named = (node) => {
    const element = node instanceof Element ? node : node?.parentElement;
    if (element === null || element === undefined) return "gone";
    const text = (element.getAttribute("aria-label") ?? element.innerText ?? "").trim().replace(/\s+/g, " ");
    return `${element.tagName.toLowerCase()} “${text.slice(0, 30)}”`;
  };
  const observe = (type, note, options = {}) =>
    new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true, ...options });

  observe("largest-contentful-paint", (entry) => {
    vitals.paintMs = entry.startTime;
    vitals.painted = named(entry.element);
  });
  observe("layout-shift", (entry) => {
    if (entry.hadRecentInput) return; // somebody caused it, and expects it
    vitals.shifts.push([entry.startTime, entry.value, entry.sources.map((source) => named(source.node)).join(", ")]);
  });
  // An interaction is several events: a key goes down and up. It is as slow as the slowest of them.
  const note = (entry) => {
    if (!entry.interactionId) return;
    const before = vitals.interactions[entry.interactionId];
    if (before !== undefined && before[0] >= entry.duration) return;
    vitals.interactions[entry.interactionId] = [
      entry.duration,
      entry.processingStart - entry.startTime,
      entry.processingEnd - entry.processingStart,
      `${entry.name} on ${named(entry.target)}`,
    ];
  };
  observe("event", note, { durationThreshold: 16 });
  observe("first-input", note);
})();
