// Builds the files that the server embeds: the host, what its threads load first, and our answers to two package names.
import { build } from "esbuild";

const common = { bundle: true, format: "esm", platform: "node", target: "node20", legalComments: "none" };
// CommonJS: what of Node a host may not need is loaded where it does.
await build({ ...common, entryPoints: ["src/host.ts"], format: "cjs", outfile: "dist/host.cjs" });
// By a name of its own: an error that ends a thread names the file that threw last, and where the server keeps that is nobody's matter.
await build({ ...common, entryPoints: ["src/worker.ts"], format: "cjs", outfile: "dist/worker.cjs", footer: { js: "//# sourceURL=node:millrace/worker" } });
await build({ ...common, entryPoints: ["platform/index.ts"], outfile: "dist/platform.mjs", external: ["axios"] });
await build({ ...common, entryPoints: ["platform/types.ts"], outfile: "dist/types.mjs" });
