/** The types are those of the contract that is published, and nobody has written in them by hand. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { filled } from "./get";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const STALE = "run `make contracts`";

test("schema.ts is made of contracts/openapi.yaml as it is", () => {
  const [, contract, types, , ...rest] = read("./schema.ts").split("\n");
  expect(contract, STALE).toBe(`// contract ${sha256(read("../../../../../contracts/openapi.yaml"))}`);
  expect(types, STALE).toBe(`// types ${sha256(rest.join("\n"))}`);
});

test("what stands in a path is its own, whatever it is", () => {
  expect(filled("/api/events/{context}/{seq}/{line}/chain", { context: "fleet", seq: 12, line: 0 })).toBe(
    "/api/events/fleet/12/0/chain",
  );
  expect(filled("/api/users/{id}/ledger", { id: "a/b?c" })).toBe("/api/users/a%2Fb%3Fc/ledger");
});
