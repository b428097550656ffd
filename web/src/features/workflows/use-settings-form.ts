/** The form of a workflow's settings: what is typed is kept until it is saved, and only that is sent. */

import { client, data } from "~/api/client";
import { ApiError } from "~/api/errors";
import type { Workflow } from "~/api/schema";
import { useTypedForm } from "~/shell/use-typed-form";
import { say } from "~/ui/toast";
import { formOf, settingsRequest } from "./settings-form";
import { useBuilder } from "./use-builder";

/** How often the form is saved anew over a record that changed meanwhile. */
const TRIES_MAX = 3;

export function useSettingsForm() {
  const builder = useBuilder();
  const { base } = builder.state;
  return useTypedForm<Workflow>({
    keepAs: `settings.${base.id}`,
    record: base,
    textsOf: formOf,
    send: async (check) => {
      const params = { path: { id: base.id } };
      for (let tries = 1; ; tries += 1) {
        const read = client.GET("/v1/workflows/{id}", { params });
        const body = settingsRequest(check(await data(read)));
        const header = { "If-Match": (await read).response.headers.get("etag") ?? "*" };
        try {
          return await data(
            client.PUT("/v1/workflows/{id}", { params: { ...params, header }, body }),
          );
        } catch (error) {
          // Changed since it was read: what was changed is held against what is typed.
          const isChanged = error instanceof ApiError && error.status === 412;
          if (!isChanged || tries === TRIES_MAX) throw error;
        }
      }
    },
    onRecord: builder.note,
    onSaved: () =>
      say({
        title: "Saved",
        about: "Limits come into force with the next deploy.",
        shape: "succeeded",
      }),
  });
}
