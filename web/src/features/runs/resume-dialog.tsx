/** Dialog that resumes a paused run before its time, with the data that its code receives. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { client, data } from "~/api/client";
import { asJson } from "~/api/json";
import type { RunDetail } from "~/api/runs";
import { FormDialog } from "~/shell/form-dialog";
import { useKeptText } from "~/shell/kept-text";
import { Editor } from "~/ui/code/editor";
import { Message } from "~/ui/field";
import { shortId } from "~/ui/format";
import { readJson } from "~/ui/json/problem";
import { say } from "~/ui/toast";
import { runQuery } from "./queries";

export function ResumeDialog({ run, onClose }: { run: RunDetail; onClose: () => void }) {
  const queries = useQueryClient();
  const [text, setText, isTyped] = useKeptText(`dialog.resume.${run.id}`);
  const given = text.trim() === "" ? { value: undefined } : readJson(text);
  const resume = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/runs/{id}/resume", {
          params: { path: { id: run.id } },
          body: "value" in given && given.value !== undefined ? { data: asJson(given.value) } : {},
        }),
      ),
    onSuccess: () => {
      onClose();
      say({ title: "The run continues", about: shortId(run.id), shape: "running" });
      void queries.invalidateQueries({ queryKey: runQuery(run.id).queryKey });
      void queries.invalidateQueries({ queryKey: ["runs"] });
    },
  });
  return (
    <FormDialog
      title="Resume the run?"
      about={run.ownerName ?? ""}
      act="Resume"
      busy="Resuming…"
      mutation={resume}
      typed={isTyped}
      refused={"problem" in given ? given.problem : undefined}
      onClose={onClose}
    >
      <p>
        It continues where it paused, as after a request to its{" "}
        <code className="mono">resume_url</code>.
      </p>
      <Editor
        language="json"
        label="Data for the step"
        value={text}
        onChange={setText}
        invalid={"problem" in given}
        minHeight={80}
        maxHeight="30dvh"
      />
      <Message
        {...("problem" in given ? { error: given.problem } : {})}
        hint="Passed to the code as the body of that request. If empty: {}."
      />
    </FormDialog>
  );
}
