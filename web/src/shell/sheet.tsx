/** Sheet of all shortcuts, made of their data. */

import "./sheet.css";
import { Fragment, useState } from "react";
import { Dialog } from "~/ui/dialog";
import { SwitchRow } from "~/ui/field";
import { setSingleKeys } from "~/ui/keyboard";
import { Keys } from "~/ui/keys";
import { read, write } from "./local";
import { type Shortcut, shortcuts } from "./shortcuts";

const SINGLE_KEY = "millrace.single-keys";
const OFF = "off";
setSingleKeys(read(SINGLE_KEY) !== OFF);

export function ShortcutSheet({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [single, setSingle] = useState(read(SINGLE_KEY) !== OFF);
  const places = [...new Set(Object.values(shortcuts).map(({ where }) => where))];
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard shortcuts" size="middle">
      <div className="dialog-body sheet">
        {places.map((place) => (
          <section key={place}>
            <h3 className="small dim">{place}</h3>
            <dl>
              {Object.values<Shortcut>(shortcuts)
                .filter(({ where }) => where === place)
                .map(({ keys, also, says }) => (
                  <div key={keys + says}>
                    <dt>{says}</dt>
                    <dd>
                      {[keys, ...(also === undefined ? [] : [also])].map((each, at) => (
                        <Fragment key={each}>
                          {at > 0 && <span className="dim small"> or </span>}
                          <Keys of={each} />
                          <span className="sr">{each}</span>
                        </Fragment>
                      ))}
                    </dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
      <footer className="dialog-foot">
        <SwitchRow
          label="Single-key shortcuts"
          checked={single}
          onChange={(on) => {
            setSingle(on);
            setSingleKeys(on);
            write(SINGLE_KEY, on ? null : OFF);
          }}
        />
      </footer>
    </Dialog>
  );
}
