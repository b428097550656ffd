// Builds the files that the server embeds: the host, what its threads load first, and our answers to two package names.
import { build } from "esbuild";

const common = { bundle: true, format: "esm", platform: "node", target: "node20", legalComments: "none" };
await build({ ...common, entryPoints: ["src/host.ts"], outfile: "dist/host.mjs" });
await build({ ...common, entryPoints: ["src/worker.ts"], format: "cjs", outfile: "dist/worker.cjs" });
await build({ ...common, entryPoints: ["platform/index.ts"], outfile: "dist/platform.mjs", external: ["axios"] });
await build({ ...common, entryPoints: ["platform/types.ts"], outfile: "dist/types.mjs" });
