/**
 * Preferences of a person, stored by the server for all browsers; a browser begins with its own
 * copy.
 */

import { changeOver, client, data } from "~/api/client";
import { asJsonObject, objectOf } from "~/api/json";

type Preferences = Record<string, unknown>;

let asked: string | undefined;
let known: Promise<Preferences> | undefined;
let writing: Promise<unknown> = Promise.resolve();

const ask = () => client.GET("/v1/users/me/preferences");

/** Asks once for each person; a server that does not answer changes nothing. */
export function preferencesOf(person: string): Promise<Preferences> {
  if (asked !== person) {
    asked = person;
    known = data(ask()).then(({ preferences }) => objectOf(preferences));
    known.catch(() => {
      known = undefined;
      asked = undefined;
    });
  }
  return known ?? Promise.resolve({});
}

/** Keeps one preference beside the others as they are now, one write after the other. */
export function prefer(name: string, value: string): void {
  if (known === undefined) return;
  known = known.then((before) => ({ ...before, [name]: value }));
  // Where the preferences cannot be read, whoever asked for them learns it.
  known.catch(() => undefined);
  writing = writing
    // A write replaces all of them, also those that another browser changed meanwhile.
    .then(() =>
      changeOver(ask, (stored, header) => {
        const preferences = asJsonObject({ ...objectOf(stored.preferences), [name]: value });
        return data(
          client.PUT("/v1/users/me/preferences", { params: { header }, body: { preferences } }),
        );
      }),
    )
    // The browser remembers it all the same.
    .catch(() => undefined);
}
