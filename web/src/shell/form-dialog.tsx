/** A dialog with a form: fields, the refusal of the server at its place, and one act. */

import { type ReactNode, useRef } from "react";
import { Button } from "~/ui/button";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { Form } from "./form";

export function FormDialog({
  title,
  about,
  act,
  busy,
  size,
  mutation,
  refused,
  typed,
  onClose,
  children,
}: {
  title: string;
  about?: string;
  act: string;
  /** What the button says meanwhile. */
  busy: string;
  size?: "middle" | "wide";
  /** What is sent: a mutation, or a form over a record. */
  mutation: { error: Error | null; isPending: boolean; mutate: () => void };
  refused?: string | undefined;
  /** As of `Dialog`. */
  typed?: boolean;
  onClose: () => void;
  children: ReactNode;
}) {
  const form = useRef<HTMLFormElement>(null);
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      onSubmit={() => form.current?.requestSubmit()}
      typed={typed}
      {...(about === undefined ? {} : { about })}
      {...(size === undefined ? {} : { size })}
    >
      <Form
        ref={form}
        error={mutation.error}
        onSubmit={() => {
          if (refused === undefined && !mutation.isPending) mutation.mutate();
        }}
        foot={
          <>
            <CloseDialog />
            <Button
              look="primary"
              type="submit"
              refused={refused}
              busy={mutation.isPending && busy}
            >
              {act}
            </Button>
          </>
        }
      >
        {children}
      </Form>
    </Dialog>
  );
}
