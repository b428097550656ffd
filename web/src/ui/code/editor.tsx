/** Editor of code or JSON, whose script is loaded with the first one. */

import "./code.css";
import { type CSSProperties, lazy, Suspense, use } from "react";
import { cn } from "../cn";
import { useLocked } from "../field";
import { NonceContext } from "../nonce";
import { useTypedText } from "../typed-text";
import type { TypeFiles } from "./language/core";

const CodeMirror = lazy(() => import("./code-mirror"));

export type EditorProps = {
  value: string;
  onChange?: (text: string) => void;
  onBlur?: () => void;
  language: "json" | "javascript";
  /** Name for readers. */
  label: string;
  describedBy?: string | undefined;
  invalid?: boolean | undefined;
  /** The line with a mistake. */
  wrongLine?: number | undefined;
  /** The line to begin at. */
  showLine?: number | undefined;
  readOnly?: boolean;
  /** Names that code may use and what they hold, for completion; asked for as one types. */
  known?: (() => Readonly<Record<string, unknown>>) | undefined;
  /** Declarations that the code is read with, asked for from the first focus on; the language service begins then. */
  types?: (() => Promise<TypeFiles>) | undefined;
  /** Lines that this text does not have are marked. */
  against?: string | undefined;
  minHeight?: number;
  maxHeight?: string;
};

/** An editor of code or JSON. Its script comes when the first is shown. */
export function Editor(props: EditorProps) {
  const nonce = use(NonceContext);
  const locked = useLocked();
  useTypedText(props.value);
  const { minHeight = 60, maxHeight = "50vh" } = props;
  const heights: CSSProperties & Record<"--editor-min" | "--editor-max", string> = {
    "--editor-min": `${minHeight}px`,
    "--editor-max": maxHeight,
  };
  return (
    <div className={cn("editor", props.invalid && "is-bad")} style={heights}>
      <Suspense fallback={<div aria-busy="true" style={{ minHeight: minHeight + 2 }} />}>
        <CodeMirror {...props} readOnly={props.readOnly === true || locked} nonce={nonce} />
      </Suspense>
    </div>
  );
}
