/** Home before anything is there: three ways to begin. */

import { ActLink } from "~/shell/act-link";
import { line } from "~/shell/command-line";
import { ShellBlock } from "~/shell/shell-block";
import "./first-visit.css";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Blocks, ChevronRight, KeyRound, Link2, Lock, SquareTerminal, Webhook } from "lucide-react";
import { type ReactNode, useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { isObject, listOf, textOf } from "~/api/json";
import { useRefusal, useSession } from "~/shell/session";
import { Banner } from "~/ui/banner";
import { Button, PlainButton } from "~/ui/button";
import { Drawing } from "~/ui/drawing";
import { Input } from "~/ui/field";
import { PageHead } from "~/ui/pane";
import { Glyph } from "~/ui/status";
import { Tile } from "~/ui/tag";
import { partsQuery } from "./queries";

/** A source whose code is at hand. */
export type Example = { id: string; name: string; says: string; read: () => Promise<string> };

/** The workflow that was made to receive a request. */
export type Received = { id: string; endpoint: string };

const FIRST_STEP = `export default defineComponent({
  async run({ steps, $ }) {
    $.export("$summary", "Received a request");
    return steps.trigger.event.body;
  },
});
`;

const ASK_MS = 1_000;

export function FirstVisit({
  received,
  examples,
  onReceived,
}: {
  received: Received | undefined;
  examples: readonly Example[];
  onReceived: (received: Received) => void;
}) {
  const { org } = useSession();
  return (
    <>
      <PageHead>
        <h1>Home</h1>
        <span className="dim small end cut only-wide">
          {org.name} has no sources or workflows yet
        </span>
      </PageHead>
      <div className="scroll">
        <section className="first-hero">
          <div>
            <h2>
              Nothing is running yet.
              <br />
              Send a first event.
            </h2>
            <p className="mid">
              Three ways to start. Each ends with a run that you can open, break and replay.
            </p>
          </div>
          <Drawing isDry isNamed />
        </section>
        <section className="doors" aria-label="Three ways to start">
          <Door
            icon={<Webhook className="icon" aria-hidden="true" />}
            title="Receive a request"
            says="Creates a workflow with its own URL. Send it a request and watch it run."
          >
            {received === undefined ? (
              <Make onReceived={onReceived} />
            ) : (
              <Receive received={received} />
            )}
          </Door>
          <Door
            icon={<Blocks className="icon" aria-hidden="true" />}
            title="Deploy a component"
            says="Paste a key or a URL: from a registry, from GitHub, or a link to raw code."
          >
            <Bring examples={examples} />
          </Door>
          <Door
            icon={<SquareTerminal className="icon" aria-hidden="true" />}
            title="From your editor"
            says="Each save of a file deploys it. Results appear in the terminal and here."
          >
            <Terminal />
          </Door>
        </section>
        <Evening />
      </div>
    </>
  );
}

const EVENING = [
  ["Receive an event", "in one of the three ways above"],
  ["Watch it arrive", "live, with its data"],
  ["Build a workflow on it", "two steps are enough"],
  ["Break a step", "and read its error"],
  ["Fix it and replay", "from the step that failed"],
] as const;

/** The way through the product, as stretches of a channel that is dry yet. */
function Evening() {
  return (
    <section className="evening" aria-labelledby="evening">
      <h3 id="evening">
        First steps <span className="dim">five steps, about 20 minutes</span>
      </h3>
      <ol>
        {EVENING.map(([name, says]) => (
          <li key={name}>
            <span className="name">{name}</span>
            <span className="small mid">{says}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Door({
  icon,
  title,
  says,
  children,
}: {
  icon: ReactNode;
  title: string;
  says: string;
  children: ReactNode;
}) {
  return (
    <article className="door">
      <h3>
        {icon}
        {title}
      </h3>
      <p className="mid door-says">{says}</p>
      {children}
    </article>
  );
}

function Make({ onReceived }: { onReceived: (received: Received) => void }) {
  const refused = useRefusal("deploy");
  const make = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/workflows", {
          body: {
            name: "First requests",
            triggers: [{ type: "http" }],
            steps: [{ namespace: "receive", code: FIRST_STEP }],
          },
        }),
      ),
    onSuccess: ({ id, triggers }) => {
      const [trigger] = listOf(triggers);
      const endpoint = isObject(trigger) ? textOf(trigger.endpoint_url) : undefined;
      onReceived({ id, endpoint: endpoint ?? "" });
    },
  });
  return (
    <>
      <div className="row">
        <Button
          look="primary"
          size="lg"
          refused={refused}
          busy={make.isPending && "Creating…"}
          onClick={() => make.mutate()}
        >
          Create workflow
        </Button>
      </div>
      {make.error !== null && (
        <Banner kind="failed" role="alert" title="The workflow was not created">
          {sentence(make.error)}
        </Banner>
      )}
    </>
  );
}

/** Waits for the first request, and opens its run. */
function Receive({ received: { id, endpoint } }: { received: Received }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refused = useRefusal("invoke");
  const command = line`curl ${endpoint} -H 'Content-Type: application/json' -d '{"order": 10519}'`;
  const first = useQuery({
    queryKey: ["runs", "first", id],
    queryFn: async ({ signal }) => {
      const params = { path: { id }, query: { limit: 1, include: "id" } };
      const [run] = await data(client.GET("/v1/workflows/{id}/runs", { params, signal }));
      if (run !== undefined) {
        void queries.invalidateQueries({ queryKey: partsQuery.queryKey });
        void navigate({ to: "/runs/$id", params: { id: run.id } });
      }
      return run?.id ?? null;
    },
    refetchInterval: ASK_MS,
  });
  const send = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/workflows/{id}/run", {
          params: { path: { id } },
          body: { event: { body: { order: 10519 } }, wait: false },
        }),
      ),
    onSuccess: () => void first.refetch(),
  });
  return (
    <>
      <ShellBlock text={command} />
      <div className="door-wait" role="status">
        <Glyph status="running" />
        <span className="grow">Waiting for the first request</span>
        <Button
          size="sm"
          refused={refused}
          busy={send.isPending && "Sending…"}
          onClick={() => send.mutate()}
        >
          Send a test request
        </Button>
      </div>
      {send.error !== null && (
        <Banner kind="failed" role="alert" title="The request was not sent">
          {sentence(send.error)}
        </Banner>
      )}
    </>
  );
}

function Bring({ examples }: { examples: readonly Example[] }) {
  const navigate = useNavigate();
  const refused = useRefusal("deploy");
  const take = useMutation({
    mutationFn: async (example: Example) =>
      data(client.POST("/v1/components", { body: { component_code: await example.read() } })),
    onSuccess: ({ id }) =>
      void navigate({ to: "/sources", search: { action: "create", component: id } }),
  });
  const [text, setText] = useState("");
  const Icon = refused === undefined ? ChevronRight : Lock;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const words = text.trim();
        void navigate({ to: "/sources/new", search: words === "" ? {} : { text: words } });
      }}
    >
      <div className="door-field">
        <Link2 className="icon is-sm" aria-hidden="true" />
        <Input
          aria-label="Search, or paste a key or a URL"
          placeholder="rss-new-item-in-feed, https://…"
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="submit" size="lg">
          Find
        </Button>
      </div>
      <p className="small dim door-or">Or start with one that needs no account:</p>
      <ul className="door-examples">
        {examples.map((example) => (
          <li key={example.id}>
            <PlainButton
              stopped={take.isPending}
              refused={refused}
              onClick={() => take.mutate(example)}
            >
              <Tile name={example.name} />
              <span className="name">{example.name}</span>
              <span className="mid cut">{example.says}</span>
              <Icon className="icon is-sm" aria-hidden="true" />
            </PlainButton>
          </li>
        ))}
      </ul>
      {take.error !== null && (
        <Banner kind="failed" role="alert" title="The component could not be loaded">
          {sentence(take.error)}
        </Banner>
      )}
    </form>
  );
}

function Terminal() {
  const commands = line`millrace login --url ${window.location.origin}\nmillrace init source hello --timer\nmillrace dev hello.mjs`;
  return (
    <>
      <ShellBlock text={commands} />
      <p className="small mid door-key">
        <KeyRound className="icon is-sm" aria-hidden="true" />
        <span>
          It asks for an API key:{" "}
          <ActLink to="/settings/keys" needs="full" look="text">
            create one for this computer
          </ActLink>
        </span>
      </p>
    </>
  );
}
