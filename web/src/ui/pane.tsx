/** Heads, facts and segments of pages and panes. */

import "./pane.css";
import { Toggle } from "@base-ui/react/toggle";
import { ToggleGroup } from "@base-ui/react/toggle-group";
import { ChevronRight } from "lucide-react";
import { Children, createContext, Fragment, type ReactNode, use } from "react";
import { cn } from "./cn";

/** What the frame adds to the acts of a page. */
export const HeadActs = createContext<ReactNode>(null);

/** The head of a page: where one is on the left, what one can do on the right. */
export function PageHead({ children, acts }: { children: ReactNode; acts?: ReactNode }) {
  const added = use(HeadActs);
  return (
    <header className="head">
      {children}
      {(acts !== undefined || added !== null) && (
        <div className="head-acts">
          {added}
          {acts}
        </div>
      )}
    </header>
  );
}

/** The way to this page; the last part is its heading. */
export function Crumbs({ children }: { children: ReactNode }) {
  const parts = Children.toArray(children);
  return (
    <nav className="crumbs" aria-label="Breadcrumb">
      {parts.map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <ChevronRight className="icon" aria-hidden="true" />}
          {part}
        </Fragment>
      ))}
    </nav>
  );
}

export function PaneHead({
  id,
  title,
  count,
  hint,
  children,
}: {
  id?: string;
  title: ReactNode;
  count?: ReactNode;
  hint?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <div className="pane-head">
      <h2 id={id}>{title}</h2>
      {count !== undefined && <span className="count">{count}</span>}
      {hint !== undefined && <span className="dim small cut">{hint}</span>}
      {children !== undefined && <div className="row end">{children}</div>}
    </div>
  );
}

/** Name and value of what is known; `wide` takes the whole line on narrow screens, `line` on all. */
export function Fact({
  name,
  wide = false,
  line = false,
  children,
}: {
  name: ReactNode;
  wide?: boolean;
  line?: boolean;
  children: ReactNode;
}) {
  return (
    <div className={cn((wide || line) && "is-wide", line && "is-line")}>
      <dt>{name}</dt>
      <dd className="cut">{children}</dd>
    </div>
  );
}

/** What a list shows and of how many, at the end of its bar; its place is kept while that is not known. */
export function BarStatus({ children }: { children: ReactNode }) {
  return (
    <span className="bar-status dim end num" role="status">
      {children}
    </span>
  );
}

/** One of a few ways to look at the same thing. */
export function Segments<V extends string>({
  label,
  value,
  onChange,
  choices,
}: {
  label: string;
  value: V;
  onChange: (value: V) => void;
  choices: readonly (readonly [V, ReactNode])[];
}) {
  return (
    <ToggleGroup
      className="choice"
      aria-label={label}
      value={[value]}
      onValueChange={(next) => {
        const [chosen] = next;
        const found = choices.find(([each]) => each === chosen);
        if (found !== undefined) onChange(found[0]);
      }}
    >
      {choices.map(([each, shown]) => (
        <Toggle key={each} value={each}>
          {shown}
        </Toggle>
      ))}
    </ToggleGroup>
  );
}
