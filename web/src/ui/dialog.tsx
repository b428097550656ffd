/**
 * Dialog, and the dialog that confirms an action. A dialog with text that a person typed stays when
 * the page beside it is pressed, and asks before it closes.
 */

import "./dialog.css";
import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type ReactNode, type RefObject, useEffect, useId, useRef, useState } from "react";
import { useBackGuard } from "./back-guard";
import { Button, IconButton, type Look } from "./button";
import { cn } from "./cn";
import { Field, Input } from "./field";
import { KeepFocus } from "./keep-focus";
import { LayerContext } from "./layer";
import { TypedTexts, textsOf } from "./typed-text";
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
  /**
   * Whether closing loses text that a person typed. Without it the fields within are watched, which
   * does not see a text that was restored after a reload. `false` where nothing is lost.
   */
  typed?: boolean | undefined;
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
  typed,
  className,
  children,
}: Props) {
  const [popup, setPopup] = useState<HTMLElement | null>(null);
  const inner = useRef<HTMLElement>(null);
  const [asks, setAsks] = useState(false);
  const [texts, setTexts] = useState(textsOf);
  const [wasOpen, setWasOpen] = useState(open);
  if (wasOpen !== open) {
    setWasOpen(open);
    setAsks(false);
    setTexts(textsOf);
  }
  useBackGuard(() => {
    const stays = open && (typed ?? texts.isTyped());
    if (stays) setAsks(true);
    return stays;
  });
  return (
    <BaseDialog.Root
      open={open}
      onOpenChange={(next, { reason }) => {
        if (next) return;
        if (asks && reason === "escape-key") setAsks(false);
        else if (!(typed ?? texts.isTyped())) onClose();
        else if (reason !== "outside-press") setAsks(true);
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
            onFocus={({ target }) => texts.watch(target)}
            onKeyDown={(event) => {
              // A dialog that is opened from this one is within it to React alone.
              const { target } = event;
              if (!(target instanceof Node) || !event.currentTarget.contains(target)) return;
              if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
                event.preventDefault();
                if (!event.repeat && !asks && !isStopped(inner.current)) onSubmit?.();
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
              <TypedTexts value={texts.report}>{children}</TypedTexts>
              {foot !== undefined && <footer className="dialog-foot">{foot}</footer>}
              {asks && <AsksFirst onKeep={() => setAsks(false)} onDiscard={onClose} />}
            </LayerContext>
          </BaseDialog.Popup>
        </BaseDialog.Viewport>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

/** Closes the dialog that it is in, which asks first where text would be lost. */
export function CloseDialog({ says = "Close" }: { says?: string }) {
  return (
    <BaseDialog.Close
      render={
        <Button keys="escape" type="button">
          {says}
        </Button>
      }
    />
  );
}

/** Lies over the foot of a dialog, so that nothing moves. It goes as soon as the focus does. */
function AsksFirst({ onKeep, onDiscard }: { onKeep: () => void; onDiscard: () => void }) {
  const id = useId();
  const keep = useRef<HTMLButtonElement>(null);
  const before = useRef<Element | null>(null);
  useEffect(() => {
    before.current = document.activeElement;
    keep.current?.focus();
    // Once it is gone: the focus goes back to where the person typed, unless it moved by itself.
    return () => {
      const now = document.activeElement;
      if ((now === null || now === document.body) && before.current instanceof HTMLElement) {
        before.current.focus();
      }
    };
  }, []);
  return (
    <div
      role="alertdialog"
      aria-labelledby={id}
      className="dialog-foot dialog-asks"
      onBlur={({ currentTarget, relatedTarget }) => {
        if (relatedTarget !== null && !currentTarget.contains(relatedTarget)) onKeep();
      }}
    >
      <p id={id} className="name">
        Discard what you typed?
      </p>
      <span className="grow" />
      <Button ref={keep} onClick={onKeep}>
        Keep editing
      </Button>
      <Button look="danger" onClick={onDiscard}>
        Discard
      </Button>
    </div>
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
  keep = "Keep editing",
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
        typed={false}
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
