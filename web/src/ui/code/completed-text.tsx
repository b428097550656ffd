/** Text with `{{expressions}}`: names and members at hand are offered while one is typed. */

import "./completed-text.css";
import { type ComponentProps, type KeyboardEvent, useId, useRef, useState } from "react";
import { cn } from "../cn";
import { TextArea } from "../field";
import { dotBefore, type Known, type Option } from "./completion";
import { type Completion, completionAt } from "./expression";

type Props = Omit<ComponentProps<typeof TextArea>, "value" | "onChange" | "ref"> & {
  value: string;
  onText: (text: string) => void;
  /** What expressions may name; asked for as one is typed. */
  known: () => Known;
};

export function CompletedText({ value, onText, known, onBlur, onKeyDown, ...rest }: Props) {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [found, setFound] = useState<(Completion & { at: number }) | undefined>(undefined);
  const look = () => {
    const area = field.current;
    const next =
      area === null || area.selectionStart !== area.selectionEnd
        ? undefined
        : completionAt(known(), area.value, area.selectionStart);
    setFound(next === undefined ? undefined : { ...next, at: 0 });
  };
  const choose = (at: number) => {
    if (found === undefined) return;
    setFound({ ...found, at });
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  };
  const take = ({ label, bracket }: Option) => {
    const area = field.current;
    if (area === null || found === undefined) return;
    const from = bracket === undefined ? 0 : dotBefore(area.value.slice(0, found.from));
    area.focus();
    area.setSelectionRange(found.from - from, area.selectionStart);
    // As it is typed: the browser can undo it.
    document.execCommand("insertText", false, bracket ?? label);
  };
  /** Actions for a key of the list; false for keys that are not its own. */
  const act = (event: KeyboardEvent): boolean => {
    if (found === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
    const { at, options } = found;
    const chosen = options[at];
    if (event.key === "ArrowDown") choose((at + 1) % options.length);
    else if (event.key === "ArrowUp") choose((at + options.length - 1) % options.length);
    else if (event.key === "Escape") setFound(undefined);
    else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey && chosen)
      take(chosen);
    else return false;
    return true;
  };
  return (
    <div className="completed">
      <TextArea
        {...rest}
        ref={field}
        value={value}
        spellCheck={false}
        aria-autocomplete="list"
        aria-controls={found === undefined ? undefined : id}
        aria-activedescendant={found === undefined ? undefined : `${id}-${found.at}`}
        onChange={({ target }) => {
          onText(target.value);
          look();
        }}
        onClick={look}
        onKeyDown={(event) => {
          if (!act(event)) return onKeyDown?.(event);
          event.preventDefault();
          event.stopPropagation();
        }}
        onBlur={(event) => {
          setFound(undefined);
          onBlur?.(event);
        }}
      />
      {found !== undefined && (
        <div ref={list} id={id} role="listbox" aria-label="Matching names" className="completions">
          {found.options.map((option, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles keys for the option that it names
            <div
              key={option.label}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === found.at}
              tabIndex={-1}
              className={cn(index === found.at && "is-on")}
              // The field keeps the focus.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(option)}
            >
              <span>{option.label}</span>
              <span className="cut">{option.detail}</span>
            </div>
          ))}
        </div>
      )}
      <span className="sr" role="status">
        {found !== undefined && `${found.options.length} found. Arrows to choose, Enter to insert.`}
      </span>
    </div>
  );
}
