/** The form of a workflow's settings: what is typed is kept until it is saved, and only that is sent. */

import { changeOver, client, data } from "~/api/client";
import type { Workflow } from "~/api/schema";
import { useTypedForm } from "~/shell/use-typed-form";
import { say } from "~/ui/toast";
import { formOf, settingsRequest } from "./settings-form";
import { useBuilder } from "./use-builder";

export function useSettingsForm() {
  const builder = useBuilder();
  const { base } = builder.state;
  return useTypedForm<Workflow>({
    keepAs: `settings.${base.id}`,
    record: base,
    textsOf: formOf,
    send: (check) => {
      const params = { path: { id: base.id } };
      return changeOver(
        () => client.GET("/v1/workflows/{id}", { params }),
        (record, header) => {
          const body = settingsRequest(check(record));
          return data(client.PUT("/v1/workflows/{id}", { params: { ...params, header }, body }));
        },
      );
    },
    onRecord: builder.note,
    onSaved: () =>
      say({
        title: "Saved",
        about: "Limits take effect with the next deploy.",
        shape: "succeeded",
      }),
  });
}
