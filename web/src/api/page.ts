/** Document of the page: the nonce for generated styles. */

/** Nonce of the policy's `style-src`; CodeMirror's one style element carries it. */
export const nonce: string =
  document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
