/** Frame of every signed-in page: side bar, palette, sheet of shortcuts, connection banner. */

import "./frame.css";
import "./palette.css";
import { Link, type LinkProps, useLocation, useNavigate } from "@tanstack/react-router";
import {
  ChevronsUpDown,
  LogOut,
  Menu as MenuIcon,
  Search as SearchIcon,
  SunMoon,
} from "lucide-react";
import {
  Fragment,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useState,
  useSyncExternalStore,
} from "react";
import { IconButton } from "~/ui/button";
import { cn } from "~/ui/cn";
import { showIn } from "~/ui/format";
import { ariaKeys, Keys } from "~/ui/keys";
import { useRowKeys } from "~/ui/list-keys";
import { Mark } from "~/ui/mark";
import { Menu, MenuHead, MenuItem, MenuLine, MenuTick } from "~/ui/menu";
import { HeadActs } from "~/ui/pane";
import { monogram } from "~/ui/tag";
import { Tip } from "~/ui/tip";
import { say } from "~/ui/toast";
import { useBroughtPages } from "./brought-pages";
import { ConnectionBanner } from "./connection";
import { read, write } from "./local";
import { groups, isHeldBy, isMarkedOn, type Place } from "./nav";
import { PageCommands } from "./page-commands";
import { prefer, preferencesOf } from "./preferences";
import { remember, takeRemembered, useRemembered } from "./remembered";
import { useSession } from "./session";
import { shortcuts, useShortcuts } from "./shortcuts";
import { nextTheme, setTheme, type Theme, takeTheme, useTheme } from "./theme";

const loadPalette = () => import("./palette");
const Palette = lazy(async () => ({ default: (await loadPalette()).Palette }));
const ShortcutSheet = lazy(async () => ({ default: (await import("./sheet")).ShortcutSheet }));

/** One element for every page: a new one would render their heads anew. */
const pageCommands = <PageCommands />;

const RAIL_KEY = "millrace.rail";
/**
 * The builder has three panes of its own: it begins with the rail. All tabs of a workflow have its
 * width, so that nothing moves between them.
 */
const BUILDER_KEY = "millrace.builder-side";
const narrowEnoughForRail = window.matchMedia("(max-width: 1180px)");

function useIsMiddling(): boolean {
  return useSyncExternalStore(
    (listener) => {
      narrowEnoughForRail.addEventListener("change", listener);
      return () => narrowEnoughForRail.removeEventListener("change", listener);
    },
    () => narrowEnoughForRail.matches,
  );
}

const themeWord: Record<Theme, string> = {
  system: "Theme: system",
  light: "Theme: light",
  dark: "Theme: dark",
};

export function Frame({
  counts,
  foot,
  onSignOut,
  onSwitch,
  children,
}: {
  /** Numbers beside places, by address. */
  counts?: Partial<Record<string, { n: number; alarm?: boolean; says: string }>>;
  /** The gauge above the user's name. */
  foot?: ReactNode;
  onSignOut?: (() => void) | undefined;
  onSwitch?: (org: string) => void;
  children: ReactNode;
}) {
  const navigate = useNavigate();
  const theme = useTheme();
  const middling = useIsMiddling();
  const [folded, setFolded] = useState(read(RAIL_KEY) === "1");
  const [palette, setPalette] = useState(false);
  const [typed, setTyped] = useState("");
  const [sheet, setSheet] = useState(false);
  const [wideBuilder, setWideBuilder] = useState(read(BUILDER_KEY) === "1");
  const builds = useLocation({
    select: ({ pathname }) => /^\/workflows\/p_[^/]+/.test(pathname),
  });
  const rail = middling || (builds ? !wideBuilder : folded);

  const switchTheme = () => {
    const next = nextTheme(theme);
    setTheme(next);
    say({ title: themeWord[next] });
  };
  const fold = () => {
    if (builds) {
      setWideBuilder(!wideBuilder);
      write(BUILDER_KEY, wideBuilder ? null : "1");
      prefer("builder_side", wideBuilder ? "no" : "yes");
      return;
    }
    setFolded(!folded);
    write(RAIL_KEY, folded ? null : "1");
    prefer("rail", folded ? "no" : "yes");
  };
  const { user, org } = useSession();
  const zone = useRemembered("zone") === "utc" ? "utc" : "local";
  showIn(zone);
  useEffect(() => {
    let left = false;
    preferencesOf(`${user.id} ${org.id}`).then(
      (preferences) => {
        if (left) return;
        const { theme: chosen, rail: narrow, builder_side: wide } = preferences;
        takeRemembered(`${user.id} ${org.id}`, preferences);
        takeTheme(chosen);
        if (wide === "yes" || wide === "no") {
          setWideBuilder(wide === "yes");
          write(BUILDER_KEY, wide === "yes" ? "1" : null);
        }
        if (narrow !== "yes" && narrow !== "no") return;
        setFolded(narrow === "yes");
        write(RAIL_KEY, narrow === "yes" ? "1" : null);
      },
      () => undefined,
    );
    return () => {
      left = true;
    };
  }, [user.id, org.id]);
  // The palette is there before the first letter is typed into it.
  useEffect(() => {
    const load = () => void loadPalette();
    document.addEventListener("keydown", load, { once: true });
    return () => document.removeEventListener("keydown", load);
  }, []);
  useBroughtPages();
  const go = (to: LinkProps["to"]) => () => void navigate({ to });
  useRowKeys();
  useShortcuts({
    palette: () => setPalette(true),
    sheet: () => setSheet(true),
    theme: switchTheme,
    side: fold,
    ...Object.fromEntries(
      groups
        .flatMap(({ places }) => places)
        .map(({ shortcut, to }) => (shortcut === undefined ? [] : [shortcut, go(to)]))
        .filter((pair) => pair.length > 0),
    ),
  });

  return (
    <div className={cn("app", rail && "has-rail")}>
      <a className="skip-link" href="#main">
        Skip to content
      </a>
      <aside className="side">
        <div className="side-top">
          <Link to="/" className="brand" aria-label="Millrace, home">
            <Mark />
            <span className="brand-name">Millrace</span>
          </Link>
          <OrgMenu onSwitch={onSwitch} />
        </div>
        <button
          type="button"
          className="jump"
          aria-keyshortcuts={ariaKeys(shortcuts.palette.keys)}
          onPointerEnter={() => void loadPalette()}
          onClick={() => setPalette(true)}
        >
          <SearchIcon className="icon is-sm" aria-hidden="true" />
          <span className="jump-label">Search or run…</span>
          <Keys of={shortcuts.palette.keys} />
        </button>
        <nav aria-label="Main">
          {groups.map(({ head, places }) => (
            <div className="nav-group" key={head}>
              {head !== "" && <h2 className="nav-head">{head}</h2>}
              {places.map((place) => (
                <NavLink key={place.to} place={place} rail={rail} count={counts?.[place.to]} />
              ))}
            </div>
          ))}
        </nav>
        <div className="side-foot">
          {foot}
          <div className="me">
            <UserMenu onSignOut={onSignOut} />
            <IconButton
              icon={SunMoon}
              size="sm"
              label={themeWord[theme]}
              keys={shortcuts.theme.keys}
              onClick={switchTheme}
            />
          </div>
        </div>
      </aside>
      <main className="main" id="main" tabIndex={-1}>
        <ConnectionBanner />
        {/* Another zone writes every time anew. */}
        <Fragment key={zone}>
          <HeadActs value={pageCommands}>{children}</HeadActs>
        </Fragment>
      </main>
      <BottomBar onMore={() => setPalette(true)} />
      <Suspense fallback={palette && <PaletteComes text={typed} onText={setTyped} />}>
        {palette && (
          <Palette
            first={typed}
            open
            onClose={() => {
              setPalette(false);
              setTyped("");
            }}
            acts={[
              { id: "theme", label: "Switch theme", icon: SunMoon, onSelect: switchTheme },
              ...(onSignOut === undefined
                ? []
                : [{ id: "out", label: "Sign out", icon: LogOut, onSelect: onSignOut }]),
            ]}
            onSheet={() => setSheet(true)}
          />
        )}
        {sheet && <ShortcutSheet open onClose={() => setSheet(false)} />}
      </Suspense>
    </div>
  );
}

/** In the place of the palette until its script is there: no letter is lost. */
function PaletteComes({ text, onText }: { text: string; onText: (text: string) => void }) {
  return (
    <div className="palette">
      <div className="palette-input">
        <SearchIcon className="icon" aria-hidden="true" />
        <input
          // biome-ignore lint/a11y/noAutofocus: it was opened to type into
          autoFocus
          aria-label="Search or run a command"
          value={text}
          onChange={(event) => onText(event.target.value)}
        />
      </div>
    </div>
  );
}

type Count = { n: number; alarm?: boolean; says: string };

function NavLink({
  place,
  rail,
  count,
}: {
  place: Place;
  rail: boolean;
  count: Count | undefined;
}) {
  const { icon: Icon, to, label, shortcut } = place;
  const isHeld = useLocation({ select: ({ pathname }) => isHeldBy(place, pathname) });
  const link = (
    <Link
      to={to}
      className="nav"
      aria-current={isHeld ? "true" : undefined}
      activeOptions={{ exact: to === "/", includeSearch: false }}
    >
      <Icon className="icon" aria-hidden="true" />
      <span className="nav-label">{label}</span>
      {count !== undefined && count.n > 0 && (
        <span className={cn("nav-n", count.alarm && "is-alarm")}>
          <span aria-hidden="true">{count.n > 99 ? "99+" : count.n}</span>
          <span className="sr">, {count.says}</span>
        </span>
      )}
    </Link>
  );
  if (!rail) return link;
  return (
    <Tip text={label} keys={shortcut === undefined ? undefined : shortcuts[shortcut].keys}>
      {link}
    </Tip>
  );
}

function OrgMenu({ onSwitch }: { onSwitch: ((org: string) => void) | undefined }) {
  const { org, orgs } = useSession();
  if (orgs.length < 2 || onSwitch === undefined) return null;
  return (
    <Menu
      label="Organizations"
      trigger={
        <IconButton
          icon={ChevronsUpDown}
          label={`Organization: ${org.name}. Switch`}
          className="org-button"
        />
      }
    >
      <MenuHead>Organization</MenuHead>
      {orgs.map(({ id, name, role }) => (
        <MenuItem key={id} onSelect={() => onSwitch(id)}>
          <span className="option-tick" aria-hidden="true">
            {id === org.id ? "✓" : ""}
          </span>
          {name}
          <span className="end dim small">{role}</span>
        </MenuItem>
      ))}
    </Menu>
  );
}

function UserMenu({ onSignOut }: { onSignOut: (() => void) | undefined }) {
  const { user, org, role } = useSession();
  const zone = useRemembered("zone");
  return (
    <Menu
      label="Account"
      align="start"
      trigger={
        <button type="button" className="me-name">
          <span className="avatar" aria-hidden="true">
            {monogram(user.name).toUpperCase()}
          </span>
          <span className="me-label cut">{user.name}</span>
        </button>
      }
    >
      <MenuHead>
        {user.email} · {role} of {org.name}
      </MenuHead>
      <MenuTick checked={zone === "utc"} onChange={(on) => remember("zone", on ? "utc" : "")}>
        Times in UTC
      </MenuTick>
      {onSignOut !== undefined && (
        <>
          <MenuLine />
          <MenuItem icon={LogOut} onSelect={onSignOut}>
            Sign out
          </MenuItem>
        </>
      )}
    </Menu>
  );
}

/** Four places and the rest, below 760 px; the rest is marked on a page of none of the four. */
function BottomBar({ onMore }: { onMore: () => void }) {
  const places = groups.flatMap((group) => group.places).slice(0, 4);
  const marked = useLocation({
    select: ({ pathname }) =>
      places.find((place) =>
        // Pages that Home holds are found under More.
        place.to === "/" ? pathname === "/" : isMarkedOn(place, pathname),
      )?.to,
  });
  return (
    <nav className="bottom-bar" aria-label="Main, narrow">
      {places.map(({ to, label, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          aria-current={to === marked ? "true" : undefined}
          activeOptions={{ exact: to === "/", includeSearch: false }}
        >
          <Icon className="icon" aria-hidden="true" />
          <span>{label}</span>
        </Link>
      ))}
      <button
        type="button"
        aria-current={marked === undefined ? "true" : undefined}
        onClick={onMore}
      >
        <MenuIcon className="icon" aria-hidden="true" />
        <span>More</span>
      </button>
    </nav>
  );
}
