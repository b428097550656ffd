import { expect, test } from "vitest";
import { changedFiles, filesOf, folderOf, type Version } from "./files";

const step = (namespace: string, code: string, entry: string) => ({
  id: `c_${namespace}`,
  namespace,
  configured_props_json: JSON.stringify({ n: 1 }),
  savedComponent: { id: "sc_1", code, files: { entry, others: {} } },
});
const version = (code: string): Version => ({
  name: "Greeter",
  active: true,
  triggers: [
    { type: "timer", cron: "0 9 * * *", timezone: "Europe/Berlin" },
    { type: "source", id: "dc_1", name_slug: "orders", event_name: "" },
  ],
  steps: [
    step("load", code, "load.mjs"),
    { id: "c_2", namespace: "send", savedComponent: { key: "mail-send", published: true } },
  ],
  settings: { timeout_ms: null, memory_mb: 512, keep_data: true, error_recipients: [] },
});

test("a draft is written as the files that a project has", async () => {
  const files = await filesOf(version("export default 1;\n"));
  expect(files["steps/load.mjs"]).toBe("export default 1;\n");
  expect(files["workflow.yaml"]).toBe(`name: Greeter
triggers:
  - type: timer
    props:
      cron: 0 9 * * *
      timezone: Europe/Berlin
  - type: source
    source: orders
steps:
  - namespace: load
    code_file: steps/load.mjs
    props:
      n: 1
  - namespace: send
    component_key: mail-send
settings:
  memory_mb: 512
`);
});

test("the change is the files that differ", async () => {
  const [before, after] = [await filesOf(version("1")), await filesOf(version("2"))];
  expect(changedFiles(before, after)).toEqual([
    { path: "steps/load.mjs", before: "1", after: "2" },
  ]);
  expect(changedFiles(before, before)).toEqual([]);
});

test("a project's folder stands before the paths", () => {
  expect(folderOf({ project: "shop", path: "workflows/hello" })).toBe("workflows/hello/");
  expect(folderOf(null)).toBe("");
});
