/** The form of a component that is deployed as a source, on a page of its own and in the builder's dialog. */

import { propsOf } from "~/api/props";
import { fieldId } from "~/features/prop-form/field-id";
import { PropForm } from "~/features/prop-form/prop-form";
import { usePropForm } from "~/features/prop-form/use-prop-form";
import { DeploySource } from "~/features/sources/deploy";
import type { Runnable } from "~/features/sources/what-runs";

type Component = {
  name: string | null;
  key: string | null;
  version: string | null;
  description: string | null;
  code: string;
  /** Where a registry has it. */
  path?: string;
  component_url?: string | null;
  files?: object | null;
  configurable_props: unknown;
};

function originOf(named: object, { path, component_url }: Component): string {
  if ("component_id" in named) return component_url ?? "pasted code";
  return path === undefined ? "published in this organization" : `a registry, ${path}`;
}

export function DeployComponent({
  named,
  component,
  onDeployed,
}: {
  named: { key: string } | { component_id: string };
  component: Component;
  onDeployed?: (source: { id: string; name: string }) => void;
}) {
  const target = "key" in named ? named.key : named.component_id;
  const form = usePropForm({
    target,
    props: propsOf(component.configurable_props),
    keepAs: `deploy.${target}`,
  });
  const runs: Runnable = {
    key: component.key,
    version: component.version,
    code: component.code,
    from: originOf(named, component),
    files: Object.keys(component.files ?? {}).length,
  };
  return (
    <DeploySource
      named={named}
      name={component.name ?? component.key ?? "source"}
      description={component.description}
      runs={runs}
      form={form}
      fieldId={fieldId}
      onDeployed={onDeployed}
    >
      <PropForm form={form} />
    </DeploySource>
  );
}
