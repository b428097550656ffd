/** Domains that lead to an endpoint. */

import { useKeptText } from "~/shell/kept-text";
import "~/ui/table.css";
import "./settings.css";
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { useState } from "react";
import { body, client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { pagesOf } from "~/api/queries";
import { FormDialog } from "~/shell/form-dialog";
import { ListState } from "~/shell/list-state";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button, IconButton } from "~/ui/button";
import { Combobox } from "~/ui/combobox";
import { Confirm } from "~/ui/dialog";
import { Field, Input } from "~/ui/field";
import { PaneHead } from "~/ui/pane";
import { When } from "~/ui/time";
import { endpointsOf, endpointsQuery } from "./endpoints";

const domainsQuery = pagesOf(["domains"], (query, signal) =>
  body(client.GET("/v1/domains", { params: { query }, signal })),
);

export function Domains() {
  useTitle("Domains");
  const domains = useInfiniteQuery(domainsQuery);
  const endpoints = useQuery(endpointsQuery);
  const refused = useRefusal("deploy");
  const [makes, setMakes] = useState(false);
  return (
    <>
      <PaneHead title="Domains" hint="your host names that point to an endpoint">
        <Button size="sm" icon={Plus} refused={refused} onClick={() => setMakes(true)}>
          Attach domain
        </Button>
      </PaneHead>
      <div className="scroll">
        <ListState
          query={domains}
          what="The domains"
          empty={
            <Empty title="No domains yet.">
              <p>
                Point a DNS name at this server, then attach it to an endpoint. Requests to the name
                go to the endpoint.
              </p>
            </Empty>
          }
        >
          {(items) => (
            <table className="tbl t-domains" aria-label="Domains">
              <thead>
                <tr className="tr is-head">
                  <th>Domain</th>
                  <th>Endpoint</th>
                  <th className="is-right">Attached</th>
                  <th>
                    <span className="sr">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((domain) => (
                  <tr className="tr" key={domain.id}>
                    <td className="name cut">{domain.id}</td>
                    <td className="mid cut" title={domain.endpoint_id}>
                      {endpoints.data?.find(({ id }) => id === domain.endpoint_id)?.name ??
                        (endpoints.isPending ? null : (
                          <span className="mono">{domain.endpoint_id}</span>
                        ))}
                    </td>
                    <td className="dim is-right">
                      <When at={domain.created_at * 1_000} />
                    </td>
                    <td>
                      <Detach domain={domain.id} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </ListState>
      </div>
      {makes && <Attach onClose={() => setMakes(false)} />}
    </>
  );
}

function Detach({ domain }: { domain: string }) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const [asks, setAsks] = useState(false);
  const detach = useMutation({
    mutationFn: () => data(client.DELETE("/v1/domains/{domain}", { params: { path: { domain } } })),
    onSuccess: () => {
      setAsks(false);
      void queries.invalidateQueries({ queryKey: ["domains"] });
    },
  });
  return (
    <>
      <IconButton
        icon={X}
        size="sm"
        label={`Detach ${domain}`}
        refused={refused}
        onClick={() => setAsks(true)}
      />
      <Confirm
        open={asks}
        onClose={() => setAsks(false)}
        title={`Detach ${domain}?`}
        act="Detach domain"
        busy={detach.isPending && "Detaching…"}
        error={detach.error === null ? undefined : sentence(detach.error)}
        onConfirm={() => detach.mutate()}
      >
        <p>Requests to it will be answered with 404.</p>
      </Confirm>
    </>
  );
}

function Attach({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [domain, setDomain, isTyped] = useKeptText("dialog.domain");
  const [endpoint, setEndpoint, isChosen] = useKeptText("dialog.domain.endpoint");
  const [words, setWords] = useState("");
  const endpoints = useQuery(endpointsQuery);
  const known = endpoints.data ?? [];
  const attach = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/domains", {
          body: { domain: domain.trim(), endpoint_id: endpoint },
        }),
      ),
    onSuccess: () => {
      onClose();
      void queries.invalidateQueries({ queryKey: ["domains"] });
    },
  });
  return (
    <FormDialog
      title="Attach domain"
      act="Attach"
      busy="Attaching…"
      mutation={attach}
      typed={isTyped || isChosen}
      onClose={onClose}
    >
      <Field name="domain" label="Domain" optional={false}>
        {(control) => (
          <Input
            {...control}
            placeholder="hooks.example.com"
            value={domain}
            onChange={(event) => setDomain(event.target.value)}
          />
        )}
      </Field>
      <Field
        name="endpoint_id"
        label="Endpoint"
        hint="A workflow or source with an HTTP endpoint, or the ID of an HTTP trigger."
        optional={false}
      >
        {(control) => (
          <Combobox
            {...control}
            placeholder={endpoints.isPending ? "Loading…" : "Choose by name"}
            items={endpointsOf(words, known).map(({ id, name, kind }) => ({
              key: id,
              label: name,
              note: <span className="small dim">{kind}</span>,
            }))}
            onSearch={setWords}
            none={
              <p className="combo-none">No workflow or source of that name has an HTTP endpoint.</p>
            }
            value={
              endpoint === ""
                ? null
                : {
                    key: endpoint,
                    label: known.find(({ id }) => id === endpoint)?.name ?? endpoint,
                  }
            }
            onChange={(item) => {
              setEndpoint(item?.key ?? "");
              setWords("");
            }}
          />
        )}
      </Field>
    </FormDialog>
  );
}
