/** Acts of a workflow as commands, on each of its pages. */

import { AsCommand } from "~/shell/as-command";
import { curlOf, line } from "~/shell/command-line";
import { useBuilder } from "./use-builder";

export function WorkflowCommands() {
  const { id, name, name_slug } = useBuilder().state.base;
  const workflow = ["workflows", id];
  return (
    <AsCommand
      about={name}
      commands={() => [
        {
          name: "Command line",
          text: line`millrace workflows pull ${name_slug}\nmillrace workflows run ${name_slug}\nmillrace runs list ${name_slug}\nmillrace workflows deployments ${name_slug}`,
        },
        { name: "curl", text: curlOf("GET", workflow) },
        { name: "curl, deploy", text: curlOf("POST", [...workflow, "deploy"], { body: {} }) },
        { name: "curl, runs", text: curlOf("GET", [...workflow, "runs"]) },
        { name: "curl, versions", text: curlOf("GET", [...workflow, "deployments"]) },
      ]}
    />
  );
}
