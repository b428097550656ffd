/** Nonce of the page's policy, for style elements that a component makes. */

import { createContext } from "react";

/** Nonce of the policy, for style elements that a component must make. */
export const NonceContext = createContext("");
