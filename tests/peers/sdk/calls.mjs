// A client written for the hosted platform, pointed here by its constructor's `baseUrl`: what its calls give, as JSON.
import { PipedreamClient } from "@pipedream/sdk";

const { baseUrl, clientId, clientSecret, projectId, workflowId } = JSON.parse(process.env.PEER);
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
  catalogue: async () => {
    const actions = [];
    for await (const action of await client.actions.list({ app: undefined, limit: 1 })) actions.push(action.key);
    const triggers = (await client.triggers.list({ q: "orders" })).data.map((trigger) => [trigger.key, trigger.componentType]);
    const found = (await client.components.list({ q: "greet" })).data[0];
    const one = (await client.actions.retrieve("sdk-greet")).data;
    return { actions, triggers, found: found.configurableProps.map((prop) => prop.name), one: [one.key, one.name, one.version] };
  },
  change: async () => {
    const { data } = await client.triggers.deploy({ id: "sdk-orders", externalUserId, configuredProps: {}, webhookUrl: "http://127.0.0.1:9/hook" });
    const of = { externalUserId };
    const changed = (await client.deployedTriggers.update(data.id, { ...of, active: false, name: "Renamed" })).data;
    const workflows = async (workflowIds) => (await client.deployedTriggers.updateWorkflows(data.id, { ...of, workflowIds })).workflowIds.length;
    const counts = [await workflows([workflowId]), (await client.deployedTriggers.listWorkflows(data.id, of)).workflowIds.length, await workflows([])];
    const webhooks = (await client.deployedTriggers.listWebhooks(data.id, of)).webhookUrls;
    const set = await client.deployedTriggers.updateWebhooks(data.id, { ...of, webhookUrls: [...webhooks, "http://127.0.0.1:9/other"] });
    const keys = set.webhooks.map((webhook) => [webhook.url, webhook.signingKeySet, webhook.signingKey?.slice(0, 6) ?? null]).sort();
    return { active: changed.active, name: changed.name, counts, webhooks, keys };
  },
  forget: async () => {
    const { id } = (await client.accounts.list({ limit: 1 })).data[0];
    await client.accounts.delete(id);
    return (await client.accounts.list({ limit: 10 })).data.length;
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
