/**
 * Address of the page that is open, as it is handed to somebody else: it names the organization, so
 * that it leads there whichever organization the reader is in.
 */
export function linkTo(address: string, org: string): string {
  const url = new URL(address);
  url.searchParams.set("org", org);
  return url.href;
}
