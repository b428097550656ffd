/** Registries: trees of components to deploy from by key. */

import "~/ui/table.css";
import "./components.css";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { line } from "~/shell/command-line";
import { ListState } from "~/shell/list-state";
import { ShellBlock } from "~/shell/shell-block";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Crumbs, PageHead } from "~/ui/pane";
import { registriesQuery } from "./queries";
import { RegistryRow } from "./registry-row";

const ADD = line`millrace registry add https://github.com/acme/components`;

export function RegistriesPage() {
  useTitle("Registries");
  const registries = useInfiniteQuery(registriesQuery);
  return (
    <>
      <PageHead>
        <Crumbs>
          <Link to="/components">Components</Link>
          <h1>Registries</h1>
        </Crumbs>
      </PageHead>
      <div className="scroll">
        <ListState
          query={registries}
          what="The registries"
          empty={
            <Empty title="No registries yet.">
              <p>
                A registry is a collection of components, your own or a checkout of a public one.
                The command line reads a folder, a repository or an npm package, and uploads it:
              </p>
              <ShellBlock text={ADD} />
            </Empty>
          }
        >
          {(items) => (
            <>
              <table className="tbl t-registries" aria-label="Registries">
                <thead>
                  <tr className="tr is-head">
                    <th>Name</th>
                    <th>Origin</th>
                    <th className="is-right">Components</th>
                    <th className="is-right">Not indexed</th>
                    <th className="is-right">Updated</th>
                    <th>
                      <span className="sr">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {items.map((registry) => (
                    <RegistryRow key={registry.id} registry={registry} />
                  ))}
                </tbody>
              </table>
              <section className="registries-how" aria-label="Add a registry">
                <p className="mid">
                  The command line adds a registry from a folder, a repository or an npm package:
                </p>
                <ShellBlock text={ADD} />
              </section>
            </>
          )}
        </ListState>
      </div>
    </>
  );
}
