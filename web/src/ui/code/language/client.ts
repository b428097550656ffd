/** The page's side of the language service: one worker for all editors, begun with the first focus. */

import type { Answers, Question, TypeFiles } from "./core";
import type { Asked } from "./worker";
import address from "./worker.ts?worker&url";

/** After the last editor is gone: who opens another step begins no other worker. */
const KEEP_MS = 60_000;

type Reply<A> = { id: number } & ({ answer: A } | { failed: string });

export class LanguageClient {
  private readonly worker: Worker;
  /** How each question that is not answered yet is refused. */
  private readonly waiting = new Map<number, (error: Error) => void>();
  private types: TypeFiles | undefined;
  private last = 0;
  private gone: Error | undefined;

  constructor() {
    this.worker = new Worker(trusted(address), { type: "module", name: "types" });
    this.worker.addEventListener("error", () => this.fail(new Error("the worker did not start")));
  }

  private fail(error: Error): void {
    this.gone = error;
    for (const refuse of this.waiting.values()) refuse(error);
    this.waiting.clear();
  }

  ask<K extends Question["kind"]>(
    code: string,
    /** Absent: those of the last question. */
    types: TypeFiles | undefined,
    question: Extract<Question, { kind: K }>,
  ): Promise<Answers[K]> {
    if (this.gone !== undefined) return Promise.reject(this.gone);
    if (types !== undefined && types !== this.types) {
      this.types = types;
      this.send({ types });
    }
    this.last += 1;
    const id = this.last;
    return new Promise((resolve, reject) => {
      const took = ({ data }: MessageEvent<Reply<Answers[K]>>) => {
        if (data.id !== id) return;
        this.worker.removeEventListener("message", took);
        this.waiting.delete(id);
        if ("answer" in data) resolve(data.answer);
        else reject(new Error(data.failed));
      };
      this.worker.addEventListener("message", took);
      this.waiting.set(id, reject);
      this.send({ id, code, question });
    });
  }

  private send(asked: Asked): void {
    this.worker.postMessage(asked);
  }

  end(): void {
    this.fail(new Error("the worker ended"));
    this.worker.terminate();
  }
}

let shared: LanguageClient | undefined;
let users = 0;
let ends: ReturnType<typeof setTimeout> | undefined;

/** The worker, and how to let it go. */
export function openLanguage(): { client: LanguageClient; release: () => void } {
  clearTimeout(ends);
  shared ??= new LanguageClient();
  users += 1;
  const release = () => {
    users -= 1;
    if (users > 0) return;
    ends = setTimeout(() => {
      shared?.end();
      shared = undefined;
    }, KEEP_MS);
  };
  return { client: shared, release };
}

/** Line of the first thing in the code that TypeScript cannot read. */
export async function unreadableLine(code: string): Promise<number | undefined> {
  const { client, release } = openLanguage();
  try {
    return (await client.ask(code, undefined, { kind: "unreadable" })) ?? undefined;
  } finally {
    release();
  }
}

/** The page's policy takes addresses of scripts only from those who say that they are theirs: this one is of the build. */
function trusted(script: string): string {
  const types: unknown = Reflect.get(globalThis, "trustedTypes");
  if (!isFactory(types)) return script;
  const policy = types.createPolicy("millrace-worker", {
    createScriptURL: (given) => {
      if (given !== address) throw new TypeError(`${given} is no worker of this application`);
      return given;
    },
  });
  return policy.createScriptURL(script);
}

type Factory = {
  createPolicy: (
    name: string,
    rules: { createScriptURL: (given: string) => string },
  ) => { createScriptURL: (given: string) => string };
};

function isFactory(given: unknown): given is Factory {
  return typeof given === "object" && given !== null && "createPolicy" in given;
}
