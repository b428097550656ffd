import { useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { SourceList } from "~/features/sources/list";
import { componentOfId, componentOfKey, sourcesQuery } from "~/features/sources/queries";
import { ReadAddress } from "~/features/sources/read-address";
import { isSourceState, type SourceState } from "~/features/sources/states";
import { ActLink } from "~/shell/act-link";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { buttonClass } from "~/ui/button";
import { Crumbs, PageHead } from "~/ui/pane";
import { Tile } from "~/ui/tag";
import { DeployComponent } from "./-deploy-component";

/** `action=create` with `key` or `url` deploys what they name (spec 4.5); `component` is a saved one. */
type Search = {
  action?: "create";
  key?: string;
  url?: string;
  component?: string;
  q?: string;
  state?: SourceState;
};

const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);

export const Route = createFileRoute("/_app/sources/")({
  validateSearch: (given: Record<string, unknown>): Search => ({
    ...(given.action === "create" ? { action: "create" } : {}),
    ...(text(given.key) === undefined ? {} : { key: text(given.key) }),
    ...(text(given.url) === undefined ? {} : { url: text(given.url) }),
    ...(text(given.component) === undefined ? {} : { component: text(given.component) }),
    ...(text(given.q) === undefined ? {} : { q: text(given.q) }),
    ...(isSourceState(given.state) ? { state: given.state } : {}),
  }),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { queryClient }, deps }) => {
    if (deps.action === undefined) {
      void queryClient.prefetchInfiniteQuery(sourcesQuery);
    } else if (deps.component !== undefined) {
      await queryClient.ensureQueryData(componentOfId(deps.component));
    } else if (deps.key !== undefined) {
      await queryClient.ensureQueryData(componentOfKey(deps.key));
    }
  },
  component: Sources,
});

function Sources() {
  const { action, key, url, component, q, state } = Route.useSearch();
  const navigate = Route.useNavigate();
  if (action === "create" && component !== undefined)
    return <OfId key={component} id={component} />;
  if (action === "create" && key !== undefined) return <OfKey key={key} named={key} />;
  if (action === "create" && url !== undefined) return <OfAddress key={url} url={url} />;
  return (
    <SourceList
      q={q ?? ""}
      state={state}
      onFilter={(next) =>
        void navigate({
          search: {
            ...(next.q === "" ? {} : { q: next.q }),
            ...(next.state === undefined ? {} : { state: next.state }),
          },
          replace: true,
        })
      }
    />
  );
}

function Head({ name }: { name: string }) {
  useTitle(`Deploy ${name}`);
  return (
    <PageHead>
      <Crumbs>
        <Link to="/sources">Sources</Link>
        <Link to="/sources/new">New</Link>
        <span className="row">
          <Tile name={name} />
          <h1 className="cut">{name}</h1>
        </span>
      </Crumbs>
    </PageHead>
  );
}

function OfAddress({ url }: { url: string }) {
  const navigate = Route.useNavigate();
  return (
    <>
      <Head name="Code at a URL" />
      <ReadAddress
        url={url}
        onRead={(id) => void navigate({ search: { action: "create", component: id } })}
      />
    </>
  );
}

function OfKey({ named }: { named: string }) {
  const { data } = useSuspenseQuery(componentOfKey(named));
  const name = data.name ?? data.key ?? named;
  if (data.type === "action") return <NoSource name={name} />;
  return (
    <>
      <Head name={name} />
      <DeployComponent named={{ key: named }} component={data} />
    </>
  );
}

function OfId({ id }: { id: string }) {
  const { data } = useSuspenseQuery(componentOfId(id));
  const name = data.name ?? data.key ?? id;
  if (data.type === "action") return <NoSource name={name} />;
  return (
    <>
      <Head name={name} />
      <DeployComponent named={{ component_id: id }} component={data} />
    </>
  );
}

/** An action emits nothing by itself: it is a step of a workflow. */
function NoSource({ name }: { name: string }) {
  return (
    <>
      <Head name={name} />
      <Empty title={`${name} is an action, not a source.`}>
        <p>Actions are steps of workflows. Add it to a workflow, after its trigger.</p>
        <p className="row">
          <ActLink to="/workflows/new" needs="deploy" look="primary">
            New workflow
          </ActLink>
          <Link to="/workflows" className={buttonClass({})}>
            Choose a workflow
          </Link>
        </p>
      </Empty>
    </>
  );
}
