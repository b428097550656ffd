export default defineComponent({
  async run({ steps, $ }) {
    await $.respond({ status: 200, body: { message: steps.greet.$return_value } });
  },
});
