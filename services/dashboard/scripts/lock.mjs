// Takes the addresses out of the locks: they name packages and their hashes, not where they were fetched from.
// With --check it only looks, and fails where there is one. (npm's own omit-lockfile-registry-resolved also drops the
// versions of packages for other platforms, and then `npm ci` refuses the lock.)
import { readFileSync, writeFileSync } from "node:fs";

for (const name of ["package-lock.json", "contract/package-lock.json"]) {
  const path = new URL(`../${name}`, import.meta.url);
  const lock = JSON.parse(readFileSync(path, "utf8"));
  const addressed = Object.entries(lock.packages).filter(([, entry]) => entry.resolved !== undefined);
  if (process.argv.includes("--check")) {
    if (addressed.length > 0) {
      console.error(`${name} has ${addressed.length} addresses: run \`npm run lock\``);
      process.exit(1);
    }
  } else {
    for (const [, entry] of addressed) delete entry.resolved;
    writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
  }
}
