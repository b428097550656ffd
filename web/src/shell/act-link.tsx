/**
 * Links to pages that change something, and to pages that a role may not read: both explain it
 * before the server refuses.
 */

import { createLink } from "@tanstack/react-router";
import type { ComponentPropsWithRef, ReactNode } from "react";
import { Empty } from "~/ui/banner";
import { Button, type ButtonLook, buttonClass } from "~/ui/button";
import { PaneHead } from "~/ui/pane";
import { type Scope, useRefusal } from "./session";
import { useTitle } from "./title";

type Props = Omit<ComponentPropsWithRef<"a">, "className"> &
  Pick<ButtonLook, "look" | "size" | "icon"> & {
    /** What the page that it leads to needs. */
    needs: Scope;
  };

function Act({ needs, look, size, icon: Icon, children, ...link }: Props) {
  const refused = useRefusal(needs);
  if (refused !== undefined) {
    return (
      <Button look={look} size={size} refused={refused} aria-label={link["aria-label"]}>
        {children}
      </Button>
    );
  }
  return (
    <a {...link} className={buttonClass({ look, size })}>
      {Icon !== undefined && <Icon className="icon" aria-hidden="true" />}
      {children}
    </a>
  );
}

/** A link that looks like a button; where the role may not do what it leads to, a button that says why. */
export const ActLink = createLink(Act);

/** Part of the settings that only some roles may read; the others are told so, and nothing is asked of the server. */
export function ForRole({
  needs,
  title,
  children,
}: {
  needs: Scope;
  title: string;
  children: ReactNode;
}) {
  const refused = useRefusal(needs);
  return refused === undefined ? children : <Withheld title={title} why={refused} />;
}

function Withheld({ title, why }: { title: string; why: string }) {
  useTitle(title);
  return (
    <>
      <PaneHead title={title} />
      <Empty title="Only owners see this.">
        <p>{why}</p>
      </Empty>
    </>
  );
}
