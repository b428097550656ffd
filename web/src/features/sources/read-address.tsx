/**
 * Button that reads a component from an address; a link alone never does, as its author chose the
 * address.
 */

import { useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { useRefusal } from "~/shell/session";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";

/** Code at a URL is read by a button, never by a link alone: whoever wrote the link chose the address. */
export function ReadAddress({ url, onRead }: { url: string; onRead: (id: string) => void }) {
  const refused = useRefusal("deploy");
  const read = useMutation({
    mutationFn: () => data(client.POST("/v1/components", { body: { component_url: url } })),
    onSuccess: ({ id }) => onRead(id),
  });
  return (
    <div className="find">
      <div>
        <h2>Deploy the code at this URL?</h2>
        <p className="mono wrap mid">{url}</p>
      </div>
      <p className="mid">
        The server downloads it and shows its props and what it will do. Nothing runs until you
        deploy it.
      </p>
      {read.error !== null && (
        <Banner kind="failed" role="alert" title="The code could not be loaded">
          {sentence(read.error)}
        </Banner>
      )}
      <div>
        <Button
          look="primary"
          size="lg"
          icon={Download}
          refused={refused}
          busy={read.isPending && "Loading…"}
          onClick={() => read.mutate()}
        >
          Load the code
        </Button>
      </div>
    </div>
  );
}
