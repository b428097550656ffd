// A workflow step's code: nothing is imported.
export default defineComponent({
  props: { n: { type: "integer" }, list: "string[]" },
  methods: {
    twice(): number {
      return this.n * 2;
    },
  },
  async run({ steps, $ }) {
    $.export("$summary", `${this.list.length} of ${steps.trigger.event.total}`);
    // @ts-expect-error -- a method gives what it is declared to give
    const wrong: string = this.twice();
    return [this.twice(), wrong];
  },
});
