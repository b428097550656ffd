/** Error page in place of a page that could not be loaded or drawn. */

import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { useCallback, useEffect } from "react";
import { ApiError, sentence } from "~/api/errors";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { useConnection } from "./connection";
import { OtherOrganizations } from "./other-organizations";
import { PlaceHead, useIsPage } from "./place-head";
import { useTitle } from "./title";
import "./crash.css";

/** How browsers and the loader say that code or a style sheet did not come. */
const NOT_BROUGHT = /preload CSS|dynamically imported module|module script failed/;
/** What was asked for once more since the server was last away. */
const askedAgain = new Set<string>();

export function Crash({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const isPage = useIsPage();
  const again = useCallback(async () => {
    await router.invalidate();
    reset();
  }, [reset, router]);
  // What did not come while the server was away comes without a hand once it is back.
  const isLost = useConnection() !== null;
  const message = error instanceof Error ? error.message : "";
  useEffect(() => {
    if (isLost) askedAgain.clear();
    if (isLost || !NOT_BROUGHT.test(message) || askedAgain.has(message)) return;
    askedAgain.add(message);
    void again();
  }, [isLost, message, again]);
  return (
    <>
      {isPage && <Head title={wordOf(error)} />}
      <div className="crash">
        <Banner
          kind="failed"
          role="alert"
          title={titleOf(error)}
          act={
            <Button size="sm" onClick={() => void again()}>
              Retry
            </Button>
          }
        >
          {sentence(error)}
        </Banner>
        <OtherOrganizations error={error} onSwitched={reset} />
      </div>
    </>
  );
}

function Head({ title }: { title: string }) {
  useTitle(title);
  return <PlaceHead title={title} />;
}

function wordOf(error: unknown): string {
  if (!(error instanceof ApiError)) return "Failed";
  return error.status === 404 ? "Not found" : "Not loaded";
}

function titleOf(error: unknown): string {
  if (error instanceof ApiError) {
    if (error.status === 404) return "Not found, or it belongs to another organization";
    return "This page could not be loaded";
  }
  return "This page failed in the browser";
}
