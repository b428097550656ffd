/** A connection that the walls refused: by which rule, what opens it, and whose runs were refused it too. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { client, data } from "~/api/client";
import type { RunDetail } from "~/api/runs";
import { Banner } from "~/ui/banner";
import { Copy } from "~/ui/copy";
import { type Refused, refusedIn } from "./refused";

const OTHERS_MAX = 50;

export function RefusedDoors({ run }: { run: RunDetail }) {
  const doors = refusedIn([run.error?.message ?? "", ...run.logs.map(({ text }) => text)]);
  return doors.map((door) => <Door key={door.address} door={door} owner={run.ownerId} />);
}

function Door({ door: { address, rule }, owner }: { door: Refused; owner: string }) {
  const flag = `--egress-allow ${address}`;
  const { data: others = [], isPending } = useQuery({
    queryKey: ["refused-door", address],
    queryFn: async ({ signal }) => {
      const query = {
        q: address,
        status: "failed",
        limit: OTHERS_MAX,
        include: "id,workflow_id,source_id,owner_name,error",
      };
      const found = await data(client.GET("/v1/runs", { params: { query }, signal }));
      // Words are looked for one by one: those of an address may stand apart.
      return found.filter(({ error }) => error?.message.includes(address) === true);
    },
    staleTime: 60_000,
    retry: false,
  });
  const names = new Map(
    others.flatMap(({ id, workflow_id, source_id, owner_name }) => {
      const other = workflow_id ?? source_id ?? "";
      return other === owner ? [] : [[other, { run: id, name: owner_name ?? other }] as const];
    }),
  );
  return (
    <div className="refused-door" aria-busy={isPending}>
      <Banner
        kind="waits"
        title={
          <>
            Connection to <code className="mono">{address}</code> blocked: {rule}
          </>
        }
        act={<Copy named label="Copy the flag" text={flag} />}
      >
        The operator of the server can allow it with <code className="mono">{flag}</code>.
        {names.size > 0 && (
          <>
            {" "}
            Also blocked:{" "}
            {[...names].map(([id, { run, name }], at) => (
              <Fragment key={id}>
                {at > 0 && ", "}
                <Link to="/runs/$id" params={{ id: run }} className="link">
                  {name}
                </Link>
              </Fragment>
            ))}
          </>
        )}
      </Banner>
    </div>
  );
}
