import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useRef, useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { isObject } from "~/api/json";
import type { Source } from "~/api/schema";
import { Button } from "~/ui/button";
import { Editor } from "~/ui/code/editor";
import { Dialog } from "~/ui/dialog";
import { Message } from "~/ui/field";
import { say } from "~/ui/toast";

/** What the source is run with: for HTTP a request to begin with, else nothing. */
function firstEvent(source: Source): string {
  const http = source.interfaces.some((each) => isObject(each) && each.type === "http");
  return http
    ? JSON.stringify(
        { method: "POST", path: "/", query: {}, headers: {}, body: { hello: "world" } },
        null,
        2,
      )
    : "{}";
}

export function RunNow({ source, onClose }: { source: Source; onClose: () => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState(() => firstEvent(source));
  const go = useRef<HTMLButtonElement>(null);
  const event = parsed(text);
  const run = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/sources/{id}/run", {
          params: { path: { id: source.id } },
          body: "value" in event ? { event: event.value } : {},
        }),
      ),
    onSuccess: (made) => {
      onClose();
      say({
        title: `${source.name} runs`,
        shape: "running",
        act: {
          label: "Open the run",
          onClick: () => void navigate({ to: "/runs/$id", params: { id: made.id } }),
        },
      });
    },
  });
  const submit = () => {
    if ("value" in event) run.mutate();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Run now"
      about={source.name}
      size="middle"
      initialFocus={go}
      onSubmit={submit}
      foot={
        <>
          <Button onClick={onClose} keys="escape">
            Close
          </Button>
          <Button
            ref={go}
            look="primary"
            icon={Play}
            keys="mod+enter"
            busy={run.isPending && "Running…"}
            refused={"problem" in event ? event.problem : undefined}
            onClick={submit}
          >
            Run now
          </Button>
        </>
      }
    >
      <div className="dialog-body">
        <p className="mid">
          Its code runs once, with this event. What it emits goes to those who listen.
        </p>
        <Editor
          language="json"
          label="Event"
          value={text}
          onChange={setText}
          invalid={"problem" in event}
          minHeight={120}
          maxHeight="40dvh"
        />
        {"problem" in event && <Message error={event.problem} />}
        {run.error !== null && (
          <p role="alert" className="failed-text">
            {sentence(run.error)}
          </p>
        )}
      </div>
    </Dialog>
  );
}

function parsed(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: text.trim() === "" ? {} : JSON.parse(text) };
  } catch {
    return { problem: "The event is no JSON." };
  }
}
