/** Field of a list that is typed item by item; items move up and down. */

import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { type ComponentProps, useRef } from "react";
import type { PropDef } from "~/api/props";
import { Button, IconButton } from "~/ui/button";
import { CompletedText } from "~/ui/code/completed-text";
import type { Known } from "~/ui/code/completion";
import { type ControlProps, TextArea } from "~/ui/field";
import type { PropForm } from "./use-prop-form";

/** A list that is typed item by item; items move up and down. */
export function ItemsField({
  form,
  prop,
  control,
}: {
  form: PropForm;
  prop: PropDef;
  control: ControlProps;
}) {
  const draft = form.drafts[prop.name];
  const items = draft?.kind === "items" ? draft.items : [];
  const list = useRef<HTMLUListElement>(null);
  const set = (next: readonly string[]) =>
    form.set(prop.name, next.length === 0 ? undefined : { kind: "items", items: next });
  const focus = (index: number) =>
    requestAnimationFrame(() =>
      list.current?.querySelectorAll<HTMLElement>(".input")[index]?.focus(),
    );
  const move = (from: number, to: number) => {
    const next = [...items];
    const [item] = next.splice(from, 1);
    if (item === undefined) return;
    next.splice(to, 0, item);
    set(next);
    focus(to);
  };
  return (
    <div className="items">
      {items.length > 0 && (
        <ul ref={list} className="items" style={{ width: "100%" }} aria-label={prop.label}>
          {items.map((item, index) => (
            <li key={index} className="item">
              <ItemText
                {...control}
                id={index === 0 ? control.id : `${control.id}-${index}`}
                aria-label={`${prop.label}, item ${index + 1}`}
                known={form.known}
                value={item}
                onText={(text) => set(items.map((each, at) => (at === index ? text : each)))}
                onBlur={() => form.commit(prop.name)}
                onKeyDown={(event) => {
                  if (event.key === "Enter") {
                    event.preventDefault();
                    set(items.toSpliced(index + 1, 0, ""));
                    focus(index + 1);
                  } else if (event.altKey && event.key === "ArrowUp" && index > 0) {
                    event.preventDefault();
                    move(index, index - 1);
                  } else if (
                    event.altKey &&
                    event.key === "ArrowDown" &&
                    index < items.length - 1
                  ) {
                    event.preventDefault();
                    move(index, index + 1);
                  } else if (event.key === "Backspace" && item === "") {
                    event.preventDefault();
                    set(items.toSpliced(index, 1));
                    focus(Math.max(0, index - 1));
                  }
                }}
              />
              <IconButton
                icon={ArrowUp}
                size="sm"
                label="Move up"
                disabled={index === 0}
                onClick={() => move(index, index - 1)}
              />
              <IconButton
                icon={ArrowDown}
                size="sm"
                label="Move down"
                disabled={index === items.length - 1}
                onClick={() => move(index, index + 1)}
              />
              <IconButton
                icon={X}
                size="sm"
                label={`Remove item ${index + 1}`}
                onClick={() => {
                  set(items.toSpliced(index, 1));
                  focus(Math.max(0, index - 1));
                }}
              />
            </li>
          ))}
        </ul>
      )}
      <Button
        {...(items.length === 0 ? { id: control.id } : {})}
        look="quiet"
        size="sm"
        icon={Plus}
        aria-label={`Add to ${prop.label}`}
        onClick={() => {
          set([...items, ""]);
          focus(items.length);
        }}
      >
        Add
      </Button>
    </div>
  );
}

type ItemTextProps = Omit<ComponentProps<typeof CompletedText>, "known"> & {
  /** What expressions may name, where items may be such. */
  known: (() => Known) | undefined;
};

function ItemText({ known, value, onText, ...rest }: ItemTextProps) {
  const line = { ...rest, autoComplete: "off", className: "is-line", rows: 1, value };
  return known === undefined ? (
    <TextArea {...line} onChange={({ target }) => onText(target.value)} />
  ) : (
    <CompletedText {...line} known={known} onText={onText} />
  );
}
