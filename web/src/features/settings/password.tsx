/** Change of the signed-in person's password. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { client, data } from "~/api/client";
import { FormDialog } from "~/shell/form-dialog";
import { useSession } from "~/shell/session";
import { Field, Input, Password } from "~/ui/field";
import { say } from "~/ui/toast";

export function ChangePassword({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const { user } = useSession();
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const change = useMutation({
    mutationFn: () =>
      data(client.PUT("/v1/session/password", { body: { current_password: current, password } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["sessions"] });
      say({ title: "Password changed", about: "Your other sessions were signed out." });
      onClose();
    },
  });
  return (
    <FormDialog
      title="Change password"
      about="signs you out everywhere else"
      act="Change password"
      busy="Changing…"
      mutation={change}
      onClose={onClose}
    >
      {/* Password managers file the new one under it. */}
      <Input
        type="email"
        name="username"
        autoComplete="username"
        value={user.email}
        readOnly
        hidden
        aria-label="E-mail"
      />
      <Field name="current_password" label="Current password" optional={false}>
        {(props) => (
          <Password
            {...props}
            name="current-password"
            autoComplete="current-password"
            value={current}
            onChange={({ target }) => setCurrent(target.value)}
          />
        )}
      </Field>
      <Field name="password" label="New password" optional={false} hint="At least 12 characters">
        {(props) => (
          <Password
            {...props}
            name="new-password"
            autoComplete="new-password"
            value={password}
            onChange={({ target }) => setPassword(target.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}
