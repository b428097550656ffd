import { tanstackRouter } from "@tanstack/router-plugin/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** Server that `npm run dev` passes requests to; its key stays in this process. */
const server = process.env.MILLRACE_URL ?? "http://127.0.0.1:8787";
const key = process.env.MILLRACE_API_KEY;
const toServer = {
  target: server,
  headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
};

export default defineConfig({
  plugins: [
    tanstackRouter({
      target: "react",
      autoCodeSplitting: true,
      quoteStyle: "double",
      semicolons: true,
      routesDirectory: "src/routes",
      generatedRouteTree: "src/routes.gen.ts",
    }),
    react(),
  ],
  resolve: { alias: { "~": new URL("./src", import.meta.url).pathname } },
  build: {
    target: ["chrome123", "firefox120", "safari17.5"],
    // Inlined files would need `data:` in the policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        codeSplitting: {
          // What every page needs is one file: else each module that two pages share would be one, a hundred of them.
          groups: [{ name: "shell", test: /\/src\/(main|routes\/_app(\.index)?)\.tsx/ }],
        },
      },
    },
  },
  worker: { format: "es" },
  // The server replaces the placeholder in each answer.
  html: { cspNonce: "{nonce}" },
  server: { proxy: { "/v1": toServer, "/openapi.json": toServer, "/readyz": toServer } },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"] },
});
