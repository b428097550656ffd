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
    await $.respond({ status: 202, headers: { "x-a": ["1", "2"] }, body: { ok: true }, immediate: true });
    await $.respond("text");
    await $.respond(Buffer.from("bytes"));
    await $.respond(new Response("whole", { status: 201 }));
    await $.respond(Promise.resolve({ status: 204 }));
    await $.respond();
    // @ts-expect-error -- a number is no answer
    await $.respond(200);
    // @ts-expect-error -- a misspelt field
    await $.respond({ statusCode: 200 });
    // @ts-expect-error -- a method gives what it is declared to give
    const wrong: string = this.twice();
    return [this.twice(), wrong];
  },
});
