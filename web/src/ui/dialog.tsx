/** Dialog, and the dialog that confirms an action. */

import "./dialog.css";
import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type ReactNode, type RefObject, useRef, useState } from "react";
import { Button, IconButton, type Look } from "./button";
import { cn } from "./cn";
import { Field, Input } from "./field";
import { KeepFocus } from "./keep-focus";
import { LayerContext } from "./layer";
import { worded } from "./worded";

type Props = {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  /** Beside the title, dimmed. */
  about?: ReactNode;
  size?: "middle" | "wide";
  /** Acts, at the bottom. */
  foot?: ReactNode;
  initialFocus?: RefObject<HTMLElement | null>;
  /** Called by mod+enter, as by the primary act: not while that is under way or refused. */
  onSubmit?: () => void;
  className?: string;
  children: ReactNode;
};

export function Dialog({
  open,
  onClose,
  title,
  about,
  size,
  foot,
  initialFocus,
  onSubmit,
  className,
  children,
}: Props) {
  const [popup, setPopup] = useState<HTMLElement | null>(null);
  const inner = useRef<HTMLElement>(null);
  return (
    <BaseDialog.Root
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose();
      }}
    >
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className="scrim" />
        <BaseDialog.Viewport className="dialog-view">
          <BaseDialog.Popup
            ref={(element) => {
              inner.current = element;
              setPopup(element);
            }}
            className={cn("dialog", size !== undefined && `is-${size}`, className)}
            initialFocus={
              initialFocus ?? ((by) => (by === "touch" ? true : firstOf(inner.current)))
            }
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
                event.preventDefault();
                if (!event.repeat && !isStopped(inner.current)) onSubmit?.();
              }
            }}
          >
            <LayerContext value={popup}>
              <header className="dialog-head">
                <BaseDialog.Title>{title}</BaseDialog.Title>
                {about !== undefined && <span className="dim cut">{about}</span>}
                <span className="grow" />
                <BaseDialog.Close render={<IconButton icon={X} label="Close" />} />
              </header>
              {children}
              {foot !== undefined && <footer className="dialog-foot">{foot}</footer>}
            </LayerContext>
          </BaseDialog.Popup>
        </BaseDialog.Viewport>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

/** Closes the dialog that it is in: for a foot within a form. */
export function CloseDialog() {
  return (
    <BaseDialog.Close
      render={
        <Button keys="escape" type="button">
          Close
        </Button>
      }
    />
  );
}

const FIELDS = [
  "input:not(:disabled, [aria-hidden='true'], [tabindex='-1'], [type='hidden'])",
  "textarea:not(:disabled)",
  "[contenteditable='true']",
  ":is([role='radio'], [role='tab'])[tabindex='0']",
  ":is([role='checkbox'], [role='switch'], [role='combobox']):not([aria-disabled='true'])",
].join(",");

/** Whether the act of a dialog cannot be done now: its button says so. */
function isStopped(popup: HTMLElement | null): boolean {
  const act = popup?.querySelector(".dialog-foot .btn:is(.is-primary, .is-danger)");
  return act?.getAttribute("aria-disabled") === "true";
}

/** What a dialog is opened for: its first field, or its chosen act. The × is first in order, and says "Close" in a tip. */
function firstOf(popup: HTMLElement | null): HTMLElement | boolean {
  if (popup === null) return true;
  if (popup.contains(document.activeElement)) return false;
  const foot = popup.querySelector(".dialog-foot");
  const field = [...popup.querySelectorAll<HTMLElement>(FIELDS)].find(
    (each) => foot?.contains(each) !== true && each.closest("[hidden]") === null,
  );
  return field ?? foot?.querySelector<HTMLElement>(".btn.is-primary") ?? popup;
}

type ConfirmProps = {
  open: boolean;
  onClose: () => void;
  title: string;
  /** The verb of the title, such as "Delete source". */
  act: string;
  look?: Look;
  /** Said on the button that changes nothing. */
  keep?: string;
  /** What must be typed first, where data is lost. */
  typed?: string | undefined;
  busy?: string | false;
  error?: ReactNode;
  onConfirm: () => void;
  children?: ReactNode;
};

/** Names what goes, and asks. */
export function Confirm({
  open,
  onClose,
  title,
  act,
  look = "danger",
  keep = "Keep it",
  typed,
  busy,
  error,
  onConfirm,
  children,
}: ConfirmProps) {
  const [text, setText] = useState("");
  const safe = useRef<HTMLButtonElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const ready = typed === undefined || text === typed;
  const confirm = () => {
    if (ready && !busy) onConfirm();
  };
  return (
    <>
      {/* What it deletes may be the row that it stands in. */}
      <KeepFocus />
      <Dialog
        open={open}
        onClose={() => {
          setText("");
          onClose();
        }}
        title={title}
        initialFocus={typed === undefined ? safe : field}
        onSubmit={confirm}
        foot={
          <>
            <Button ref={safe} onClick={onClose}>
              {keep}
            </Button>
            <Button
              look={look}
              busy={busy}
              refused={ready ? undefined : `Type ${typed} first.`}
              onClick={confirm}
            >
              {act}
            </Button>
          </>
        }
      >
        <div className="dialog-body">
          {children}
          {typed !== undefined && (
            <Field
              optional={false}
              label={
                <span className="small dim">
                  Type <span className="mono">{typed}</span> to confirm
                </span>
              }
            >
              {(props) => (
                <Input
                  {...props}
                  ref={field}
                  value={text}
                  onChange={(event) => setText(event.target.value)}
                />
              )}
            </Field>
          )}
          {error !== undefined && error !== null && (
            <p role="alert" className="failed-text">
              {worded(error)}
            </p>
          )}
        </div>
      </Dialog>
    </>
  );
}
