/** Editor of an event, as JSON, that replaces the original one in a replay. */

import { Editor } from "~/ui/code/editor";
import { Message } from "~/ui/field";

export function EventEditor({
  text,
  onChange,
  problem,
  minHeight,
  maxHeight,
}: {
  text: string;
  onChange: (text: string) => void;
  /** Why the text is no event. */
  problem: string | undefined;
  /** In pixels. */
  minHeight: number;
  maxHeight: string;
}) {
  return (
    <>
      <Editor
        language="json"
        label="Event"
        value={text}
        onChange={onChange}
        invalid={problem !== undefined}
        minHeight={minHeight}
        maxHeight={maxHeight}
      />
      {problem !== undefined && <Message error={problem} />}
    </>
  );
}
