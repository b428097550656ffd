// Builds the files that the server embeds: the host, and our answers to two package names.
import { build } from "esbuild";

const common = { bundle: true, format: "esm", platform: "node", target: "node20", legalComments: "none" };
await build({ ...common, entryPoints: ["src/host.ts"], outfile: "dist/host.mjs" });
await build({ ...common, entryPoints: ["platform/index.ts"], outfile: "dist/platform.mjs", external: ["axios"] });
await build({ ...common, entryPoints: ["platform/types.ts"], outfile: "dist/types.mjs" });
