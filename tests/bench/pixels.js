// Notes each change that a phone in the racks shows, and when the frame that shows it is out. Run in the page.
() => {
  const seen = [];
  window.__seen = seen;
  const progress = /, (\d+) %$/;
  const read = (phone) => [
    phone.dataset.device,
    phone.dataset.phase ?? "",
    Number(progress.exec(phone.getAttribute("aria-label"))?.[1] ?? 0),
  ];
  new MutationObserver((records) => {
    const phones = new Set(records.map((record) => record.target).filter((target) => target.dataset?.device));
    if (phones.size === 0) return;
    const changes = [...phones].map(read);
    // The first frame callback comes before this change is painted, or right after it; the second one certainly after.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const now = Date.now();
        for (const [device, phase, percent] of changes) seen.push([device, phase, percent, now]);
      }),
    );
  }).observe(document.querySelector(".racks"), {
    subtree: true,
    attributes: true,
    attributeFilter: ["data-phase", "data-shown", "aria-label"],
  });
}
