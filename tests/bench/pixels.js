// Notes each change that a phone in the racks shows, when it is in the document, and when the frame that shows it is
// out; and when the rows of assignments came. Run in the page.
() => {
  const seen = [];
  const received = [];
  window.__seen = seen;
  window.__received = received;
  const told = /"relation":"job_assignments","context":"fleet","to":(\d+)/g;
  const decode = TextDecoder.prototype.decode;
  TextDecoder.prototype.decode = function (...bytes) {
    const text = decode.apply(this, bytes);
    for (const [, to] of text.matchAll(told)) received.push([Number(to), Date.now()]);
    return text;
  };
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
    const drawn = Date.now();
    // The first frame callback comes before this change is painted, or right after it; the second one certainly after.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const now = Date.now();
        for (const [device, phase, percent] of changes) seen.push([device, phase, percent, drawn, now]);
      }),
    );
  }).observe(document.querySelector(".racks"), {
    subtree: true,
    attributes: true,
    attributeFilter: ["data-phase", "data-shown", "aria-label"],
  });
}
