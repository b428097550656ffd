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
          // Without groups each module that two pages share is a file: a page asked for thirty.
          groups: [
            // What the frame and Home need.
            { name: "shell", priority: 3, test: /\/src\/(main|routes\/_app(\.index)?)\.tsx/ },
            // What most other pages need: fields, dialogs, lists, the JSON tree.
            {
              name: "common",
              priority: 2,
              minShareCount: 4,
              test: /\/src\/(ui|shell|api)\/|@base-ui|@tanstack|lucide|floating-ui/,
            },
            // What the pages of a feature share.
            {
              name: (id) => /\/src\/features\/([^/]+)\//.exec(id)?.[1] ?? null,
              priority: 1,
              minShareCount: 3,
            },
          ],
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
