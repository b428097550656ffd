/** Page of a link that works once: the first visit, another password, or an invitation. */

import "~/ui/field.css";
import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { Link as RouterLink } from "@tanstack/react-router";
import { useState } from "react";
import { ApiError, sentence } from "~/api/errors";
import { followLink, type Link, openLink } from "~/api/session";
import { useTitle } from "~/shell/title";
import { Button } from "~/ui/button";
import { Field, Input, Password } from "~/ui/field";
import { Entry, Refused } from "./entry";
import { useEnter } from "./sign-in";

const linkQuery = (token: string) =>
  queryOptions({
    queryKey: ["link", token],
    queryFn: ({ signal }) => openLink(token, signal),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });

export function LinkPage({ token }: { token: string }) {
  const link = useQuery(linkQuery(token));
  useTitle("Welcome");
  if (link.data !== undefined) return <LinkForm token={token} of={link.data} />;
  return (
    <Entry>
      <div className="login-words">
        {link.error === null ? (
          <p role="status">Checking the link…</p>
        ) : (
          <>
            <h1>This link is not valid</h1>
            <Refused>{sentence(link.error)}</Refused>
            <p>
              <RouterLink to="/login" className="link">
                Sign in
              </RouterLink>
            </p>
          </>
        )}
      </div>
    </Entry>
  );
}

const words = {
  setup: { title: "Welcome to Millrace", act: "Set password and sign in", busy: "Saving…" },
  reset: { title: "Reset your password", act: "Set password and sign in", busy: "Saving…" },
  invitation: { title: "Join", act: "Join", busy: "Joining…" },
} as const;

function about({ kind, org, email, role }: Link) {
  if (kind === "setup") return <>You will be an owner of {org.name}. Nobody can sign in yet.</>;
  if (kind === "reset") return <>for {email}; signs you out everywhere</>;
  return (
    <>
      <b>{org.name}</b> as {role}, with <b>{email}</b>
    </>
  );
}

function LinkForm({ token, of }: { token: string; of: Link }) {
  const enter = useEnter(undefined);
  const says = words[of.kind];
  const [name, setName] = useState("");
  const [email, setEmail] = useState(of.email.endsWith("@localhost") ? "" : of.email);
  const [password, setPassword] = useState("");
  const send = useMutation({
    mutationFn: () =>
      followLink({
        token,
        password,
        ...(name.trim() === "" ? {} : { name }),
        ...(of.kind === "setup" ? { email } : {}),
      }),
    onSuccess: enter,
  });
  const wrong = (field: string) =>
    send.error instanceof ApiError && send.error.field === field ? sentence(send.error) : undefined;
  const elsewhere =
    send.error !== null &&
    wrong("email") === undefined &&
    wrong("password") === undefined &&
    wrong("name") === undefined;
  return (
    <Entry>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!send.isPending) send.mutate();
        }}
      >
        <h1>{says.title}</h1>
        <p className="mid">{about(of)}</p>
        {of.kind !== "reset" && (
          <Field label="Your name" hint="Shown to others in the audit log" error={wrong("name")}>
            {(props) => (
              <Input
                {...props}
                name="name"
                autoComplete="name"
                autoFocus
                value={name}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Field>
        )}
        <Field
          label="E-mail"
          optional={false}
          hint={of.kind === "setup" ? "Used to sign in" : undefined}
          error={wrong("email")}
        >
          {(props) => (
            <Input
              {...props}
              type="email"
              name="username"
              autoComplete="username"
              readOnly={of.kind !== "setup"}
              value={email}
              onChange={(event) => setEmail(event.target.value)}
            />
          )}
        </Field>
        <Field
          label="Password"
          optional={false}
          hint={
            of.kind === "invitation"
              ? "At least 12 characters. If you already sign in here, your current password."
              : "At least 12 characters"
          }
          error={wrong("password")}
        >
          {(props) => (
            <Password
              {...props}
              name="password"
              autoComplete="new-password"
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          )}
        </Field>
        {elsewhere && <Refused>{sentence(send.error)}</Refused>}
        <Button
          look="primary"
          size="lg"
          type="submit"
          keys="enter"
          busy={send.isPending && says.busy}
        >
          {says.act}
        </Button>
      </form>
    </Entry>
  );
}
