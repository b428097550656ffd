/**
 * Version that an address compares; apart from the page, as every address is read at the first
 * view.
 */

export function compared(given: Record<string, unknown>): { compare?: string } {
  return typeof given.compare === "string" ? { compare: given.compare } : {};
}
