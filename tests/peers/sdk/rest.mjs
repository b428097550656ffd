// The calls that calls.mjs leaves out: what the left column of the page says that works, and each call of the right one.
const { PipedreamClient } = await import(process.env.SDK);
const { baseUrl, clientId, clientSecret, projectId, endpoint, accountId } = JSON.parse(process.env.PEER);
const client = new PipedreamClient({ baseUrl, clientId, clientSecret, projectId, projectEnvironment: "development", workflowDomain: new URL(baseUrl).hostname });
const externalUserId = "user-7";
const of = { id: "sdk-pick", externalUserId };
const works = {
  oauthTokens: async () => {
    const { accessToken, tokenType, expiresIn } = await client.oauthTokens.create({ clientId, clientSecret });
    const answer = await fetch(`${baseUrl}/v1/users/me`, { headers: { authorization: `Bearer ${accessToken}` } });
    return [tokenType, typeof expiresIn, answer.status];
  },
  invoke: async () => {
    const answers = [];
    for (const request of [{ body: { n: 1 } }, { method: "PUT", body: [2] }, { method: "GET", headers: { "x-own": "3" } }]) {
      answers.push((await client.workflows.invoke({ urlOrEndpoint: endpoint, ...request })).status);
    }
    return answers;
  },
  component: async () => {
    const one = (await client.components.retrieve("sdk-pick")).data;
    return [one.key, one.name, one.version, one.configurableProps.map((prop) => prop.name)];
  },
  configureComponent: async () => (await client.components.configureProp({ ...of, propName: "pick", configuredProps: {} })).options,
  configureTrigger: async () => (await client.triggers.configureProp({ ...of, id: "sdk-picks", propName: "pick", configuredProps: {} })).options,
  reloadTrigger: async () => {
    const { errors, dynamicProps } = await client.triggers.reloadProps({ ...of, id: "sdk-picks", configuredProps: { kind: "a" } });
    return [errors, typeof dynamicProps.id, dynamicProps.configurableProps.map((prop) => prop.name)];
  },
  error: async () => {
    const account = await client.accounts.retrieve(accountId);
    const [listed] = (await client.accounts.list({ app: "acme" })).data;
    return [account.healthy, account.dead, account.error, listed.error === account.error];
  },
};
const call = (name) => {
  const [resource, method, ...given] = name;
  if (typeof client[resource]?.[method] !== "function") return undefined;
  return async () => {
    const value = await client[resource][method](...given);
    // Some give a page or an answer that is read later.
    return value?.data ?? value;
  };
};
const user = { externalUserId };
const missing = {};
for (const name of [
  ["tokens", "create", user], ["tokens", "validate", "ctok_1", { appId: "acme" }],
  ["users", "list"], ["users", "deleteExternalUser", externalUserId],
  ["projects", "list"], ["projects", "create", { name: "p" }], ["projects", "retrieve", projectId], ["projects", "update", projectId, { name: "p" }], ["projects", "delete", projectId],
  ["projects", "updateLogo", projectId, { logo: "data:image/png;base64,AAAA" }], ["projects", "retrieveInfo"],
  ["proxy", "get", { url: "https://example.com/", externalUserId, accountId: "apn_x" }], ["proxy", "post", { url: "https://example.com/", externalUserId, accountId: "apn_x", body: {} }],
  ["fileStash", "downloadFile", { s3Key: "k" }], ["usage", "list", { startTs: 0, endTs: 1 }],
  ["oauthApps", "list"], ["oauthApps", "create", { app: "acme", name: "a", clientId: "c", clientSecret: "s" }], ["oauthApps", "retrieve", "oa_1"], ["oauthApps", "update", "oa_1", {}], ["oauthApps", "delete", "oa_1"],
  ["appCategories", "list"], ["appCategories", "retrieve", "ac_1"],
  ["accounts", "create", { appSlug: "acme", cfmapJson: "{}", connectToken: "ctok_1" }], ["accounts", "deleteByApp", "acme"], ["accounts", "listByExternalUser", externalUserId],
  ["appOverrides", "list"], ["projectEnvironment", "retrieveWebhook"],
  ["deployedTriggers", "retrieveWebhook", "dc_1", "wh_1", user], ["deployedTriggers", "regenerateWebhookSigningKey", "dc_1", "wh_1", user],
]) {
  const made = call(name);
  if (made !== undefined) missing[name.slice(0, 2).join(".")] = made;
}
const gave = { works: {}, missing: {} };
for (const [kind, calls] of Object.entries({ works, missing })) {
  for (const [name, made] of Object.entries(calls)) {
    gave[kind][name] = await made().then((value) => ({ value }), (error) => ({ status: error.statusCode ?? null, message: String(error.message).slice(0, 300), body: error.body ?? null }));
  }
}
console.log(JSON.stringify(gave));
