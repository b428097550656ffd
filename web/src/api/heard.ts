/** Handlers of the shell for answers, lost connections, streams and sessions that ended. */

type Heard = {
  onAnswer: () => void;
  onLost: () => void;
  /** A stream ended, as it does when the server stops. */
  onStreamEnd: () => void;
  onSignedOut: () => void;
};

const nothing = () => {};
export const heard: Heard = {
  onAnswer: nothing,
  onLost: nothing,
  onStreamEnd: nothing,
  onSignedOut: nothing,
};

export function observe(handlers: Partial<Heard>): void {
  Object.assign(heard, handlers);
}

export function streamEnded(): void {
  heard.onStreamEnd();
}
