/**
 * Toasts: results of actions that have no place on the page. Errors with a place are shown there.
 */

import "./toast.css";
import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { Button, IconButton } from "./button";
import { Glyph, type Shape } from "./status";
import { worded } from "./worded";

/** One that offers an act stays until a person without a mouse has come to it by F6. */
const ACT_MS = 12_000;

type Data = { shape?: Shape | undefined; stays?: boolean };

const manager = Toast.createToastManager<Data>();

type Said = {
  title: ReactNode;
  about?: ReactNode;
  shape?: Shape;
  act?: { label: string; onClick: () => void };
};

/** Says what was done elsewhere on the page. Errors that have a place are said there instead. */
export function say({ title, about, shape, act }: Said): string {
  const id = manager.add({
    title: worded(title),
    ...(about === undefined ? {} : { description: worded(about) }),
    data: { shape },
    ...(act === undefined
      ? {}
      : {
          timeout: ACT_MS,
          actionProps: {
            children: act.label,
            // Offered once: what was done is not offered again.
            onClick: () => {
              manager.close(id);
              act.onClick();
            },
          },
        }),
  });
  return id;
}

/** Says what goes on until it is over, with what a person can do about it; returns what takes it away. */
export function stay({ title, about, shape, act }: Required<Said>): () => void {
  const id = manager.add({
    title: worded(title),
    description: worded(about),
    data: { shape, stays: true },
    timeout: 0,
    actionProps: { children: act.label, onClick: act.onClick },
  });
  return () => manager.close(id);
}

export function Toasts({ children }: { children: ReactNode }) {
  return (
    <Toast.Provider toastManager={manager} limit={3} timeout={6_000}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function List() {
  const { toasts } = Toast.useToastManager<Data>();
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className="toast">
      <Toast.Content className="toast-in">
        {toast.data?.shape !== undefined && <Glyph status={toast.data.shape} />}
        <div className="grow">
          <Toast.Title render={<p className="name" />} />
          <Toast.Description render={<div className="small dim" />} />
        </div>
        {toast.actionProps !== undefined && <Toast.Action render={<Button size="sm" />} />}
        {toast.data?.stays !== true && (
          <Toast.Close render={<IconButton icon={X} label="Dismiss" size="sm" />} />
        )}
      </Toast.Content>
    </Toast.Root>
  ));
}
