/** Members of `$` that steps use, for completion. */

import { Says } from "~/ui/code/completion";

const says = (words: string) => new Says(words);

export const RUNTIME = {
  export: says("(name, value): a result of the step"),
  respond: says("({ status, headers, body }): the answer"),
  flow: {
    exit: says("(reason): ends the run as succeeded"),
    delay: says("(ms): pauses the run"),
    suspend: says("(ms): waits for a request"),
    rerun: says("(ms, context, maxRetries): runs the step again"),
    trigger: says("(workflowId, event): starts another workflow"),
  },
  send: {
    http: says("({ method, url, data }): a request after the run"),
    email: says("({ subject, text, to }): a mail after the run"),
    emit: says("({ raw_event, event, name }): an event of the workflow"),
    sse: says("({ channel, payload }): to readers of the stream"),
    s3: says("({ bucket, prefix, payload }): an object"),
  },
};

/** Members of `steps.trigger.context`. */
export const CONTEXT = {
  id: says("the run"),
  ts: says("when the event was received"),
  workflow_id: says("the workflow"),
  workflow_name: says("its name"),
  deployment_id: says("the version that runs"),
  emitter_id: says("the trigger or source of the event"),
  owner_id: says("the organization"),
  platform_version: says("the version of the server"),
  replay: says("whether the run is a replay"),
  trace_id: says("the same in all runs that follow from one event"),
};
