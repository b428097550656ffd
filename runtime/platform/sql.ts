// Methods that database apps spread into their own and override.
import { ConfigurationError } from "./errors.ts";

const missing = (name: string) => (): never => {
  throw new ConfigurationError(`${name} not implemented`);
};

/** For apps whose queries go through an address of the host's own. */
export const sqlProxy = {
  methods: {
    getClientConfiguration: missing("getClientConfiguration"),
    executeQuery: missing("executeQuery"),
    proxyAdapter: missing("proxyAdapter"),
  },
};

/** For apps that stand behind a prop of the type `sql`. */
export const sqlProp = {
  methods: {
    executeQueryAdapter: missing("executeQueryAdapter"),
    getSchema: missing("getSchema"),
  },
};
