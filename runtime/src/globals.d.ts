// Members of Node's `process` that its type declarations leave out.

declare namespace NodeJS {
  interface Process {
    /** Ends the process without listeners; `process.exit` belongs to user code and throws. */
    reallyExit(code: number): never;
  }
}
