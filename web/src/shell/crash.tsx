/** What stands in place of a page that could not be read or drawn. */

import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { ApiError, sentence } from "~/api/errors";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import "./crash.css";

export function Crash({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const again = () => {
    reset();
    void router.invalidate();
  };
  return (
    <div className="crash">
      <h1 className="sr">{titleOf(error)}</h1>
      <Banner
        kind="failed"
        role="alert"
        title={titleOf(error)}
        act={
          <Button size="sm" onClick={again}>
            Read again
          </Button>
        }
      >
        {sentence(error)}
      </Banner>
    </div>
  );
}

function titleOf(error: unknown): string {
  if (error instanceof ApiError) {
    if (error.status === 404) return "This is not here, or is another organization's";
    return "This could not be read";
  }
  return "This page failed in the browser";
}
