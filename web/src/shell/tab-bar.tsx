/** Bar of tabs, each with an address. */

import { useLocation } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef } from "react";

/** Tabs with an address each. Where they do not fit, the one of this page is scrolled into view. */
export function TabBar({ label, children }: { label: string; children: ReactNode }) {
  const bar = useRef<HTMLElement>(null);
  const pathname = useLocation({ select: (location) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page has another tab
  useEffect(() => {
    const box = bar.current?.getBoundingClientRect();
    const tab = bar.current?.querySelector('[aria-current="page"]')?.getBoundingClientRect();
    if (bar.current === null || box === undefined || tab === undefined) return;
    if (tab.left < box.left || tab.right > box.right) {
      bar.current.scrollLeft += tab.left - box.left - (box.width - tab.width) / 2;
    }
  }, [pathname]);
  return (
    <nav className="tab-bar" aria-label={label} ref={bar}>
      <div className="tabs">{children}</div>
    </nav>
  );
}
