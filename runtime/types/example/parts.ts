// `additionalProps` and hooks before `methods`: `this` has the methods everywhere.
import { defineAction, defineComponent, defineSource } from "@pipedream/types";

export const action = defineAction({
  key: "acme-order",
  version: "0.0.1",
  type: "action",
  props: { a: { type: "string", reloadProps: true } },
  async additionalProps() {
    return {};
  },
  methods: {
    helper(a: number): number {
      return a;
    },
  },
  async run({ $ }) {
    $.export("$summary", "x");
    const given: number = this.helper(2);
    // @ts-expect-error -- a method gives what it is declared to give
    const text: string = this.helper(2);
    return [given, text, this.a];
  },
});

export const source = defineSource({
  key: "acme-order-source",
  version: "0.0.1",
  type: "source",
  props: { db: "$.service.db", kind: { type: "string", reloadProps: true } },
  async additionalProps(previousPropDefs) {
    this.emit(previousPropDefs.kind);
    return {};
  },
  hooks: {
    async deploy() {
      this.emit(this.kind);
    },
  },
  methods: {
    emit(value: string) {
      this.$emit({ value }, { id: value });
    },
  },
  async run(event) {
    this.emit(event.id);
    // @ts-expect-error -- there is no such method
    this.emits(event.id);
  },
});

export const step = defineComponent({
  props: { a: "string" },
  async additionalProps() {
    return {};
  },
  methods: {
    helper(a: number) {
      return { a };
    },
  },
  async run({ steps }) {
    return this.helper(steps.trigger.event.n);
  },
});
