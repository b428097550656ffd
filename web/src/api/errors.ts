/** Refusals of the server and lost connections, as one class that every page can show. */

export class ApiError extends Error {
  override name = "ApiError";

  constructor(
    /** HTTP status; 0 when no answer came. */
    readonly status: number,
    /** Word of the server's list of refusals, or `no_connection`. */
    readonly code: string,
    message: string,
    readonly details: Record<string, unknown> = {},
    readonly requestId?: string,
  ) {
    super(message);
  }

  /** The field that the server names as the cause, if it names one. */
  get field(): string | undefined {
    const { field } = this.details;
    return typeof field === "string" ? field : undefined;
  }

  get isConnection(): boolean {
    return this.status === 0;
  }
}

/** A sentence for people: what failed, and the request's id where the fault is the server's. */
export function sentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ApiError && error.status >= 500 && error.requestId !== undefined) {
    return `${capital(error.message)} Request ${error.requestId}.`;
  }
  return capital(error.message);
}

function capital(text: string): string {
  const head = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?`]$/.test(head) ? head : `${head}.`;
}
