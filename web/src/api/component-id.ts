/** Ids of components: an action that was read from an address has an id and may have no key. */
export function isComponentId(component: string): boolean {
  return /^sc_[0-9A-Za-z]{12}$/.test(component);
}
