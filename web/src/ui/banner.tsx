/** Banner, empty state and skeletons of things that load. */

import "./banner.css";
import { CircleAlert, Info, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { worded } from "./worded";

const icons = { failed: CircleAlert, waits: TriangleAlert, note: Info };

/** Says at its place what failed, waits or is worth knowing: what, why, what next. */
export function Banner({
  kind = "note",
  title,
  act,
  children,
  role,
}: {
  kind?: keyof typeof icons;
  title?: ReactNode;
  act?: ReactNode;
  children?: ReactNode;
  role?: "alert" | "status";
}) {
  const Icon = icons[kind];
  return (
    <div className={`banner is-${kind}`} role={role}>
      <Icon className="icon" aria-hidden="true" />
      <div className="grow">
        {title !== undefined && <div className="name">{worded(title)}</div>}
        {children !== undefined && <div className="mid">{worded(children)}</div>}
      </div>
      {act}
    </div>
  );
}

/** Nothing here: one sentence, one act, one thing that runs. */
export function Empty({ title, children }: { title: ReactNode; children?: ReactNode }) {
  return (
    <div className="empty">
      <p className="name">{title}</p>
      {children}
    </div>
  );
}

/** A still bar of the real height, after 300 ms only. */
export function Skeleton({ width }: { width: number | string }) {
  return <span className="skeleton" style={{ width }} aria-hidden="true" />;
}

/** Rows of a list that is being read. */
export function SkeletonRows({ rows = 8, height = 32 }: { rows?: number; height?: number }) {
  return (
    <div aria-busy="true">
      <span className="sr" role="status">
        Loading
      </span>
      {Array.from({ length: rows }, (_, index) => (
        <div
          key={index}
          className="row"
          style={{ height, padding: "0 16px", gap: 16, borderBottom: "1px solid var(--line)" }}
        >
          <Skeleton width={72} />
          <Skeleton width={140 + ((index * 37) % 60)} />
          <Skeleton width={`${20 + ((index * 13) % 30)}%`} />
        </div>
      ))}
    </div>
  );
}
