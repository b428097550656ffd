// Listens to $errors: subscribe it to a workflow's or the organization's id.
export default defineComponent({
  async run({ steps, $ }) {
    const { error, original_context: context } = steps.trigger.event;
    const line = `${context.workflow_name} failed with ${error.code}: ${error.message}`;
    console.error(line);
    $.export("$summary", line);
    return { workflow: context.workflow_id, code: error.code, trace: context.trace_id };
  },
});
