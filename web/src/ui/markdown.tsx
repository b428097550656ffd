import { lazy, Suspense } from "react";

const Rendered = lazy(() => import("react-markdown"));

/** Text of strangers as Markdown: elements are made, never markup; images of other hosts are not asked for. */
export function Markdown({ text }: { text: string }) {
  // Most descriptions are one plain sentence: they need no parser.
  if (!/[*_`[#<>\n]|https?:/.test(text)) return <p>{text}</p>;
  return (
    <Suspense fallback={<p>{text}</p>}>
      <Rendered
        skipHtml
        disallowedElements={["img"]}
        unwrapDisallowed
        components={{
          a: ({ href, children }) => (
            <a className="link" href={href} target="_blank" rel="noreferrer">
              {children}
            </a>
          ),
          code: ({ children }) => <code className="mono">{children}</code>,
        }}
      >
        {text}
      </Rendered>
    </Suspense>
  );
}
