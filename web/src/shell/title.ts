/** Title of the document, for tabs, history and screen readers. */

import { useEffect } from "react";

/** Title of the document, for tabs, history and readers. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Millrace`;
  }, [title]);
}
