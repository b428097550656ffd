// `this`: a fresh, writable instance for each run. Its own enumerable keys are props with a value and methods, nothing
// else; methods are bound when it is made, for code hands them out as bare functions.
import { resolveProps, plainValue, type ResolvedProp } from "./props.ts";
import type { Bag, Component, Fn } from "./types.ts";

/** What a call gives an instance beside its props. */
export interface Services {
  db?: () => object;
  http?: (endpoint: string) => object;
  emit?: Fn;
  execute?: (request: unknown) => Promise<unknown>;
}

/** A module's component, prepared once. */
export class Prepared {
  readonly component: Component;
  readonly props: ResolvedProp[];
  readonly #methods: [string, Fn][];

  constructor(component: Component) {
    this.component = component;
    this.props = resolveProps(component.props);
    this.#methods = functionsOf(component.methods);
  }

  /** `values`: configured values by prop name. */
  instance(values: Bag, services: Services): Bag {
    const self: Bag = {};
    if (services.emit) Object.defineProperty(self, "$emit", { value: services.emit, writable: true, configurable: true, enumerable: false });
    for (const prop of this.props) {
      const value = bindProp(prop, values[prop.name], services);
      if (value !== undefined) self[prop.name] = value;
    }
    // Values of props that additionalProps declared.
    for (const [name, value] of Object.entries(values)) {
      if (!(name in self) && value !== undefined && !this.props.some((p) => p.name === name)) self[name] = plainValue(value);
    }
    for (const [name, method] of this.#methods) self[name] = method.bind(self);
    return self;
  }
}

export function functionsOf(methods: unknown): [string, Fn][] {
  if (methods === null || typeof methods !== "object") return [];
  return Object.entries(methods).filter((entry): entry is [string, Fn] => typeof entry[1] === "function");
}

function bindProp(prop: ResolvedProp, value: unknown, services: Services): unknown {
  switch (prop.type) {
    case "app":
      return bindApp(prop.app ?? prop.definition, value);
    case "$.service.db":
      return services.db?.();
    case "$.interface.http":
      return services.http?.(String((value as Bag | undefined)?.["endpoint"] ?? ""));
    case "$.interface.timer":
      return { type: prop.type, ...(value !== null && typeof value === "object" ? value : {}) };
    case "http_request":
      return value === undefined ? undefined : { execute: () => services.execute?.(value) };
    case "alert":
      return undefined;
    default:
      return value === undefined || value === null ? undefined : plainValue(value);
  }
}

/** An app: its own methods bound to itself, `$auth` not enumerable, the module's object untouched. */
export function bindApp(definition: Bag, value: unknown): Bag {
  const app: Bag = {};
  const auth = value !== null && typeof value === "object" ? ((value as Bag)["$auth"] ?? {}) : {};
  Object.defineProperty(app, "$auth", { value: auth, writable: true, configurable: true, enumerable: false });
  Object.defineProperty(app, "propDefinitions", { value: definition["propDefinitions"], writable: true, configurable: true, enumerable: false });
  for (const [name, method] of functionsOf(definition["methods"])) app[name] = method.bind(app);
  return app;
}
