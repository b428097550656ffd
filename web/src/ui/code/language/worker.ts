/** Worker of the language service: TypeScript is large, and its work takes long. */

import ts from "typescript";
import { languageService, type Question, type TypeFiles } from "./core";
import { libraries } from "./libraries";

const service = languageService(ts, libraries);

export type Asked = { types: TypeFiles } | { id: number; code: string; question: Question };

self.addEventListener("message", ({ data }: MessageEvent<Asked>) => {
  if ("types" in data) {
    service.setTypes(data.types);
    return;
  }
  const { id, code, question } = data;
  try {
    self.postMessage({ id, answer: service.ask(code, question) });
  } catch (error) {
    // A fault of the service: the code is edited without it.
    self.postMessage({ id, failed: String(error) });
  }
});
