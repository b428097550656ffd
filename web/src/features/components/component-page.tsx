/** Page of a component: its code, its props, and deploying it. */

import "./components.css";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { propsOf } from "~/api/props";
import type { FromRegistry } from "~/api/schema";
import { ActLink } from "~/shell/act-link";
import { AsCommand } from "~/shell/as-command";
import { curlOf, line } from "~/shell/command-line";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Button } from "~/ui/button";
import { Editor } from "~/ui/code/editor";
import { Confirm } from "~/ui/dialog";
import { plural } from "~/ui/format";
import { Markdown } from "~/ui/markdown";
import { Crumbs, PageHead, PaneHead } from "~/ui/pane";
import { Tag, Tile } from "~/ui/tag";
import { When } from "~/ui/time";
import { say } from "~/ui/toast";
import { componentQuery } from "./queries";

/** The registry that code is from, and the state of it that the code was read from. */
function OfRegistry({ from }: { from: FromRegistry }) {
  return (
    <>
      <div>
        <dt>Registry</dt>
        <dd>
          <Link to="/components" search={{ registry: from.name }} className="link">
            {from.name}
          </Link>
        </dd>
      </div>
      {from.revision !== "" && (
        <div>
          <dt>Revision</dt>
          <dd className="mono cut" title={from.revision}>
            {from.revision.slice(0, 12)}
          </dd>
        </div>
      )}
      {from.indexed_at !== null && (
        <div>
          <dt>Indexed</dt>
          <dd>
            <When at={from.indexed_at * 1_000} />
          </dd>
        </div>
      )}
    </>
  );
}

export function ComponentPage({ id }: { id: string }) {
  const { data: component } = useSuspenseQuery(componentQuery(id));
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const [asks, setAsks] = useState(false);
  const name = component.name ?? component.key ?? id;
  useTitle(name);
  const props = propsOf(component.configurable_props);
  const unpublish = useMutation({
    mutationFn: () =>
      data(client.DELETE("/v1/components/{id}", { params: { path: { id: component.key ?? id } } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["components"] });
      say({
        title: `${component.key} was unpublished`,
        about: "What was deployed from it keeps running.",
      });
      void navigate({ to: "/components" });
    },
  });
  return (
    <>
      <PageHead
        acts={
          <>
            <AsCommand
              about={name}
              commands={() => [
                ...(component.type === "source"
                  ? [{ name: "Command line", text: line`millrace deploy ${component.key ?? id}` }]
                  : []),
                {
                  name: "curl",
                  text: curlOf(
                    "GET",
                    component.id === null ? ["components", "registry", id] : ["components", id],
                  ),
                },
              ]}
            />
            {component.published && component.key !== null && (
              <Button look="danger" icon={Trash2} refused={refused} onClick={() => setAsks(true)}>
                Unpublish…
              </Button>
            )}
            {component.type === "source" && (
              <ActLink
                to="/sources"
                search={
                  component.id === null
                    ? { action: "create", key: id }
                    : { action: "create", component: component.id }
                }
                needs="deploy"
                look="primary"
                icon={Plus}
              >
                Deploy
              </ActLink>
            )}
          </>
        }
      >
        <Crumbs>
          <Link to="/components">Components</Link>
          <span className="row">
            <Tile name={name} />
            <h1 className="cut">{name}</h1>
          </span>
        </Crumbs>
        {component.version !== null && <Tag>{component.version}</Tag>}
      </PageHead>
      <div className="component scroll">
        <section aria-label="Code">
          <Editor
            language="javascript"
            label={`Code of ${name}`}
            value={component.code}
            readOnly
            maxHeight="none"
          />
        </section>
        <aside className="component-side" aria-label="About">
          <div className="component-about">
            {component.description !== null && <Markdown text={component.description} />}
            <dl className="facts">
              {component.key !== null && (
                <div className="is-wide">
                  <dt>Key</dt>
                  <dd className="mono wrap">{component.key}</dd>
                </div>
              )}
              <div>
                <dt>Kind</dt>
                <dd>{component.type}</dd>
              </div>
              {component.created_at !== undefined && (
                <div>
                  <dt>Saved</dt>
                  <dd>
                    <When at={component.created_at * 1_000} />
                  </dd>
                </div>
              )}
              {component.registry != null && <OfRegistry from={component.registry} />}
              {"path" in component && (
                <div className="is-wide">
                  <dt>File in the registry</dt>
                  <dd className="mono wrap">{component.path}</dd>
                </div>
              )}
              {component.component_url != null && (
                <div className="is-wide">
                  <dt>From</dt>
                  <dd className="mono wrap">{component.component_url}</dd>
                </div>
              )}
            </dl>
          </div>
          <PaneHead title="Props" count={plural(props.length, "prop")} />
          <ul className="component-props">
            {props.map((prop) => (
              <li key={prop.name}>
                <span className="name">{prop.label}</span>{" "}
                <span className="mono dim small">
                  {prop.type}
                  {prop.optional && ", optional"}
                  {prop.secret && ", secret"}
                </span>
                {prop.description !== undefined && (
                  <div className="small mid">
                    <Markdown text={prop.description} />
                  </div>
                )}
              </li>
            ))}
          </ul>
        </aside>
      </div>
      <Confirm
        open={asks}
        onClose={() => setAsks(false)}
        title={`Unpublish ${component.key}?`}
        act="Unpublish"
        busy={unpublish.isPending && "Unpublishing…"}
        error={unpublish.error === null ? undefined : sentence(unpublish.error)}
        onConfirm={() => unpublish.mutate()}
      >
        <p>It can no longer be deployed by key. Sources and workflows that use it keep running.</p>
      </Confirm>
    </>
  );
}
