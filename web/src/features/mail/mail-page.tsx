/** Outbox: mails that were sent, wait, or failed. */

import "~/ui/table.css";
import "./mail.css";
import {
  queryOptions,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { Send } from "lucide-react";
import { useRef } from "react";
import { body, client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { pagesOf } from "~/api/queries";
import type { Mail } from "~/api/schema";
import { ListState } from "~/shell/list-state";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Banner, Empty, SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Fact, PageHead, PaneHead } from "~/ui/pane";
import { Glyph, type Shape } from "~/ui/status";
import { When } from "~/ui/time";
import { say } from "~/ui/toast";
import { VirtualRows } from "~/ui/virtual-rows";

const ROW_HEIGHT = 53;

const mailQuery = pagesOf(
  ["mail"],
  (query, signal) => body(client.GET("/v1/mail", { params: { query }, signal })),
  50,
);

const oneMailQuery = (id: string) =>
  queryOptions({
    queryKey: ["mail", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/mail/{id}", { params: { path: { id } }, signal })),
    retry: false,
  });

const words: Record<string, { word: string; shape: Shape }> = {
  queued: { word: "Waiting", shape: "queued" },
  sent: { word: "Sent", shape: "succeeded" },
  failed: { word: "Not sent", shape: "failed" },
  kept: { word: "Not sent: no SMTP", shape: "kept" },
};

export function MailPage({
  chosen,
  onChoose,
}: {
  chosen: string | undefined;
  onChoose: (id: string) => void;
}) {
  useTitle("Mail");
  const mail = useInfiniteQuery({ ...mailQuery, refetchInterval: 10_000 });
  const scroll = useRef<HTMLDivElement>(null);
  const all = mail.data?.pages.flatMap((page) => page.data) ?? [];
  const listed = all.find(({ id }) => id === chosen);
  // One that is further down the list, or came by a link.
  const { data: linked } = useQuery({
    ...oneMailQuery(chosen ?? ""),
    enabled: chosen !== undefined && mail.isSuccess && listed === undefined,
  });
  const open = listed ?? linked ?? (chosen === undefined ? all[0] : undefined);
  const waits = all.some(({ status, attempts }) => status === "queued" && attempts === 0);
  return (
    <>
      <PageHead>
        <h1>Mail</h1>
      </PageHead>
      {waits && (
        <div className="mail-note">
          <Banner kind="waits" title="Mail is not sent">
            Without <code className="mono">--smtp-url</code> mail is not sent. It stays in this
            outbox, where you can read it.
          </Banner>
        </div>
      )}
      {mail.isPending ? (
        <SkeletonRows height={ROW_HEIGHT} rows={6} />
      ) : (
        <div className="mail-cols scroll">
          <section aria-label="Outbox">
            <div className="scroll" ref={scroll}>
              <ListState
                query={mail}
                what="The outbox"
                empty={
                  <Empty title="No mail yet.">
                    <p>Mail about errors and mail that steps send is listed here.</p>
                  </Empty>
                }
              >
                {(items) => (
                  <table className="tbl t-mail" aria-label="Outbox">
                    <thead>
                      <tr className="tr is-head">
                        <th>State</th>
                        <th>Subject</th>
                        <th className="is-right">When</th>
                      </tr>
                    </thead>
                    <tbody>
                      <VirtualRows
                        count={items.length}
                        height={ROW_HEIGHT}
                        scroll={scroll}
                        keyOf={(at) => items[at]?.id ?? String(at)}
                      >
                        {(at, row) => {
                          const item = items[at];
                          if (item === undefined) return null;
                          return (
                            <tr
                              {...row}
                              className="tr is-two"
                              aria-current={item.id === open?.id ? "true" : undefined}
                            >
                              <td>
                                <State of={item.status} />
                              </td>
                              <td className="cut">
                                <button
                                  type="button"
                                  className="row-link name cut"
                                  onClick={() => onChoose(item.id)}
                                >
                                  {item.subject}
                                </button>
                                <br />
                                <span className="small dim">{item.recipient}</span>
                              </td>
                              <td className="dim is-right above">
                                <When at={item.created_at * 1_000} />
                              </td>
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
          {open !== undefined && <OneMail key={open.id} mail={open} />}
        </div>
      )}
    </>
  );
}

function State({ of }: { of: string }) {
  const { word, shape } = words[of] ?? { word: of, shape: "queued" as const };
  return (
    <span className={shape === "failed" ? "status is-failed" : "status"}>
      <Glyph status={shape} />
      {word}
    </span>
  );
}

function OneMail({ mail }: { mail: Mail }) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const send = useMutation({
    mutationFn: () =>
      data(client.POST("/v1/mail/{id}/send", { params: { path: { id: mail.id } } })),
    onSuccess: () => {
      say({ title: "The mail is sent again", about: mail.recipient, shape: "running" });
      void queries.invalidateQueries({ queryKey: ["mail"] });
    },
    onError: (error) => say({ title: "The mail was not sent", about: sentence(error) }),
  });
  return (
    <section aria-label="Mail">
      <PaneHead title={mail.subject}>
        <Button
          size="sm"
          icon={Send}
          refused={refused}
          busy={send.isPending && "Sending…"}
          onClick={() => send.mutate()}
        >
          {mail.status === "queued" && mail.attempts > 0 ? "Retry now" : "Send again"}
        </Button>
      </PaneHead>
      <div className="bar">
        <dl className="facts">
          <Fact name="To" wide>
            {mail.recipient}
          </Fact>
          <Fact name="State">
            <State of={mail.status} />
          </Fact>
          <Fact name="Attempts">
            <span className="num">{mail.attempts}</span>
          </Fact>
          {mail.last_error !== null && (
            <Fact name="Refused" wide>
              <span className="failed-text">{mail.last_error}</span>
            </Fact>
          )}
        </dl>
      </div>
      <section className="scroll" tabIndex={0} aria-label="Message text">
        <p className="mail-text">
          <Linked text={mail.text} />
        </p>
      </section>
    </section>
  );
}

/** Addresses of this server as links; others stay text. */
function Linked({ text }: { text: string }) {
  const parts = text.split(/(https?:\/\/[^\s<>"]+)/);
  return parts.map((part, index) => {
    if (index % 2 === 0 || !URL.canParse(part)) return part;
    const url = new URL(part);
    if (url.origin !== window.location.origin) return part;
    return (
      <a key={index} className="link" href={url.pathname + url.search + url.hash}>
        {part}
      </a>
    );
  });
}
