/** Frame of a page while the session is read: what does not depend on who is signed in. */

import "./frame.css";
import { useLocation } from "@tanstack/react-router";
import { Search as SearchIcon } from "lucide-react";
import { cn } from "~/ui/cn";
import { Keys } from "~/ui/keys";
import { Mark } from "~/ui/mark";
import { groups } from "./nav";
import { Pending } from "./pending";
import { beginsAsRail } from "./rail";
import { shortcuts } from "./shortcuts";

/** The side bar cannot be used yet; the one that replaces it has the same places. */
export function FrameWaits() {
  const rail = useLocation({ select: ({ pathname }) => beginsAsRail(pathname) });
  return (
    <div className={cn("app", rail && "has-rail")}>
      <div className="side" aria-hidden="true">
        <div className="side-top">
          <span className="brand">
            <Mark />
            <span className="brand-name">Millrace</span>
          </span>
        </div>
        <div className="jump">
          <SearchIcon className="icon is-sm" />
          <span className="jump-label">Find or do</span>
          <Keys of={shortcuts.palette.keys} />
        </div>
        {groups.map(({ head, places }) => (
          <div className="nav-group" key={head}>
            {head !== "" && <div className="nav-head">{head}</div>}
            {places.map(({ to, label, icon: Icon }) => (
              <span key={to} className="nav">
                <Icon className="icon" />
                <span className="nav-label">{label}</span>
              </span>
            ))}
          </div>
        ))}
      </div>
      <main className="main">
        <Pending />
      </main>
    </div>
  );
}
