// The first major version of the same client, which hands on what it reads as it is. It makes its addresses of a host, with https.
import { createBackendClient } from "sdk-1";

const { baseUrl, accessToken, projectId } = JSON.parse(process.env.PEER);
const client = createBackendClient({ projectId, environment: "development", credentials: { accessToken } });
client.baseApiUrl = `${baseUrl}/v1`;
const externalUserId = "user-7";
const calls = {
  accounts: async () => (await client.getAccounts({ external_user_id: externalUserId })).data.map(({ name, external_id }) => [name, external_id]),
  account: async () => {
    const [{ id }] = (await client.getAccounts({ external_user_id: externalUserId })).data;
    const { created_at, app } = await client.getAccountById(id);
    return [Number.isNaN(Date.parse(created_at)), app.img_src];
  },
  apps: async () => (await client.getApps({ q: "acme" })).data.map((app) => app.name_slug),
  components: async () => (await client.getComponents({ q: "sdk", componentType: "action" })).data.map((component) => component.key),
  component: async () => (await client.getComponent({ key: "sdk-greet" })).data.configurable_props[0].name,
  configure: async () => (await client.configureComponent({ externalUserId, componentId: "sdk-greet", propName: "whom", configuredProps: {} })).options,
  reload: async () => {
    const of = { externalUserId, configuredProps: { whom: "a", kind: "b" } };
    const { dynamicProps } = await client.reloadComponentProps({ ...of, componentId: "sdk-greet" });
    const configuredProps = { ...of.configuredProps, made: "m" };
    const run = await client.runAction({ ...of, configuredProps, actionId: "sdk-greet", dynamicPropsId: dynamicProps.id });
    return { names: dynamicProps.configurableProps.map((prop) => prop.name), made: run.ret.made };
  },
  trigger: async () => {
    const { data } = await client.deployTrigger({ externalUserId, triggerId: "sdk-orders", configuredProps: {} });
    const of = { id: data.id, externalUserId };
    const listed = (await client.getTriggers({ externalUserId })).data.length;
    const active = (await client.updateTrigger({ ...of, active: false })).data.active;
    const name = (await client.getTrigger(of)).data.name;
    const events = (await client.getTriggerEvents({ ...of, limit: 5 })).data.map((event) => event.e);
    const workflows = (await client.updateTriggerWorkflows({ ...of, workflowIds: [] })).workflow_ids;
    const webhooks = (await client.updateTriggerWebhooks({ ...of, webhookUrls: ["http://127.0.0.1:9/one"] })).webhook_urls;
    const read = [(await client.getTriggerWorkflows(of)).workflow_ids.length, (await client.getTriggerWebhooks(of)).webhook_urls.length];
    await client.deleteTrigger(of);
    return { listed, active, name, events, workflows, webhooks, read, left: (await client.getTriggers({ externalUserId })).data.length };
  },
  forget: async () => {
    const [{ id }] = (await client.getAccounts({ external_user_id: externalUserId })).data;
    await client.deleteAccount(id);
    return (await client.getAccounts({ external_user_id: externalUserId })).data.length;
  },
};
const gave = {};
for (const [name, call] of Object.entries(calls)) gave[name] = await call().then((value) => ({ value }), (error) => ({ message: String(error.message).slice(0, 300) }));
console.log(JSON.stringify(gave));
