/**
 * Markdown of untrusted text: elements are made, never markup, and images of other hosts are not
 * loaded.
 */

import "./markdown.css";
import { lazy, type ReactNode, Suspense } from "react";
import { plainBlocks, tablesAsCode } from "./plain-markdown";

const Rendered = lazy(() => import("react-markdown"));

/** Text of strangers as Markdown: elements are made, never markup; images of other hosts are not asked for. */
export function Markdown({ text }: { text: string }) {
  // Most descriptions are one plain sentence: they need no parser.
  if (!/[*_`[#<>\n]|https?:/.test(text)) return <p>{text}</p>;
  return (
    <Suspense fallback={<Plain text={text} />}>
      <div className="prose">
        <Rendered
          skipHtml
          disallowedElements={["img"]}
          unwrapDisallowed
          components={{
            a: Address,
            code: ({ children }) => <code className="mono">{children}</code>,
          }}
        >
          {tablesAsCode(text)}
        </Rendered>
      </div>
    </Suspense>
  );
}

/** The same words in the same place, until the parser is here. */
function Plain({ text }: { text: string }) {
  return (
    <div className="prose">
      {plainBlocks(text).map(({ kind: Tag, lines }, at) => (
        <Tag key={at}>
          {Tag === "p" ? lines : lines.map((line, index) => <li key={index}>{line}</li>)}
        </Tag>
      ))}
    </div>
  );
}

/** A link; an address that may not be followed (`javascript:`) comes here empty, and its words stay text. */
function Address({ href, children }: { href?: string | undefined; children?: ReactNode }) {
  if (href === undefined || href === "") return children;
  return (
    <a className="link" href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}
