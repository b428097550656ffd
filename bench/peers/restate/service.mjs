import * as restate from "@restatedev/restate-sdk";
const bench = restate.service({ name: "bench", handlers: { hook: async (ctx, body) => ctx.run("step", () => ({ n: body.n + 1 })) } });
restate.serve({ services: [bench], port: Number(process.env.PORT) });
