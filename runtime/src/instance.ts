// `this`: a fresh, writable instance for each run. Its own enumerable keys are props with a value
// and methods, nothing else; methods are bound when it is made, as code passes them on as bare
// functions.
import { isObject, ownOf, plainValue, put, resolveProps, type Level, type ResolvedProp } from "./props.ts";
import type { Bag, Component, Fn } from "./types.ts";

/** What a call gives an instance beside its props. */
export interface Services {
  db?: () => object;
  http?: (endpoint: string) => object;
  emit?: Fn;
  execute?: (request: unknown) => Promise<unknown>;
  dataStore?: (store: unknown) => object;
  fileDir?: (prop: ResolvedProp, store: string) => object;
  /** In a run, a store or request that is needed and has no value is there and says so; forms see that it is not chosen yet. */
  runs?: boolean;
  /** Only this run knows which props there are: additionalProps was asked with the text of an expression. */
  undecided?: boolean;
}

/** A component's or app's `methods`: functions to bind, and whatever else stands among them. */
interface Members {
  functions: [string, Fn][];
  others: [string, PropertyDescriptor][];
}

/** A module's component, prepared once. */
export class Prepared {
  readonly component: Component;
  readonly props: ResolvedProp[];
  readonly #names: Set<string>;
  readonly #methods: Members;
  /** Apps of props that only additionalProps declares, by the prop's name: its definitions come back without methods. */
  readonly #foundApps = new Map<string, Bag>();

  constructor(component: Component) {
    this.component = component;
    this.props = resolveProps(component.props);
    this.#names = new Set(this.props.map((prop) => prop.name));
    this.#methods = membersOf(component.methods);
  }

  /** `values`: configured values by prop name; `dynamic`: definitions that additionalProps made, as it described them; no list where it was not asked. */
  instance(values: Bag, services: Services, dynamic?: unknown): Bag {
    const self: Bag = {};
    if (services.emit) hidden(self, "$emit", services.emit);
    const props = this.propsWith(dynamic);
    for (const prop of props) {
      const value = bindProp(prop, ownOf(values, prop.name), services);
      if (value !== undefined) put(self, prop.name, value);
    }
    if (this.#isOpen(services, dynamic)) {
      for (const name in values) {
        const value = values[name];
        if (value !== undefined && value !== null && !Object.hasOwn(self, name) && !this.#names.has(name)) put(self, name, plainValue(value, true));
      }
    }
    bindMembers(self, this.#methods);
    // A prop without a value is undefined, also where all objects have something of its name.
    for (const { name } of props) if (name in Object.prototype && !Object.hasOwn(self, name)) hidden(self, name, undefined);
    return self;
  }

  /**
   * Whether values without a definition may be of props that additionalProps makes: it has not been asked, or not with the
   * values of this run, or a form is about to ask it. In all other cases they are values of props that are gone, and code that sends on what `this` has
   * would send them too.
   */
  #isOpen(services: Services, dynamic: unknown): boolean {
    return typeof this.component.additionalProps === "function" && (services.undecided === true || !(services.runs === true && Array.isArray(dynamic)));
  }

  /** The props with those that additionalProps made, which may stand in for one of the component's own. */
  propsWith(dynamic: unknown): ResolvedProp[] {
    if (!Array.isArray(dynamic) || dynamic.length === 0) return this.props;
    const made = (dynamic as Bag[])
      .filter((one) => typeof one?.["name"] === "string" && typeof one["type"] === "string")
      .map((one): ResolvedProp => {
        const own = this.props.find((prop) => prop.name === one["name"]);
        const app = isAppProp(one) ? (own?.app ?? this.#appOf(one)) : undefined;
        return { name: String(one["name"]), type: String(one["type"]), definition: one, app, levels: [] };
      });
    const names = new Set(made.map((prop) => prop.name));
    return [...this.props.filter((prop) => !names.has(prop.name)), ...made];
  }

  /** The app of a described prop, with its methods: that of its prop when additionalProps last ran, else any of that slug. */
  #appOf({ name, app }: Bag): Bag | undefined {
    const levels = this.props.flatMap((prop) => prop.levels.map((level) => level.app));
    return [this.#foundApps.get(String(name)), ...this.props.map((prop) => prop.app), ...levels].find((one): one is Bag => isObject(one) && one["app"] === app);
  }

  /** Remembers the apps of props that additionalProps declared. */
  learnApps(all: ResolvedProp[]): void {
    for (const { name, app } of all) if (app && !this.#names.has(name)) this.#foundApps.set(name, app);
  }

  /** Names of described app props whose methods are not known. */
  unknownApps(dynamic: unknown): string[] {
    if (typeof this.component.additionalProps !== "function" || !Array.isArray(dynamic)) return [];
    return (dynamic as Bag[]).filter((one) => isAppProp(one) && !this.#names.has(String(one["name"])) && !this.#appOf(one)).map((one) => String(one["name"]));
  }
}

const isAppProp = (described: Bag): boolean => described?.["type"] === "app" || described?.["type"] === "app[]";

export function functionsOf(methods: unknown): [string, Fn][] {
  return membersOf(methods).functions;
}

function membersOf(methods: unknown): Members {
  const members: Members = { functions: [], others: [] };
  if (methods === null || typeof methods !== "object") return members;
  for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(methods))) {
    if (!descriptor.enumerable) continue;
    if (typeof descriptor.value === "function") members.functions.push([name, descriptor.value as Fn]);
    else members.others.push([name, descriptor]);
  }
  return members;
}

function bindMembers(self: Bag, members: Members): void {
  for (const [name, method] of members.functions) put(self, name, method.bind(self));
  // Constants and getters among methods are read through `this` as well, but are none of its keys.
  for (const [name, descriptor] of members.others) {
    if (!Object.hasOwn(self, name)) Object.defineProperty(self, name, { ...descriptor, enumerable: false, configurable: true });
  }
}

function hidden(target: Bag, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
}

function bindProp(prop: ResolvedProp, value: unknown, services: Services): unknown {
  switch (prop.type) {
    case "app":
      // A required app without a value is one that needs no account: the server refuses the others.
      if ((value === undefined || value === null) && prop.definition["optional"] === true) return undefined;
      return bindApp(prop.app ?? prop.definition, value);
    case "app[]":
      return Array.isArray(value) ? value.map((one) => bindApp(prop.app ?? prop.definition, one)) : undefined;
    case "$.service.db":
      return services.db?.();
    case "$.interface.http":
      return services.http?.(String((value as Bag | undefined)?.["endpoint"] ?? ""));
    case "$.interface.timer":
      return { type: prop.type, ...(value !== null && typeof value === "object" ? value : {}) };
    case "http_request":
      if (value === undefined || value === null) return lacks(prop, services) ? { execute: () => Promise.reject(noRequest(prop)) } : undefined;
      return { execute: () => services.execute?.(value) };
    case "data_store":
    case "datastore":
      if (value === undefined || value === null) return lacks(prop, services) ? services.dataStore?.("") : undefined;
      return services.dataStore?.(plainValue(value, false));
    case "dir": {
      const store = plainValue(value, false);
      if (store === undefined || store === null || store === "") return lacks(prop, services) ? services.fileDir?.(prop, "") : undefined;
      return services.fileDir && typeof store === "string" ? services.fileDir(prop, store) : store;
    }
    case "sql":
      return sqlQuery(prop, value);
    case "$.interface.apphook":
      return { type: prop.type };
    case "alert":
      return undefined;
    default:
      return value === undefined || value === null ? undefined : plainValue(value, prop.definition["withLabel"] === true);
  }
}

const lacks = (prop: ResolvedProp, services: Services): boolean => services.runs === true && prop.definition["optional"] !== true;

const noRequest = (prop: ResolvedProp): Error => new Error(`the prop \`${prop.name}\` has no request; configure one: an object with \`url\``);

/** A query as components read it: `{app, query, params}`, also where only its text was given. */
function sqlQuery(prop: ResolvedProp, value: unknown): unknown {
  const given = plainValue(value, false);
  if (given === undefined || given === null || given === "") return undefined;
  const { app } = (prop.definition["auth"] ?? {}) as Bag;
  const bag = typeof given === "object" ? (given as Bag) : { query: given };
  return { app, ...bag, params: bag["params"] ?? [] };
}

/** Gives an instance the apps that additionalProps has just declared, whose methods it could not have before. */
export function bindApps(self: Bag, all: ResolvedProp[], prepared: Prepared, values: Bag): void {
  for (const prop of all) {
    if (!prop.app || prepared.props.some((own) => own.name === prop.name)) continue;
    const app = bindProp(prop, ownOf(values, prop.name), {});
    if (app !== undefined) put(self, prop.name, app);
  }
}

/** `this` of what stands in a definition: of an app's it is the app, without an account where the component has no prop of it; else the component. */
export function ownerOf(self: Bag, level: Level | undefined): unknown {
  return level ? (ownOf(self, level.appProp) ?? (isObject(level.app) ? bindApp(level.app, undefined) : self)) : self;
}

const appMembers = new WeakMap<object, Members>();

/** An app: its own methods bound to itself, `$auth` not enumerable, the module's object untouched. */
export function bindApp(definition: Bag, value: unknown): Bag {
  const app: Bag = {};
  hidden(app, "$auth", value !== null && typeof value === "object" ? ((value as Bag)["$auth"] ?? {}) : {});
  hidden(app, "propDefinitions", definition["propDefinitions"]);
  let members = appMembers.get(definition);
  if (!members) {
    members = membersOf(definition["methods"]);
    appMembers.set(definition, members);
  }
  bindMembers(app, members);
  return app;
}
