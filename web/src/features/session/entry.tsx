/** Page for people who are not signed in: a form at the left, a drawing at the right. */

import "./session.css";
import type { ReactNode } from "react";
import { Drawing } from "~/ui/drawing";
import { Mark } from "~/ui/mark";
import { worded } from "~/ui/worded";

export function Entry({ children }: { children: ReactNode }) {
  return (
    <div className="login">
      <main className="login-form" id="main">
        <p className="login-brand">
          <Mark size={24} />
          <span>Millrace</span>
        </p>
        {children}
      </main>
      <aside className="login-art" aria-hidden="true">
        <Drawing />
      </aside>
    </div>
  );
}

/** The server's refusal of the whole form, spoken when it comes. */
export function Refused({ children }: { children: ReactNode }) {
  return (
    <p role="alert" className="failed-text">
      {worded(children)}
    </p>
  );
}
