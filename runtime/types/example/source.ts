import { ConfigurationError, DEFAULT_POLLING_SOURCE_TIMER_INTERVAL } from "@pipedream/platform";
import { defineSource } from "@pipedream/types";

import acme from "./acme.app";

export default defineSource({
  name: "New Project",
  key: "acme-new-project",
  version: "0.0.1",
  type: "source",
  dedupe: "unique",
  props: {
    acme,
    db: "$.service.db",
    http: { type: "$.interface.http", customResponse: true },
    timer: { type: "$.interface.timer", default: { intervalSeconds: DEFAULT_POLLING_SOURCE_TIMER_INTERVAL } },
    projectId: { propDefinition: [acme, "projectId"] },
    limit: { propDefinition: [acme, "limit"] },
    tags: { type: "string[]", optional: true, reloadProps: true },
    color: {
      type: "string",
      optional: true,
      async options({ page, prevContext: { cursor = 0 } }) {
        return { options: [{ label: this.owner.label, value: page }], context: { cursor: cursor + 1 } };
      },
    },
    owner: { type: "string", withLabel: true },
  },
  methods: {
    describe(name: string): string {
      return `${name} of ${this.owner.label}`;
    },
  },
  hooks: {
    async activate() {
      if (!this.http.endpoint.startsWith("https:")) throw new ConfigurationError("an https endpoint is needed");
      this.db.set("since", Date.now());
    },
  },
  async additionalProps() {
    const found = this.tags?.length ?? 0;
    return found > 1 ? { mode: { type: "string", options: ["any", "all"] } } : {};
  },
  async run(event) {
    this.http.respond({ status: 200, body: { ok: true } });
    const most: number = this.limit ?? 10;
    const id: string = this.projectId;
    for (const project of (await this.acme.projects(0)).slice(0, most)) {
      this.$emit({ ...project, event }, { id: project.id, summary: this.describe(project.name), ts: Date.now() });
    }
    // @ts-expect-error -- there is no such prop
    void this.nothing;
    // @ts-expect-error -- a string is no number
    const wrong: number = id;
    return wrong;
  },
});
