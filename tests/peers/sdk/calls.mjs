// A client written for the hosted platform, pointed here by its constructor's `baseUrl`: what its calls give, as JSON.
import { PipedreamClient } from "@pipedream/sdk";

const { baseUrl, clientId, clientSecret, projectId } = JSON.parse(process.env.PEER);
const client = new PipedreamClient({ baseUrl, clientId, clientSecret, projectId, projectEnvironment: "development" });
const externalUserId = "user-7";
const calls = {
  token: async () => typeof (await client.rawAccessToken),
  accounts: async () => {
    const page = await client.accounts.list({ app: "acme", limit: 1 });
    return { count: page.data.length, name: page.data[0].name, app: page.data[0].app.nameSlug };
  },
  pages: async () => {
    const names = [];
    for await (const account of await client.accounts.list({ limit: 1 })) names.push(account.name);
    return names.sort();
  },
  account: async () => (await client.accounts.retrieve((await client.accounts.list({ limit: 1, app: "acme" })).data[0].id)).name,
  apps: async () => (await client.apps.list({ q: "acme" })).data.map((app) => app.nameSlug),
  configure: async () => (await client.actions.configureProp({ id: "sdk-greet", externalUserId, propName: "whom", configuredProps: {} })).options,
  reload: async () => (await client.components.reloadProps({ id: "sdk-greet", externalUserId, configuredProps: { whom: "a" } })).errors,
  run: async () => {
    const { exports, ret, os } = await client.actions.run({ id: "sdk-greet", externalUserId, configuredProps: { whom: "you" } });
    return { exports, ret, os: os.map((o) => o.msg ?? o.err?.message) };
  },
  fails: async () => (await client.actions.run({ id: "sdk-greet", externalUserId, configuredProps: { whom: "nobody" } })).os.at(-1).err,
  deploy: async () => {
    const { data } = await client.triggers.deploy({ id: "sdk-orders", externalUserId, configuredProps: {} });
    const listed = (await client.deployedTriggers.list({ externalUserId })).data;
    const events = await client.deployedTriggers.listEvents(data.id, { externalUserId, n: 5 });
    await client.deployedTriggers.delete(data.id, { externalUserId });
    return { active: data.active, listed: listed.some((t) => t.id === data.id), events: events.data.map((e) => e.e) };
  },
  missing: async () => client.actions.run({ id: "sdk-nothing", externalUserId }),
  proxy: async () => client.proxy.get({ url: "https://example.com/", externalUserId, accountId: "apn_x" }),
  tokens: async () => client.tokens.create({ externalUserId }),
};
const gave = {};
for (const [name, call] of Object.entries(calls)) {
  gave[name] = await call().then((value) => ({ value }), (error) => ({ status: error.statusCode ?? null, message: String(error.message).slice(0, 200) }));
}
console.log(JSON.stringify(gave));
