// Each type of prop as `this` has it.
import { defineAction, defineSource } from "@pipedream/types";

import acme from "./acme.app";

export const action = defineAction({
  name: "Every Prop",
  key: "acme-every-prop",
  version: "0.0.1",
  type: "action",
  props: {
    sql: { type: "sql", auth: { app: "postgresql" }, label: "Query" },
    request: { type: "http_request" },
    store: { type: "data_store" },
    dir: { type: "dir", accessMode: "read-write", sync: true, optional: true },
    note: { type: "alert", alertType: "info", content: "Read *this*." },
    count: { type: "integer", min: 1, max: 9, optional: true },
    flags: { type: "boolean[]" },
    anything: "any",
    accounts: { ...acme, type: "app[]" },
    shops: { type: "app[]", app: "shopify" },
  },
  async run({ $ }) {
    const text: string = this.sql.query;
    const params: unknown[] = this.sql.params;
    const { status, data } = await this.request.execute();
    for await (const [key, value] of this.store) $.export(key, value);
    await this.store.set("count", this.count ?? 0, { ttl: 60 });
    // What a user configured is not known before the run.
    const first: boolean = this.flags[0];
    const count: string = this.count;
    // @ts-expect-error -- a store's values come asynchronously
    this.store.get("count").length;
    const projects = await Promise.all(this.accounts.map((account: { projects(page: number): Promise<unknown> }) => account.projects(0)));
    const token: string = this.shops[0]?.$auth["oauth_access_token"];
    return [projects.length, token, text, params, status, data, first, count, this.anything.of.any.depth];
  },
});

export const source = defineSource({
  name: "Hooked",
  version: "0.0.1",
  type: "source",
  props: { acme, hook: { type: "$.interface.apphook", appProp: "acme", eventNames: ["project.created"] } },
  async run(event) {
    this.$emit(event, { id: event.id });
    // @ts-expect-error -- metadata has no such field
    this.$emit(event, { name: 5 });
  },
});
