/** Page of a data store: its keys, and an editor of the chosen key's value. */

import "~/ui/table.css";
import "./data.css";
import { useInfiniteQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronLeft, Plus } from "lucide-react";
import { useLayoutEffect, useRef, useState } from "react";
import { ListState } from "~/shell/list-state";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button } from "~/ui/button";
import { cn } from "~/ui/cn";
import { Search } from "~/ui/field";
import { bytes, plural } from "~/ui/format";
import { Crumbs, PageHead, PaneHead } from "~/ui/pane";
import { VirtualRows } from "~/ui/virtual-rows";
import { keysQuery, storeQuery } from "./queries";
import { NewRecord, Stored } from "./record-editor";
import { StoreActs } from "./store-acts";

/** On a narrow screen the value takes the place of the keys, and the focus goes with it. `shown`: the key; empty for a new one. */
function useValuePanel(shown: string | undefined) {
  const keys = useRef<HTMLElement>(null);
  const value = useRef<HTMLElement>(null);
  const back = useRef<HTMLDivElement>(null);
  const before = useRef(shown);
  useLayoutEffect(() => {
    const was = before.current;
    before.current = shown;
    if (was === shown) return;
    if (shown === undefined) {
      const { activeElement: focused } = document;
      // What had it went with the value; elsewhere it stays.
      if (focused !== document.body && !value.current?.contains(focused)) return;
      const buttons = [...(keys.current?.querySelectorAll("button") ?? [])];
      const of = buttons.find(({ textContent }) => textContent === (was || "Add"));
      (of ?? buttons[0])?.focus();
    } else if (shown === "") value.current?.querySelector("input")?.focus();
    else if (back.current?.checkVisibility()) value.current?.focus();
  }, [shown]);
  return { keys, value, back };
}

export function StorePage({
  id,
  chosen,
  onChoose,
  prefix,
  onPrefix,
}: {
  id: string;
  chosen: string | undefined;
  onChoose: (key: string | undefined) => void;
  /** Only keys that begin so. */
  prefix: string;
  onPrefix: (prefix: string) => void;
}) {
  const { data: store } = useSuspenseQuery(storeQuery(id));
  useTitle(store.name);
  const refused = useRefusal("deploy");
  const keys = useInfiniteQuery({
    ...keysQuery(id, prefix),
    placeholderData: (before) => before,
  });
  const scroll = useRef<HTMLDivElement>(null);
  const [adds, setAdds] = useState(false);
  const panel = useValuePanel(adds ? "" : chosen);
  const toKeys = () => {
    setAdds(false);
    onChoose(undefined);
  };
  return (
    <>
      <PageHead acts={<StoreActs id={id} name={store.name} keys={store.keys} chosen={chosen} />}>
        <Crumbs>
          <Link to="/data">Data</Link>
          <h1 className="cut">{store.name}</h1>
        </Crumbs>
        <span className="dim num">
          {plural(store.keys, "key")}, {bytes(store.bytes)}
        </span>
      </PageHead>
      <div
        className={cn("data-cols scroll in-order", (adds || chosen !== undefined) && "is-chosen")}
      >
        <section ref={panel.keys} aria-label="Keys">
          <PaneHead title="Keys">
            <Search
              label="Keys that start with"
              value={prefix}
              onChange={(event) => onPrefix(event.target.value)}
            />
            <Button
              size="sm"
              icon={Plus}
              refused={refused}
              onClick={() => {
                setAdds(true);
                onChoose(undefined);
              }}
            >
              Add
            </Button>
          </PaneHead>
          <div className="scroll" ref={scroll}>
            <ListState
              query={keys}
              what="The keys"
              empty={
                prefix === "" ? (
                  <Empty title="No keys yet." />
                ) : (
                  <Empty title={`No key starts with “${prefix}”.`}>
                    <Button onClick={() => onPrefix("")}>Show all keys</Button>
                  </Empty>
                )
              }
            >
              {(items) => (
                <table className="tbl t-keys" aria-label="Keys">
                  <tbody>
                    <VirtualRows
                      count={items.length}
                      height={33}
                      scroll={scroll}
                      keyOf={(at) => items[at]?.key ?? String(at)}
                    >
                      {(at, row) => {
                        const item = items[at];
                        if (item === undefined) return null;
                        return (
                          <tr
                            {...row}
                            className="tr"
                            aria-current={item.key === chosen ? "true" : undefined}
                          >
                            <td className="cut">
                              <button
                                type="button"
                                className="row-link mono cut"
                                onClick={() => {
                                  setAdds(false);
                                  onChoose(item.key);
                                }}
                              >
                                {item.key}
                              </button>
                            </td>
                            <td className="mono small dim cut">{item.glance}</td>
                          </tr>
                        );
                      }}
                    </VirtualRows>
                  </tbody>
                </table>
              )}
            </ListState>
          </div>
        </section>
        <section ref={panel.value} tabIndex={-1} aria-label="Value">
          <div ref={panel.back} className="data-back">
            <Button size="sm" look="quiet" icon={ChevronLeft} onClick={toKeys}>
              All keys
            </Button>
          </div>
          {adds ? (
            <NewRecord
              store={id}
              onSaved={(key) => {
                setAdds(false);
                onChoose(key);
              }}
            />
          ) : chosen === undefined ? (
            <Empty title="Select a key to see its value." />
          ) : (
            <Stored key={chosen} store={id} recordKey={chosen} onGone={() => onChoose(undefined)} />
          )}
        </section>
      </div>
    </>
  );
}
