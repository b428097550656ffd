/**
 * Placeholder of a page whose data is loading; after a few seconds it says that the server has not
 * answered yet.
 */

import { useEffect, useState } from "react";
import { SkeletonRows } from "~/ui/banner";
import { PlaceHead, useIsPage } from "./place-head";

/** From then on a person wonders whether anything still happens. */
const LONG_MS = 4_000;

export function Pending() {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), LONG_MS);
    return () => clearTimeout(timer);
  }, []);
  const isPage = useIsPage();
  return (
    <>
      {isPage && <PlaceHead />}
      {isLong && (
        <p className="crash mid" role="status">
          Still waiting for the server…
        </p>
      )}
      <SkeletonRows rows={6} />
    </>
  );
}
