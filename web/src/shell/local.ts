/** Local storage of this browser. A browser that stores nothing (private windows) is no error. */

export function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function write(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Nothing is kept, and the page works all the same.
  }
}

/** Names of all that is remembered. */
export function names(): string[] {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}
