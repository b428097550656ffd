// Greets who is named in the query; throws on purpose when asked to, to show what becomes of an error.
export default defineComponent({
  props: {
    greeting: { type: "string", default: "Hello" },
    who: { type: "string", optional: true },
  },
  async run({ steps, $ }) {
    if (steps.trigger.event.query.fail !== undefined) throw new TypeError("asked to fail");
    const text = `${this.greeting}, ${this.who ?? "world"}!`;
    $.export("$summary", text);
    return text;
  },
});
