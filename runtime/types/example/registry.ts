// What components of the public registry are written like. Each of these is taken, in strict mode too.
import { axios, cloneSafe, HTTP_METHODS, jsonStringifySafe, type AxiosRequestConfig, type DbInfo } from "@pipedream/platform";
import {
  defineAction,
  defineApp,
  defineSource,
  type ActionRunOptions,
  type EmitMetadata,
  type HTTPResponse,
  type IFile,
  type JSONValue,
  type Methods,
  type OptionsMethodArgs,
  type Pipedream,
  type PropDefinition,
  type SendConfigHTTP,
  type SourceHttpRunOptions,
  type SourcePropDefinitions,
  type UserProp,
} from "@pipedream/types";

// Types of the platform by the names that it exports them under.
interface RequestParams {
  $?: Pipedream;
  method?: string;
  params?: Record<string, JSONValue>;
}
export const request: SendConfigHTTP = { method: "POST", url: "https://example.com", data: 1 };
export const named: [Methods, SourcePropDefinitions, UserProp, DbInfo] = [{}, {}, { type: "string", optional: true }, {}];
export const descriptor = (file: IFile): Promise<string> => file.toEncodedString("base64");
export const verbs: string[] = HTTP_METHODS;
// What is read of a value that is declared by such a name.
export function read(sent: SendConfigHTTP, metadata: EmitMetadata, answer: HTTPResponse, reference: PropDefinition, { query }: OptionsMethodArgs): unknown[] {
  const status: number = answer.status;
  const later: number = (metadata.ts ?? 0) + 1;
  const lower: string = query.toLowerCase();
  return [sent.data.id, sent.method === "GET", status, later, lower, ...reference.slice(1)];
}
export async function stored(file: IFile, from: string): Promise<string[]> {
  const copy = await file.fromUrl(from, { headers: { authorization: "x" } });
  const lines = await copy.createReadStream().then((stream) => stream.setEncoding("utf8").toArray());
  return [...lines, copy.toJSON().path];
}

interface Choice {
  label: string;
  value: string | number;
  hint?: string;
}
interface Choices {
  options: Choice[];
  context: { cursor?: string };
}

const mill = defineApp({
  type: "app",
  app: "mill",
  propDefinitions: {
    // Options whose results are declared by the author, or not known at all.
    gate: {
      type: "string",
      label: "Gate",
      async options({ prevContext }: OptionsMethodArgs): Promise<Choices> {
        const { gates, cursor } = await this.request({ params: { cursor: prevContext?.cursor } });
        return { options: gates, context: { cursor } };
      },
    },
    wheel: {
      type: "integer",
      label: "Wheel",
      async options({ gateId }: { gateId: string }): Promise<Choice[]> {
        return this.wheels(gateId);
      },
    },
  },
  methods: {
    // What axios gives is of any type, also where the configuration is not known.
    async request({ $, ...args }: RequestParams): Promise<any> {
      const config: AxiosRequestConfig = { url: `https://${this.$auth.domain}/`, ...args };
      const answer = await axios($ ?? this, config);
      if (answer.code !== 0) throw new Error(answer.reason);
      const whole: { turns: number } = await axios($, { ...config, returnFullResponse: true });
      return { ...answer, ...whole };
    },
    wheels(gateId: string): Promise<object> {
      return this.request({ params: { gateId } });
    },
    async turn(wheel: string): Promise<void> {
      await this.request({ method: "POST", params: { wheel } });
    },
  },
});

// Props that code puts together: their literals are widened, and a reference is a list.
const common = {
  props: {
    mill,
    db: "$.service.db",
    timer: { type: "$.interface.timer", default: { intervalSeconds: 900 } },
    gate: { propDefinition: [mill, "gate"] },
  },
  methods: {
    since(): string {
      return (this as any).db.get("since");
    },
    keep(this: any, at: string) {
      this.db.set("since", at);
    },
  },
};
export const reference: PropDefinition = [mill, "wheel", (configured) => ({ gateId: configured.gate })];

export const source = defineSource({
  ...common,
  key: "mill-turned",
  name: "Turned",
  version: "0.0.1",
  type: "source",
  dedupe: "unique",
  props: { ...common.props, wheel: { propDefinition: [mill, "wheel", ({ gate }: { gate: string }) => ({ gateId: gate })] } },
  hooks: {
    async deploy() {
      await this.process(await this.mill.wheels(this.gate));
    },
  },
  methods: {
    ...common.methods,
    async process(wheels: { at: string }[]): Promise<void> {
      // A time as the service wrote it.
      for (const wheel of wheels) this.$emit(wheel, { id: wheel.at, summary: this.since(), ts: wheel.at });
    },
  },
  async run({ headers, body }: SourceHttpRunOptions) {
    if (headers["x-secret"] !== "s") return;
    await this.process(body.wheels);
    this.keep(this.timer.intervalSeconds);
  },
});

export const action = defineAction({
  key: "mill-turn",
  name: "Turn",
  version: "0.0.1",
  type: "action",
  props: {
    mill,
    wheel: { propDefinition: [mill, "wheel"] },
    times: { type: "string", optional: true, withLabel: true },
    tags: { type: "string[]", optional: true, async options({ page }) { return [{ label: `${page}`, value: "a", more: true }]; } },
  },
  async run({ $ }: ActionRunOptions): Promise<string> {
    // Values that are not what their prop says: a label beside them, or none at all.
    const times: number = this.times;
    const tags: string = this.tags;
    // A method of an app gives more than it is declared to give.
    const turned = await this.mill.turn(this.wheel);
    if (turned.data.length > times) $.flow.delay(1000, { turned });
    const left: number = (await this.mill.wheels(tags)).left;
    $.export("$summary", jsonStringifySafe(cloneSafe({ left }), new Set()) ?? "");
    return turned.data.id;
  },
});
