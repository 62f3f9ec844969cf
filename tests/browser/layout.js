// What somebody with a small screen could not see, read or tap on this page: one sentence for each.
({ tapMin, readableMin, sideways }) => {
  const SLACK = 1;
  const CONTROLS =
    "a[href], button, input, select, textarea, summary, [role=menuitem], [role=menuitemradio], [role=option]";
  const faults = new Set();
  const screen = document.documentElement;
  const width = screen.clientWidth;
  const height = window.innerHeight;

  const words = (element) =>
    (element.getAttribute("aria-label") ?? (element.innerText || element.placeholder || element.value || "")).trim();
  const named = (element) => `${element.tagName.toLowerCase()} “${words(element).replace(/\s+/g, " ").slice(0, 40)}”`;
  const styleOf = (element) => getComputedStyle(element);
  const isSeen = (element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && element.closest("[inert]") === null;
  /** For readers of the screen alone: one pixel. */
  const isForEarsOnly = (element) => element.getBoundingClientRect().width <= 1;

  function* ancestors(element) {
    for (let at = element.parentElement; at !== null; at = at.parentElement) yield at;
  }
  /** A picture of a radio button is its label; a small box is tapped anywhere in the label around it. */
  function tapped(control) {
    return control.matches("input[type=radio], input[type=checkbox]") ? (control.closest("label") ?? control) : control;
  }

  // The page.
  if (document.scrollingElement.scrollWidth > width) faults.add(`the page is wider than the screen`);
  for (const element of document.querySelectorAll("*")) {
    const scrolls = ["auto", "scroll"].includes(styleOf(element).overflowX) && !element.matches(sideways);
    if (scrolls && isSeen(element) && element.scrollWidth > element.clientWidth + SLACK) {
      faults.add(`${element.tagName.toLowerCase()}.${element.className} scrolls sideways`);
    }
  }

  // What is cut off sideways. A popup is transparent until it has its place, and covers the page all the same.
  const modals = [...document.querySelectorAll("[role=dialog], [role=alertdialog], [role=menu]")];
  const modal = modals.filter(isSeen).at(-1);
  if (modal === undefined && modals.length > 0) return [`${named(modals.at(-1))} is not shown yet`];
  const scope = modal ?? document;
  const controls = [...scope.querySelectorAll(CONTROLS)]
    .filter((control) => isSeen(control))
    .map((control) => [control, tapped(control)])
    .filter(([, target]) => !isForEarsOnly(target));
  const isWithin = (inner, outer) => inner.left >= outer.left - SLACK && inner.right <= outer.right + SLACK;
  for (const [control, target] of controls) {
    const box = target.getBoundingClientRect();
    if (!isWithin(box, { left: 0, right: width })) {
      const isIntended = [...ancestors(target)].some((element) => element.matches(sideways));
      if (!isIntended) faults.add(`${named(control)} is outside the screen`);
    }
    for (const element of ancestors(target)) {
      if (element.matches(sideways)) break;
      const cuts = styleOf(element).overflowX !== "visible" && styleOf(element).textOverflow !== "ellipsis";
      if (cuts && element !== screen && !isWithin(box, element.getBoundingClientRect())) {
        faults.add(`${named(control)} is cut off`);
      }
    }
  }

  // What cannot be read: shortened to nothing, or drawn over its neighbour.
  const WRITTEN = "input:not([type=radio], [type=checkbox], [type=range], [inputmode=numeric]), select, textarea";
  for (const field of [...scope.querySelectorAll(WRITTEN)].filter(isSeen)) {
    if (isForEarsOnly(field)) continue;
    const room = field.getBoundingClientRect().width;
    if (room < readableMin) faults.add(`${named(field)} has ${Math.round(room)} px to write in`);
  }
  for (const [index, [control, target]] of controls.entries()) {
    const box = target.getBoundingClientRect();
    for (const [other, otherTarget] of controls.slice(index + 1)) {
      if (target.contains(otherTarget) || otherTarget.contains(target)) continue;
      const beside = otherTarget.getBoundingClientRect();
      const across = Math.min(box.right, beside.right) - Math.max(box.left, beside.left);
      const down = Math.min(box.bottom, beside.bottom) - Math.max(box.top, beside.top);
      if (across > SLACK && down > SLACK && control.closest("header, nav") === other.closest("header, nav")) {
        faults.add(`${named(control)} overlaps ${named(other)}`);
      }
    }
  }
  for (const element of scope.querySelectorAll("*")) {
    const style = styleOf(element);
    if (style.textOverflow !== "ellipsis" || !isSeen(element) || isForEarsOnly(element)) continue;
    const isCell = element.matches("td, th");
    const needed = Math.min(element.scrollWidth, readableMin);
    const padding = isCell ? Number.parseFloat(style.paddingLeft) + Number.parseFloat(style.paddingRight) : 0;
    if (element.scrollWidth > element.clientWidth && element.clientWidth - padding < needed) {
      faults.add(`${named(element)} is shortened to ${Math.round(element.clientWidth - padding)} px`);
    }
  }
  const hasOnlyForEars = (cell) =>
    cell.hasChildNodes() && [...cell.childNodes].every((node) => node instanceof Element && isForEarsOnly(node));
  for (const cell of scope.querySelectorAll("td, th")) {
    if (!isSeen(cell) || isForEarsOnly(cell) || hasOnlyForEars(cell)) continue;
    const room = cell.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(cell);
    const isShortened = styleOf(cell).textOverflow === "ellipsis";
    if (!isShortened && range.getBoundingClientRect().right > room.right + SLACK) {
      faults.add(`${named(cell)} is wider than its column`);
    }
    for (const part of cell.querySelectorAll("*")) {
      if (styleOf(part).display === "inline" || !isSeen(part) || isForEarsOnly(part)) continue;
      if (part.closest("svg") === null && !isWithin(part.getBoundingClientRect(), room)) {
        faults.add(`${named(part)} is wider than its column`);
      }
    }
  }

  // What is covered, or too small for a finger.
  for (const [control, target] of controls) {
    target.scrollIntoView({ block: "center", behavior: "instant" });
    const box = target.getClientRects()[0];
    const middle = [box.left + box.width / 2, box.top + box.height / 2];
    if (box.top < -SLACK || box.bottom > height + SLACK) faults.add(`${named(control)} cannot be scrolled to`);
    const hit = document.elementFromPoint(...middle);
    const isOn = hit !== null && (target.contains(hit) || hit.contains(target) && hit.closest("button, a") === hit);
    if (!isOn) faults.add(`${named(control)} is covered by ${hit === null ? "nothing" : named(hit)}`);
    const isInRow = target.closest("tr[class*=cursor-pointer]") !== null && !control.matches("input");
    const isInText = styleOf(target).display === "inline";
    if (!isInRow && !isInText && Math.min(box.width, box.height) < tapMin) {
      faults.add(`${named(control)} is ${Math.round(box.width)} × ${Math.round(box.height)} px: too small for a finger`);
    }
  }
  return [...faults];
}
