// How much JavaScript the first page needs before it can be used, compressed: the entry, one dictionary, and the overview
// with all that they import. Fails above the limit. What comes after it is listed: its charts, and other screens.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const LIMIT_KB = 180;
const dist = new URL("../dist/", import.meta.url);
const FIRST_SCREEN = "src/screens/overview/overview.tsx";

let manifest;
try {
  manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", dist), "utf8"));
} catch {
  console.error("dist is not there: run `npm run build` first");
  process.exit(1);
}

const kb = (key) => gzipSync(readFileSync(new URL(manifest[key].file, dist)), { level: 9 }).length / 1000;
const sum = (keys) => [...keys].reduce((total, key) => total + kb(key), 0);

/** A chunk and all that it imports. */
function closure(key, seen = new Set()) {
  if (seen.has(key)) return seen;
  seen.add(key);
  for (const other of manifest[key].imports ?? []) closure(other, seen);
  return seen;
}

const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);
const dictionaries = Object.keys(manifest)
  .filter((key) => /lib\/i18n\/(en|ko)\.ts$/.test(key))
  .sort((a, b) => kb(b) - kb(a));
const initial = new Set([entry, dictionaries[0], FIRST_SCREEN].flatMap((key) => [...closure(key)]));

const total = sum(initial);
console.log(`${total.toFixed(1).padStart(6)} kB gzip before the first page can be used (limit ${LIMIT_KB})`);
console.log(`${sum(closure(entry)).toFixed(1).padStart(6)} kB of it for any page`);
for (const key of [...(manifest[FIRST_SCREEN].dynamicImports ?? []), ...(manifest[entry].dynamicImports ?? [])]) {
  if (dictionaries.includes(key) || key === FIRST_SCREEN) continue;
  const more = [...closure(key)].filter((one) => !initial.has(one));
  console.log(`${`+${sum(more).toFixed(1)}`.padStart(6)} kB ${key.replace("src/", "")}`);
}
if (total > LIMIT_KB) {
  console.error(`${(total - LIMIT_KB).toFixed(1)} kB too much`);
  process.exit(1);
}
