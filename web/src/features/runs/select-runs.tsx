/** Button that shows the checkboxes of a list of runs on narrow screens, where they are hidden. */

import { ListChecks, X } from "lucide-react";
import { Button } from "~/ui/button";

export type Selecting = { on: boolean; set: (on: boolean) => void };

export function SelectRuns({ selecting }: { selecting: Selecting }) {
  return (
    <Button
      look="quiet"
      className="only-narrow"
      icon={selecting.on ? X : ListChecks}
      onClick={() => selecting.set(!selecting.on)}
    >
      {selecting.on ? "Done" : "Select"}
    </Button>
  );
}
