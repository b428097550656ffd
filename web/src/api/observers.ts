/** Handlers of the shell for answers, lost connections, streams and sessions that ended. */

type Observers = {
  onAnswer: () => void;
  onLost: () => void;
  /** A stream ended, as it does when the server stops. */
  onStreamEnd: () => void;
  onSignedOut: () => void;
};

const nothing = () => {};
export const observers: Observers = {
  onAnswer: nothing,
  onLost: nothing,
  onStreamEnd: nothing,
  onSignedOut: nothing,
};

export function observe(handlers: Partial<Observers>): void {
  Object.assign(observers, handlers);
}

export function streamEnded(): void {
  observers.onStreamEnd();
}
