/** Id of the element of a prop's field, for links and focus. */
export function fieldId(name: string): string {
  return `prop-${encodeURIComponent(name)}`;
}
