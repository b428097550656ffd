// Greets who is named in the query or the body; throws on purpose when asked to, to show what becomes of an error.
export default defineComponent({
  props: {
    greeting: { type: "string", default: "Hello" },
    who: { type: "string", optional: true },
  },
  async run({ steps, $ }) {
    const { query, body } = steps.trigger.event;
    if (query?.fail !== undefined || body?.fail === true) throw new TypeError("asked to fail");
    const text = `${this.greeting}, ${this.who ?? body?.name ?? "world"}!`;
    $.export("$summary", text);
    return text;
  },
});
