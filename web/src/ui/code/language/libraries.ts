/** Declarations of the language, as files by their names: those of Node 20. */

export const libraries: Record<string, string> = {};
const found = import.meta.glob<string>(
  [
    "/node_modules/typescript/lib/lib.es5.d.ts",
    "/node_modules/typescript/lib/lib.es20*.d.ts",
    "/node_modules/typescript/lib/lib.decorators*.d.ts",
    "!/node_modules/typescript/lib/lib.*.full.d.ts",
    "!/node_modules/typescript/lib/lib.es2024*.d.ts",
  ],
  { query: "?raw", import: "default", eager: true },
);
for (const [path, text] of Object.entries(found)) {
  libraries[path.slice(path.lastIndexOf("/") + 1)] = text;
}
