/** A dialog with a form: fields, the refusal of the server at its place, and one act. */

import type { UseMutationResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { sentence } from "~/api/errors";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import "~/ui/field.css";

export function FormDialog<T>({
  title,
  about,
  act,
  busy,
  size,
  mutation,
  refused,
  onClose,
  children,
}: {
  title: string;
  about?: string;
  act: string;
  /** What the button says meanwhile. */
  busy: string;
  size?: "middle" | "wide";
  mutation: UseMutationResult<T, Error, void>;
  refused?: string | undefined;
  onClose: () => void;
  children: ReactNode;
}) {
  const submit = () => {
    if (refused === undefined && !mutation.isPending) mutation.mutate();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      onSubmit={submit}
      {...(about === undefined ? {} : { about })}
      {...(size === undefined ? {} : { size })}
    >
      <form
        className="dialog-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <div className="dialog-body form-grid">
          {children}
          {mutation.error !== null && (
            <p role="alert" className="failed-text">
              {sentence(mutation.error)}
            </p>
          )}
        </div>
        <footer className="dialog-foot">
          <Button onClick={onClose} keys="escape">
            Close
          </Button>
          <Button look="primary" type="submit" refused={refused} busy={mutation.isPending && busy}>
            {act}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
