/** Result of a provider's sign-in, read from the address before the router rewrites it. */

export type Brought = { state: string; code: string } | { refusal: string };

let brought = read();

function read(): Brought | undefined {
  if (window.location.pathname !== "/login") return undefined;
  const asked = new URLSearchParams(window.location.search);
  const [state, code, error] = [asked.get("state"), asked.get("code"), asked.get("error")];
  if (state === null) return undefined;
  if (code !== null) return { state, code };
  return error === null ? undefined : { refusal: asked.get("error_description") ?? error };
}

/** Each is good once. */
export function takeBrought(): Brought | undefined {
  const taken = brought;
  brought = undefined;
  return taken;
}
