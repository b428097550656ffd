/**
 * Every component of the library in its states; browser tests check them under the page's policy.
 */

import "./kit.css";
import { RadioGroup } from "@base-ui/react/radio-group";
import { Copy as CopyIcon, Ellipsis, Play, RotateCcw, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { setTheme, useTheme } from "~/shell/theme";
import { Banner, Empty, SkeletonRows } from "~/ui/banner";
import { Bars } from "~/ui/bars";
import { Button, IconButton } from "~/ui/button";
import { Copy } from "~/ui/copy";
import { Confirm, Dialog } from "~/ui/dialog";
import {
  Checkbox,
  Field,
  Input,
  Password,
  Radio,
  Search,
  Switch,
  SwitchRow,
  TextArea,
} from "~/ui/field";
import { JsonInspector } from "~/ui/json/json-inspector";
import { Keys } from "~/ui/keys";
import { Menu, MenuItem, MenuLine } from "~/ui/menu";
import { PageHead, PaneHead, Segments } from "~/ui/pane";
import { Select } from "~/ui/select";
import { STATUSES, StatusMark, StatusPill } from "~/ui/status";
import { State, Tag, Tile } from "~/ui/tag";
import { When } from "~/ui/time";
import { say } from "~/ui/toast";

const sample = {
  id: "evt_1SXkR9LkdIwHu7ixm2Yc0b4E",
  created: 1_795_613_439,
  data: { object: { amount_total: 21_400, currency: "eur", none: null, paid: true } },
  lines: Array.from({ length: 250 }, (_, index) => ({ index })),
};

export function Kit() {
  const theme = useTheme();
  const [open, setOpen] = useState(false);
  const [asks, setAsks] = useState(false);
  const [on, setOn] = useState(true);
  const [range, setRange] = useState<"h" | "d">("h");
  const [fruit, setFruit] = useState<string | null>("pear");
  return (
    <main className="main" id="main">
      <PageHead
        acts={
          <Button keys="t" onClick={() => setTheme(theme === "dark" ? "light" : "dark")}>
            Switch theme
          </Button>
        }
      >
        <h1>Components and their states</h1>
      </PageHead>
      <div className="scroll kit">
        <Part title="Status">
          {STATUSES.map((status) => (
            <StatusMark key={status} status={status} />
          ))}
          <div className="row is-wrapping">
            {STATUSES.map((status) => (
              <StatusPill key={status} status={status} />
            ))}
          </div>
        </Part>
        <Part title="Buttons">
          <div className="row is-wrapping">
            <Button look="primary" keys="mod+enter">
              Deploy
            </Button>
            <Button look="primary" busy="Deploying…">
              Deploy
            </Button>
          </div>
          <div className="row is-wrapping">
            <Button icon={Play}>Run now</Button>
            <Button look="quiet" icon={CopyIcon}>
              Quiet
            </Button>
            <Button look="danger" onClick={() => setAsks(true)}>
              Delete source…
            </Button>
          </div>
          <Button refused="Viewers cannot deploy. An owner can make you a member.">Deploy</Button>
          <div className="row">
            <IconButton icon={Ellipsis} label="More" />
            <Copy text="copied text" />
            <Copy text="copied text" named />
            <Keys of="mod+k" />
          </div>
        </Part>
        <Part title="Fields">
          <Field label="Name" hint="Shown in lists." optional={false}>
            {(props) => <Input {...props} defaultValue="Damaged returns" />}
          </Field>
          <Field label="Rows at most" error="5,000 is over the maximum. Allowed: 1 to 1,000.">
            {(props) => <Input {...props} defaultValue="5,000" />}
          </Field>
          <Field label="Note">{(props) => <TextArea {...props} />}</Field>
          <Field label="Password">{(props) => <Password {...props} defaultValue="secret" />}</Field>
          <Search label="Search names" />
          <Field label="Fruit">
            {(props) => (
              <Select
                {...props}
                value={fruit}
                onChange={setFruit}
                choices={[
                  { value: "apple", label: "Apple" },
                  { value: "pear", label: "Pear", note: "2 left" },
                ]}
              />
            )}
          </Field>
        </Part>
        <Part title="Choice">
          <div className="row">
            <Checkbox checked={on} onChange={setOn} aria-label="Ticked" />
            <Checkbox checked={false} some onChange={setOn} aria-label="Some" />
            <Switch checked={on} onChange={setOn} aria-label="Active" />
          </div>
          <SwitchRow label="Emit a row again" checked={on} onChange={setOn} />
          <RadioGroup aria-label="Start" defaultValue="trigger" render={<div className="row" />}>
            <Radio value="trigger" label="From the trigger" />
            <Radio value="step" label="From the step" />
          </RadioGroup>
          <Segments
            label="Time range"
            value={range}
            onChange={setRange}
            choices={[
              ["h", "Last hour"],
              ["d", "24 h"],
            ]}
          />
          <div className="row is-wrapping">
            <Tag>v11</Tag>
            <Tag kind="live">v12 live</Tag>
            <Tag kind="draft">draft</Tag>
            <State kind="alarm">New today</State>
            <State kind="warn">Back after 12 days</State>
            <State>Ignored</State>
            <Tile name="Stripe events" />
            <Tile name="Google Sheets" size="lg" />
          </div>
          <When at={Date.now() - 120_000} />
        </Part>
        <Part title="Banners">
          <Banner kind="failed" title="3 fields need you">
            Worksheet: its first row is empty.
          </Banner>
          <Banner kind="waits" title="Made by project shop">
            The next apply undoes what you change here.
          </Banner>
          <Banner title="Priya Nair changed this draft" act={<Button size="sm">Compare…</Button>} />
        </Part>
        <Part title="What floats">
          <Menu label="Acts" trigger={<Button>Menu</Button>}>
            <MenuItem icon={RotateCcw} keys="r">
              Replay…
            </MenuItem>
            <MenuLine />
            <MenuItem icon={Trash2} danger>
              Delete…
            </MenuItem>
          </Menu>
          <Button onClick={() => setOpen(true)}>Dialog</Button>
          <Button
            onClick={() =>
              say({
                title: "Version 13 is live",
                about: "Order fulfilment",
                shape: "succeeded",
                act: { label: "Undo", onClick: () => say({ title: "Undone" }) },
              })
            }
          >
            Toast
          </Button>
          <Bars values={[0, 3, 5, 2, 8, 13, 1]} width={120} height={24} label="Seven days" />
          <Bars values={[0, 0, 2, 9]} width={60} height={14} label="Four days" kind="bad" />
        </Part>
        <Part title="JSON">
          <div className="kit-json">
            <JsonInspector value={sample} base="steps.trigger.event" label="Event" />
          </div>
        </Part>
        <Part title="Empty">
          <Empty title="No events yet.">
            <Button icon={Play}>Run now</Button>
          </Empty>
        </Part>
        <Part title="Loading">
          <PaneHead title="Rows" count={3} hint="after 300 ms" />
          <div className="kit-wide">
            <SkeletonRows rows={3} />
          </div>
        </Part>
        <Dialog
          open={open}
          onClose={() => setOpen(false)}
          title="Replay run"
          about="Order fulfilment"
          foot={<Button onClick={() => setOpen(false)}>Close</Button>}
        >
          <div className="dialog-body">What happens again, and what is kept.</div>
        </Dialog>
        <Confirm
          open={asks}
          onClose={() => setAsks(false)}
          title="Delete source “Stripe events”?"
          act="Delete source"
          typed="stripe-events"
          onConfirm={() => setAsks(false)}
        >
          <p>41,906 events and its log go.</p>
        </Confirm>
      </div>
    </main>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h2>{title}</h2>
      <div className="kit-body">{children}</div>
    </section>
  );
}
