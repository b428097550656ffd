/** Members of the organization: roles, invitations by link, and their ends. */

import type { components } from "~/api/schema";
import { useKeptText } from "~/shell/kept-text";
import "~/ui/table.css";
import "./settings.css";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { body, client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { pagesOf } from "~/api/queries";
import type { Invitation, Member, NewInvitation } from "~/api/schema";
import { FormDialog } from "~/shell/form-dialog";
import { ListState } from "~/shell/list-state";
import { useRefusal, useSession } from "~/shell/session";
import { ShownOnce } from "~/shell/shown-once";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button, IconButton } from "~/ui/button";
import { Confirm } from "~/ui/dialog";
import { Field, Input } from "~/ui/field";
import { KeepFocus } from "~/ui/keep-focus";
import { PaneHead } from "~/ui/pane";
import { Select } from "~/ui/select";
import { Tag } from "~/ui/tag";
import { Until, When } from "~/ui/time";
import { say } from "~/ui/toast";

const membersQuery = pagesOf(["members"], (query, signal) =>
  body(client.GET("/v1/members", { params: { query }, signal })),
);

const invitationsQuery = pagesOf(["invitations"], (query, signal) =>
  body(client.GET("/v1/invitations", { params: { query }, signal })),
);

type Role = components["schemas"]["Role"];

const ROLES: readonly { value: Role; label: string; note: string }[] = [
  { value: "owner", label: "Owner", note: "everything, including members and keys" },
  { value: "member", label: "Member", note: "deploys and runs" },
  { value: "viewer", label: "Viewer", note: "looks" },
];

/** As docs/reference/scopes.md has it. */
const MAY: readonly { what: string; roles: readonly Role[] }[] = [
  { what: "View events, runs, results, logs and stores", roles: ["owner", "member", "viewer"] },
  { what: "Run, replay and cancel", roles: ["owner", "member"] },
  {
    what: "Deploy and change sources, workflows and components; their code reaches the credentials of all accounts",
    roles: ["owner", "member"],
  },
  { what: "Change accounts, keys, members and the organization", roles: ["owner"] },
];

const roleOf = (text: string): Role => ROLES.find(({ value }) => value === text)?.value ?? "viewer";

export function Members() {
  useTitle("Members");
  const members = useInfiniteQuery(membersQuery);
  const refused = useRefusal("full");
  const [invites, setInvites] = useState(false);
  const [shown, setShown] = useState<NewInvitation | null>(null);
  return (
    <>
      <PaneHead title="Members" hint="who can sign in, and what each role can do">
        <Button size="sm" icon={Plus} refused={refused} onClick={() => setInvites(true)}>
          Invite
        </Button>
      </PaneHead>
      <div className="scroll in-order">
        <ListState query={members} what="The members" empty={<Empty title="No members." />}>
          {(items) => (
            <table className="tbl t-members" aria-label="Members">
              <thead>
                <tr className="tr is-head">
                  <th>Name</th>
                  <th>E-mail</th>
                  <th>Role</th>
                  <th className="is-right">Joined</th>
                  <th>
                    <span className="sr">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((member) => (
                  <Row key={member.id} of={member} />
                ))}
              </tbody>
            </table>
          )}
        </ListState>
        {refused === undefined && <Invitations />}
        <Roles />
      </div>
      {invites && (
        <Invite
          onClose={() => setInvites(false)}
          onMade={(made) => {
            setInvites(false);
            setShown(made);
          }}
        />
      )}
      {shown !== null && (
        <ShownOnce
          title="Invitation"
          label="Link"
          secret={shown.url}
          says={`${shown.mailed ? `It was also mailed to ${shown.email}.` : "Send it to the invited person."} It works once, within a week, and is not shown again.`}
          onStored={() => setShown(null)}
        />
      )}
    </>
  );
}

function Row({ of }: { of: Member }) {
  const queries = useQueryClient();
  const { user } = useSession();
  const refused = useRefusal("full");
  const [open, setOpen] = useState(false);
  /** A role with which one can no longer give oneself another. */
  const [lower, setLower] = useState<Role>();
  const params = { params: { path: { id: of.id } } };
  const again = () => {
    void queries.invalidateQueries({ queryKey: ["members"] });
    if (of.id === user.id) void queries.invalidateQueries({ queryKey: ["session"] });
  };
  const turn = useMutation({
    mutationFn: (role: Role) => data(client.PUT("/v1/members/{id}", { ...params, body: { role } })),
    onSuccess: () => {
      setLower(undefined);
      again();
    },
    onError: (error) => {
      if (lower === undefined) say({ title: sentence(error) });
    },
  });
  const choose = (role: Role) => {
    turn.reset();
    if (of.id === user.id && role !== of.role) setLower(role);
    else turn.mutate(role);
  };
  const end = useMutation({
    mutationFn: () => data(client.DELETE("/v1/members/{id}", params)),
    onSuccess: () => {
      setOpen(false);
      say({ title: `${of.name} is no longer a member` });
      again();
    },
  });
  return (
    <tr className="tr">
      <td className="cut">
        <span className="name">{of.name}</span> {of.id === user.id && <Tag>you</Tag>}
      </td>
      <td className="cut mid">
        {of.email} {!of.signs_in && <span className="dim small">cannot sign in yet</span>}
      </td>
      <td>
        {refused === undefined ? (
          <Select
            small
            aria-label={`Role of ${of.name}`}
            value={of.role}
            onChange={(role) => choose(roleOf(role))}
            choices={ROLES}
          />
        ) : (
          of.role
        )}
      </td>
      <td className="dim is-right">
        <When at={of.created_at * 1_000} />
      </td>
      <td className="is-right">
        <IconButton
          icon={Trash2}
          size="sm"
          label={`Remove ${of.name}`}
          refused={refused}
          onClick={() => setOpen(true)}
        />
        {lower !== undefined && (
          <Confirm
            open
            onClose={() => setLower(undefined)}
            title={`Change your role to ${lower}?`}
            act={`Change role`}
            keep={`Cancel`}
            busy={turn.isPending && "Changing…"}
            error={turn.error === null ? undefined : sentence(turn.error)}
            onConfirm={() => turn.mutate(lower)}
          >
            <p>
              You will no longer be able to change accounts, keys, members or the organization
              {lower === "viewer" && ", or to deploy or run anything"}. Another owner can change
              your role back.
            </p>
          </Confirm>
        )}
        <Confirm
          open={open}
          onClose={() => setOpen(false)}
          title={`Remove ${of.name}?`}
          act="Remove member"
          busy={end.isPending && "Removing…"}
          error={end.error === null ? undefined : sentence(end.error)}
          onConfirm={() => end.mutate()}
        >
          <p>
            The person's sessions, API keys and OAuth clients in this organization are revoked at
            once.
          </p>
        </Confirm>
      </td>
    </tr>
  );
}

function Roles() {
  return (
    <section className="roles-place">
      <table className="roles" aria-label="What each role can do">
        <thead>
          <tr>
            <th>Permission</th>
            {ROLES.map(({ value, label }) => (
              <th key={value}>{label}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {MAY.map(({ what, roles }) => (
            <tr key={what}>
              <td>{what}</td>
              {ROLES.map(({ value }) => (
                <td key={value}>
                  {roles.includes(value) ? "yes" : <span className="dim">no</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Invitations() {
  const invitations = useInfiniteQuery(invitationsQuery);
  return (
    <>
      <PaneHead title="Invitations" hint="links that are not used yet" />
      <ListState
        query={invitations}
        what="The invitations"
        empty={<Empty title="No pending invitations." />}
      >
        {(items) => (
          <table className="tbl t-members" aria-label="Invitations">
            <tbody>
              {items.map((invitation) => (
                <Invited key={invitation.id} of={invitation} />
              ))}
            </tbody>
          </table>
        )}
      </ListState>
    </>
  );
}

function Invited({ of }: { of: Invitation }) {
  const queries = useQueryClient();
  const withdraw = useMutation({
    mutationFn: () =>
      data(client.DELETE("/v1/invitations/{id}", { params: { path: { id: of.id } } })),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["invitations"] }),
    onError: (error) => say({ title: sentence(error) }),
  });
  return (
    <tr className="tr">
      <td className="cut name">{of.email}</td>
      <td className="mid">
        expires <Until at={of.expires_at * 1_000} />
      </td>
      <td>{of.role}</td>
      <td className="dim is-right">
        <When at={of.created_at * 1_000} />
      </td>
      <td className="is-right">
        <IconButton
          icon={Trash2}
          size="sm"
          label={`Revoke the invitation of ${of.email}`}
          onClick={() => withdraw.mutate()}
        />
        <KeepFocus />
      </td>
    </tr>
  );
}

function Invite({
  onClose,
  onMade,
}: {
  onClose: () => void;
  onMade: (made: NewInvitation) => void;
}) {
  const queries = useQueryClient();
  const [email, setEmail, isTyped] = useKeptText("dialog.invite");
  const [role, setRole] = useState<Role>("member");
  const invite = useMutation({
    mutationFn: () => data(client.POST("/v1/invitations", { body: { email: email.trim(), role } })),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ["invitations"] });
      onMade(made);
    },
  });
  return (
    <FormDialog
      title="Invite a member"
      about="with a link that you send"
      act="Create link"
      busy="Creating…"
      mutation={invite}
      typed={isTyped}
      onClose={onClose}
    >
      <Field name="email" label="E-mail" optional={false}>
        {(control) => (
          <Input
            {...control}
            type="email"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        )}
      </Field>
      <Field name="role" label="Role">
        {(control) => (
          <Select
            {...control}
            value={role}
            onChange={(chosen) => setRole(roleOf(chosen))}
            choices={ROLES}
          />
        )}
      </Field>
    </FormDialog>
  );
}
