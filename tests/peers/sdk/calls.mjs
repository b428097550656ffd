// A client written for the hosted platform, pointed here by its constructor's `baseUrl`: what its calls give, as JSON.
const { PipedreamClient } = await import(process.env.SDK);
const { baseUrl, clientId, clientSecret, projectId, workflowId } = JSON.parse(process.env.PEER);
const client = new PipedreamClient({ baseUrl, clientId, clientSecret, projectId, projectEnvironment: "development" });
const externalUserId = "user-7";
const calls = {
  token: async () => typeof (await client.rawAccessToken),
  accounts: async () => {
    const page = await client.accounts.list({ app: "acme", limit: 1 });
    const [{ name, app, createdAt, authorizedScopes }] = page.data;
    return { count: page.data.length, name, app: app.nameSlug, image: app.imgSrc, created: createdAt instanceof Date, scopes: authorizedScopes };
  },
  users: async () => {
    const of = async (user) => (await client.accounts.list({ externalUserId: user })).data.map((account) => [account.name, account.externalId]);
    return [await of(externalUserId), await of("nobody")];
  },
  pages: async () => {
    const names = [];
    for await (const account of await client.accounts.list({ limit: 1 })) names.push(account.name);
    return names.sort();
  },
  account: async () => (await client.accounts.retrieve((await client.accounts.list({ limit: 1, app: "acme" })).data[0].id)).name,
  app: async () => (await client.apps.retrieve("acme")).data.name,
  apps: async () => (await client.apps.list({ q: "acme" })).data.map((app) => app.nameSlug),
  configure: async () => (await client.actions.configureProp({ id: "sdk-greet", externalUserId, propName: "whom", configuredProps: {} })).options,
  reload: async () => {
    const of = { id: "sdk-greet", externalUserId, configuredProps: { whom: "a", kind: "b" } };
    const gave = [];
    for (const resource of [client.components, client.actions]) {
      const { errors, dynamicProps } = await resource.reloadProps(of);
      const names = dynamicProps.configurableProps.map((prop) => [prop.name, prop.type]);
      const run = await client.actions.run({ ...of, dynamicPropsId: dynamicProps.id, configuredProps: { ...of.configuredProps, made: "m" } });
      gave.push({ errors, names, made: run.ret.made });
    }
    return gave;
  },
  run: async () => {
    const { exports, ret, os } = await client.actions.run({ id: "sdk-greet", externalUserId, configuredProps: { whom: "you" } });
    return { exports, ret, os: os.map((o) => o.msg ?? o.err?.message) };
  },
  fails: async () => (await client.actions.run({ id: "sdk-greet", externalUserId, configuredProps: { whom: "nobody" } })).os.at(-1).err,
  deploy: async () => {
    const { data } = await client.triggers.deploy({ id: "sdk-orders", externalUserId, configuredProps: {}, webhookUrl: "http://127.0.0.1:9/first" });
    const listed = (await client.deployedTriggers.list({ externalUserId })).data;
    const events = await client.deployedTriggers.listEvents(data.id, { externalUserId, n: 5 });
    await client.deployedTriggers.delete(data.id, { externalUserId });
    const { type, componentId, componentKey, webhookSigningKey, createdAt } = data;
    const fields = [type, componentId?.slice(0, 3), componentKey, webhookSigningKey?.slice(0, 6), typeof createdAt];
    return { fields, active: data.active, listed: listed.some((t) => t.id === data.id && t.componentId === componentId), events: events.data.map((e) => e.e) };
  },
  silent: async () => {
    const { data } = await client.triggers.deploy({ id: "sdk-orders", externalUserId, configuredProps: {}, emitOnDeploy: false });
    const updated = (await client.deployedTriggers.update(data.id, { externalUserId, name: "Quiet", emitOnDeploy: false })).data.name;
    const found = (await client.deployedTriggers.retrieve(data.id, { externalUserId })).data.name;
    const others = (await client.deployedTriggers.list({ externalUserId, emitterType: "http" })).data.length;
    const events = (await client.deployedTriggers.listEvents(data.id, { externalUserId })).data;
    await client.deployedTriggers.delete(data.id, { externalUserId });
    return { updated, found, others, events };
  },
  catalogue: async () => {
    const actions = [];
    for await (const action of await client.actions.list({ app: undefined, limit: 1 })) actions.push(action.key);
    const triggers = (await client.triggers.list({ q: "orders" })).data.map((trigger) => [trigger.key, trigger.componentType]);
    const found = (await client.components.list({ q: "greet" })).data[0];
    const one = (await client.actions.retrieve("sdk-greet")).data;
    const trigger = (await client.triggers.retrieve("sdk-orders")).data.configurableProps.map((prop) => prop.name);
    const kinds = (await client.components.list({ q: "sdk", componentType: "trigger" })).data.map((component) => component.key);
    return { trigger, kinds, annotations: one.annotations, types: one.configurableProps.map((prop) => prop.type), actions, triggers, found: found.configurableProps.map((prop) => prop.name), one: [one.key, one.name, one.version] };
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
  // What programs do in another order than the documentation shows.
  odd: async () => {
    const of = { id: "sdk-greet", externalUserId };
    const failing = (call) => call.then(() => "taken", (error) => error.statusCode);
    // Before any prop was configured, and again as each answer is typed.
    const forms = [];
    let dynamicPropsId;
    for (const configuredProps of [undefined, {}, { kind: "a" }, { kind: "a", made: "m" }, {}]) {
      const { dynamicProps } = await client.components.reloadProps({ ...of, configuredProps, dynamicPropsId });
      dynamicPropsId = dynamicProps.id;
      forms.push(dynamicProps.configurableProps.length);
    }
    const another = await failing(client.actions.run({ id: "sdk-echo", externalUserId, dynamicPropsId, configuredProps: {} }));
    const run = (await client.actions.run({ id: "sdk-echo", externalUserId })).ret;
    const wrong = await client.actions.configureProp({ ...of, propName: "nothing", configuredProps: {} });
    const pages = [];
    for (let page = await client.components.list({ limit: 1 }); ; page = await page.getNextPage()) {
      pages.push(...page.data.map((component) => component.key));
      if (!page.hasNextPage()) break;
    }
    const byApp = [];
    for (const app of ["acme", (await client.apps.retrieve("acme")).data.id]) byApp.push((await client.actions.list({ app })).data.length, (await client.accounts.list({ app })).data.length);
    const { data } = await client.triggers.deploy({ id: "sdk-orders", externalUserId, emitOnDeploy: false, workflowId });
    const place = [data.id, { externalUserId }];
    const change = async (part) => (await client.deployedTriggers.update(data.id, { externalUserId, ...part })).data;
    const seen = [];
    for (const part of [{}, { active: false }, { active: false }, { configuredProps: {} }, { name: "Half" }, { active: true }]) {
      const { active, name } = await change(part);
      seen.push([active, name]);
    }
    const refused = [{ name: "" }, { configuredProps: { none: 1 } }].map((part) => failing(change(part)));
    const events = (await client.deployedTriggers.listEvents(...place)).data.length;
    const elsewhere = await failing(client.deployedTriggers.delete(data.id, { externalUserId: "user-8" }));
    const gone = [await failing(client.deployedTriggers.delete(...place)), await failing(client.deployedTriggers.delete(...place)), await failing(change({ name: "x" }))];
    gone.push(await failing(client.deployedTriggers.listEvents(...place)), await failing(client.accounts.delete("apn_000000000000")));
    return { forms, another, run, wrong: [wrong.options, wrong.errors.length], pages: pages.sort(), byApp, seen, refused: await Promise.all(refused), events, elsewhere, gone };
  },
  forget: async () => {
    const { id } = (await client.accounts.list({ limit: 1 })).data[0];
    await client.accounts.delete(id);
    return (await client.accounts.list({ limit: 10 })).data.length;
  },
  missing: async () => client.actions.run({ id: "sdk-nothing", externalUserId }),
  stash: async () => client.actions.run({ id: "sdk-greet", externalUserId, configuredProps: { whom: "you" }, stashId: "NEW" }),
  stashes: async () => client.actions.run({ id: "sdk-greet", externalUserId, configuredProps: { whom: "you" }, stashId: true }),
  // The second version has none.
  overrides: async () => (client.appOverrides ? client.appOverrides.list() : client.projectEnvironment.retrieveWebhook()),
  environment: async () => client.projectEnvironment.retrieveWebhook(),
  byApp: async () => client.accounts.deleteByApp("acme"),
  proxy: async () => client.proxy.get({ url: "https://example.com/", externalUserId, accountId: "apn_x" }),
  tokens: async () => client.tokens.create({ externalUserId }),
};
const gave = {};
for (const [name, call] of Object.entries(calls)) {
  gave[name] = await call().then((value) => ({ value }), (error) => ({ status: error.statusCode ?? null, message: String(error.message).slice(0, 200) }));
}
console.log(JSON.stringify(gave));
