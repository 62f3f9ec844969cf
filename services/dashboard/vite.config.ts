// How the dashboard is built, tried (`npm run dev`, with a platform behind it) and tested.
import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** Where `npm run dev` finds a platform: `drover up --demo` by default. */
const platform = process.env["DROVER_URL"] ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react(), tailwindcss()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: { target: "es2023", manifest: true, sourcemap: false, reportCompressedSize: false },
  server: {
    // The cookie is the platform's own, so it must look as if both were one place.
    proxy: Object.fromEntries(["/api", "/rest", "/auth"].map((path) => [path, { target: platform }])),
  },
  test: {
    environment: "node",
    include: ["src/**/*.test.{ts,tsx}"],
    restoreMocks: true,
    unstubGlobals: true,
    testTimeout: 30_000, // for a test that hangs, not for a machine that is busy
  },
});
