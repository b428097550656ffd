/** Sign-in with an address and a password. */

import "~/ui/field.css";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { takeBrought } from "~/api/brought";
import { sentence } from "~/api/errors";
import { beginAtProvider, finishAtProvider, forgot, signIn, signInProvider } from "~/api/session";
import { sessionQuery, tellTabs } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Button } from "~/ui/button";
import { Field, Input, Password } from "~/ui/field";
import { Entry, Refused } from "./entry";

export function SignIn({ next }: { next: string | undefined }) {
  useTitle("Sign in");
  const enter = useEnter(next);
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [isMissing, setMissing] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const send = useMutation({ mutationFn: () => signIn({ email, password }), onSuccess: enter });
  return (
    <Entry>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!send.isPending) send.mutate();
        }}
      >
        <h1>Sign in</h1>
        <p className="mid">
          to <b>{window.location.host}</b>
        </p>
        <Field
          label="E-mail"
          optional={false}
          error={isMissing && email.trim() === "" ? "Enter your e-mail first." : undefined}
        >
          {(props) => (
            <Input
              {...props}
              ref={field}
              type="email"
              name="username"
              autoComplete="username"
              autoFocus
              value={email}
              onChange={(event) => setEmail(event.target.value)}
            />
          )}
        </Field>
        <Field label="Password" optional={false}>
          {(props) => (
            <Password
              {...props}
              name="password"
              autoComplete="current-password"
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          )}
        </Field>
        {send.error !== null && <Refused>{sentence(send.error)}</Refused>}
        <Button
          look="primary"
          size="lg"
          type="submit"
          keys="enter"
          busy={send.isPending && "Signing in…"}
        >
          Sign in
        </Button>
        <ByProvider next={next} />
        <Forgot
          email={email}
          onMissing={() => {
            setMissing(true);
            field.current?.focus();
          }}
        />
        <p className="small dim">
          First time here? Open the link that the server printed at its first start, or the one in
          your invitation.
        </p>
      </form>
    </Entry>
  );
}

/** The address to go on to is kept while the browser is at the provider. */
const NEXT = "millrace-next";

/** Sign-in by the server's provider of OpenID Connect, where it has one; ends it when the browser comes back from there. */
function ByProvider({ next }: { next: string | undefined }) {
  const [brought] = useState(takeBrought);
  const enter = useEnter(sessionStorage.getItem(NEXT) ?? undefined);
  const provider = useQuery({
    queryKey: ["sign-in"],
    queryFn: ({ signal }) => signInProvider(signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const begin = useMutation({
    mutationFn: beginAtProvider,
    onSuccess: ({ url }) => {
      if (next === undefined) sessionStorage.removeItem(NEXT);
      else sessionStorage.setItem(NEXT, next);
      window.location.assign(url);
    },
  });
  const finish = useMutation({ mutationFn: finishAtProvider, onSuccess: enter });
  const begun = useRef(false);
  useEffect(() => {
    if (brought === undefined || "refusal" in brought || begun.current) return;
    begun.current = true;
    window.history.replaceState(window.history.state, "", "/login");
    finish.mutate(brought);
  });
  if (provider.data === undefined || provider.data === null) return null;
  const refusal = brought !== undefined && "refusal" in brought ? brought.refusal : undefined;
  const error = begin.error ?? finish.error;
  const busy = finish.isPending || begin.isPending || begin.isSuccess;
  return (
    <>
      {refusal !== undefined && error === null && (
        <Refused>
          {provider.data} could not sign you in: {refusal}
        </Refused>
      )}
      {error !== null && <Refused>{sentence(error)}</Refused>}
      <Button size="lg" busy={busy && "Signing in…"} onClick={() => begin.mutate()}>
        Sign in with {provider.data}
      </Button>
    </>
  );
}

/** Has a link mailed to the address above; the answer is the same where nobody has it. */
function Forgot({ email, onMissing }: { email: string; onMissing: () => void }) {
  const ask = useMutation({ mutationFn: () => forgot(email.trim()) });
  if (ask.isSuccess) {
    return (
      <p className="small" role="status">
        If {email.trim()} has an account here, a link has been sent to it. It works once, within an
        hour.
      </p>
    );
  }
  return (
    <>
      {ask.error !== null && <Refused>{sentence(ask.error)}</Refused>}
      <p>
        <button
          type="button"
          className="link small"
          onClick={() => {
            if (email.trim() === "") onMissing();
            else if (!ask.isPending) ask.mutate();
          }}
        >
          {ask.isPending ? "Sending…" : "Forgot your password?"}
        </button>
      </p>
    </>
  );
}

/** Goes on as whoever signed in: nothing of an earlier session is kept. */
export function useEnter(next: string | undefined): () => void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return () => {
    queries.clear();
    void queries.prefetchQuery(sessionQuery);
    tellTabs();
    // Only an address of this server, and not `//host`.
    const to = next?.startsWith("/") && !/^\/[/\\]/.test(next) ? next : "/";
    void navigate({ href: to, replace: true });
  };
}
