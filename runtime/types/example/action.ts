import { defineAction } from "@pipedream/types";

import acme from "./acme.app";

export default defineAction({
  name: "Count Projects",
  key: "acme-count-projects",
  version: "0.0.1",
  type: "action",
  annotations: { readOnlyHint: true },
  props: {
    acme,
    store: { type: "data_store" },
    note: { type: "alert", alertType: "info", content: "Counts" },
    wait: { type: "boolean", default: false },
    ids: "integer[]",
  },
  methods: {
    key(): string {
      return `count-${this.ids.join("-")}`;
    },
  },
  async run({ $, steps }) {
    const before: number = (await this.store.get(this.key())) ?? 0;
    const projects = await this.acme.projects(steps.trigger.event.page ?? 0);
    await this.store.set(this.key(), projects.length, { ttl: 3600 });
    for await (const [key, value] of this.store) console.log(key, value);
    if (this.wait && $.context.run.runs === 1) {
      const { resume_url } = $.flow.rerun(60_000, { before });
      $.send.email({ subject: "Waiting", text: resume_url });
    }
    if (projects.length === 0) return $.flow.exit("no projects");
    $.export("$summary", `${projects.length} projects, ${before} before`);
    // @ts-expect-error -- an action emits with $.send.emit
    this.$emit({});
    return projects.map((project: { id: string }) => project.id);
  },
});
