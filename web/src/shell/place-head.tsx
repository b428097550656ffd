/** Head of a page whose own head is missing: its data is loading, or could not be loaded. */

import { Link, useLocation, useParentMatches } from "@tanstack/react-router";
import { Crumbs, PageHead } from "~/ui/pane";
import { placeAt } from "./nav";

/** The root and the frame: a route right below these is a whole page, and else a part of one that has its head. */
const ABOVE_A_PAGE = 2;

export function useIsPage(): boolean {
  return useParentMatches().length === ABOVE_A_PAGE;
}

/** The way to the list that the page is of; a list that is awaited has its own name. */
export function PlaceHead({ title }: { title?: string }) {
  const pathname = useLocation({ select: (location) => location.pathname });
  const place = placeAt(pathname);
  if (title === undefined && place?.to === pathname) {
    return (
      <PageHead>
        <h1>{place.label}</h1>
      </PageHead>
    );
  }
  return (
    <PageHead>
      <Crumbs>
        {place !== undefined && <Link to={place.to}>{place.label}</Link>}
        {title !== undefined && <h1>{title}</h1>}
      </Crumbs>
    </PageHead>
  );
}
