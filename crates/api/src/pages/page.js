// `/runs/{id}` shows one run; `/` lists what is deployed, with the newest runs of each. `/sources?action=create&key=…` (or `url=…`) deploys a source,
// `/sources/new` finds one, `/sources` deletes them.
// Everything from the server is set as text, never as markup.
const byId = (id) => document.getElementById(id);
const storage = "millrace-api-key";
const refreshMs = 1500;
const isFinal = (status) => !["queued", "running", "paused"].includes(status);

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function get(path) {
  return call("GET", path);
}

async function call(method, path, body) {
  return (await request(method, path, body)).data;
}

async function request(method, path, body) {
  const headers = { authorization: `Bearer ${sessionStorage.getItem(storage)}` };
  if (body !== undefined) headers["content-type"] = "application/json";
  const response = await fetch(`/v1${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  // What is no HTTP to the server is refused without words.
  const answer = await response.json().catch(() => ({ error: `The server answered ${response.status}, and nothing that can be read.` }));
  if (!response.ok || answer.data === undefined) throw new Refused(response.status, answer.error);
  return answer;
}

function section(title, content, className = "") {
  const text = typeof content === "string" ? content : JSON.stringify(content, null, 2);
  byId("main").append(element("h2", title, { class: className }), element("pre", text));
}

function duration(ms) {
  return ms == null ? "" : `, ${ms} ms`;
}

// A button, never the address alone, changes anything: what reads the links of mails follows them.
function actionButton(words, action) {
  const button = element("button", words, { type: "button" });
  button.addEventListener("click", () => void guarded(async () => {
    button.disabled = true;
    try {
      await action(button);
    } finally {
      button.disabled = false;
    }
  }));
  return button;
}

// A list of the API, a page at a time: into `list`, with a button behind it in `place`. `path` has its query begun; `show` makes what stands for an item.
async function showList(place, list, path, limit, show) {
  let after = "";
  const next = async () => {
    const { data, page_info: page } = await request("GET", `${path}&limit=${limit}${after}`);
    list.append(...data.map(show));
    after = `&after=${encodeURIComponent(page.end_cursor)}`;
    more.hidden = data.length < limit;
    return data.length;
  };
  const more = actionButton("Show more", next);
  more.hidden = true;
  place.append(list, more);
  return next();
}

function replayButton(run, words, body) {
  return actionButton(words, async () => {
    const made = await call("POST", `/runs/${encodeURIComponent(run.id)}/replay`, body);
    location.assign(`/runs/${encodeURIComponent(made.id)}`);
  });
}

function offerReplay(run) {
  const place = element("p", "", { id: "replay" });
  place.append(replayButton(run, "Replay", {}));
  if (run.workflow_id != null && run.steps.some((step) => step.status === "failed")) place.append(" ", replayButton(run, "Replay from the failed step", { from_failed: true }));
  byId("main").append(place);
  if (location.hash === "#replay") place.firstChild.focus();
}

function showRun(run) {
  byId("status").textContent = run.status;
  byId("status").className = run.status;
  byId("main").replaceChildren();
  byId("message").textContent = `${run.workflow_id ?? run.source_id}, ${new Date(run.created_at_ms).toLocaleString()}${isFinal(run.status) ? duration(run.duration_ms) : ""}, attempt ${run.attempt}`;
  if (isFinal(run.status)) offerReplay(run);
  const showError = () => section(`${run.error.code}: ${run.error.message}`, run.error.stack || "(no stack)", "failed");
  // Of a source, and where no step was under way, it stands first.
  if (run.error && !run.steps.some((step) => step.status === "failed")) showError();
  for (const step of run.steps) {
    section(`Step ${step.namespace}: ${step.status}${duration(step.duration_ms)}`, step.exports, step.status);
    if (run.error && step.status === "failed") showError();
  }
  if (run.exit_reason != null) section("Ended by $.flow.exit", run.exit_reason || "(no reason)");
  if (run.return_value != null) section("Return value", run.return_value);
  if (run.logs.length > 0) section("Logs", run.logs.map((line) => `${new Date(line.ts).toISOString()} ${line.level} ${line.text}`).join("\n"));
  section("Event", run.event);
}

async function loadRun(id) {
  byId("title").textContent = `Run ${id}`;
  document.title = `Run ${id} · Millrace`;
  const run = await get(`/runs/${encodeURIComponent(id)}`);
  showRun(run);
  if (!isFinal(run.status)) setTimeout(load, refreshMs);
}

async function showRuns(kind, item) {
  const place = document.createElement("div");
  const path = `/${kind}/${encodeURIComponent(item.id)}/runs?include=id,status,created_at_ms,duration_ms`;
  const count = await showList(place, document.createElement("table"), path, 20, (run) => {
    const row = document.createElement("tr");
    const first = document.createElement("td");
    first.append(element("a", new Date(run.created_at_ms).toLocaleString(), { href: `/runs/${encodeURIComponent(run.id)}` }));
    row.append(first, element("td", run.status, { class: run.status }), element("td", isFinal(run.status) ? `${run.duration_ms} ms` : ""));
    return row;
  });
  return count > 0 ? place : element("p", "No runs yet.");
}

async function loadOverview() {
  byId("title").textContent = "What is deployed";
  const place = document.createElement("div");
  for (const [kind, title] of [["workflows", "Workflows"], ["sources", "Sources"]]) {
    place.append(element("h2", title));
    const count = await showList(place, document.createElement("div"), `/${kind}?include=id,name,active`, 100, (item) => {
      const details = document.createElement("details");
      details.append(element("summary", `${item.name}${item.active ? "" : " (not active)"}`));
      details.addEventListener("toggle", () => void guarded(async () => {
        if (details.open) details.replaceChildren(details.firstChild, await showRuns(kind, item));
      }));
      return details;
    });
    if (count === 0) place.append(element("p", "None."));
  }
  byId("main").replaceChildren(place);
}

// What the server gives these props by itself.
const ownTypes = ["$.service.db", "$.interface.http", "$.interface.apphook", "alert"];

// A text stays one; of other types it is JSON where it can be read as such.
function valueOf(prop, text) {
  if (prop.type === "string") return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function field(name, words, attributes) {
  const input = element("input", "", { name, autocomplete: "off", ...attributes });
  const label = element("label", words);
  label.append(document.createElement("br"), input);
  const line = document.createElement("p");
  line.append(label);
  byId("main").append(line);
  return input;
}

function showForm(component, code) {
  byId("main").replaceChildren(element("h2", `${component.name ?? component.key}, version ${component.version}`));
  if (component.description) byId("main").append(element("p", component.description));
  const name = field("name", "Name (optional)", {});
  const inputs = component.configurable_props.filter((prop) => !ownTypes.includes(prop.type)).map((prop) => {
    const hint = prop.type === "app" ? "id of an account, apn_…" : prop.type === "$.interface.timer" ? 'such as {"intervalSeconds": 900}' : prop.type;
    const needed = prop.optional || prop.default !== undefined ? "optional" : "required";
    return [prop, field(prop.name, `${prop.label ?? prop.name} (${hint}, ${needed})`, prop.secret ? { type: "password" } : {})];
  });
  byId("main").append(actionButton("Deploy", async () => {
    const given = inputs.filter(([, input]) => input.value !== "").map(([prop, input]) => [prop.name, valueOf(prop, input.value)]);
    const body = { ...code, configured_props: Object.fromEntries(given) };
    if (name.value !== "") body.name = name.value;
    byId("message").textContent = "";
    const made = await call("POST", "/sources", body);
    byId("main").replaceChildren(element("p", `Deployed as ${made.name} (${made.id}).`), element("a", "All sources", { href: "/sources" }));
    for (const [prop, value] of Object.entries(made.configured_props)) {
      if (value?.endpoint_url) byId("main").append(element("p", `${prop}: ${value.endpoint_url}`));
    }
  }));
}

async function loadDeploy(key, url) {
  byId("title").textContent = "Deploy a source";
  byId("main").replaceChildren();
  if (key) return showForm(await get(`/components/registry/${encodeURIComponent(key)}`), { key });
  if (!url) throw new Refused(422, "The address names neither `key` nor `url`.");
  byId("main").append(element("p", `The code at ${url}`), actionButton("Read it", async () => {
    const component = await call("POST", "/components", { component_url: url });
    showForm(component, { component_id: component.id });
  }));
}

async function loadSearch() {
  byId("title").textContent = "Find a source";
  byId("main").replaceChildren();
  const words = field("query", "Words", {});
  const found = document.createElement("p");
  byId("main").append(actionButton("Search", async () => {
    const { sources } = await get(`/components/search?query=${encodeURIComponent(words.value)}`);
    const links = sources.map((key) => {
      const line = document.createElement("p");
      line.append(element("a", key, { href: `/sources?action=create&key=${encodeURIComponent(key)}` }));
      return line;
    });
    found.replaceChildren(...(links.length > 0 ? links : [element("span", "None fits.")]));
  }), found);
}

async function loadSources() {
  byId("title").textContent = "Sources";
  const place = element("p", "");
  place.append(element("a", "Deploy another", { href: "/sources/new" }));
  const rest = document.createElement("div");
  await showList(rest, document.createElement("div"), "/users/me/sources?include=id,name,active", 100, (source) => {
    const line = element("p", `${source.name} (${source.id})${source.active ? "" : ", not active"} `);
    let asked = false;
    line.append(actionButton("Delete", async (button) => {
      if (!asked) {
        asked = true;
        button.textContent = "Really delete?";
        return;
      }
      await call("DELETE", `/sources/${encodeURIComponent(source.id)}`);
      // From the beginning: the next page may begin behind the one that is gone.
      await loadSources();
    }));
    return line;
  });
  byId("main").replaceChildren(place, rest);
}

// Of an address; what is encoded wrongly stays as it is, and is found nowhere.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function loadPage() {
  const run = /^\/runs\/([^/]+)$/.exec(location.pathname);
  const query = new URLSearchParams(location.search);
  if (run) return loadRun(decoded(run[1]));
  if (location.pathname === "/sources/new") return loadSearch();
  if (location.pathname === "/sources") return query.get("action") === "create" ? loadDeploy(query.get("key"), query.get("url")) : loadSources();
  return loadOverview();
}

async function guarded(task) {
  try {
    await task();
  } catch (error) {
    byId("message").textContent = error instanceof Refused ? error.message : `The server could not be reached: ${error.message}`;
    if (error.status === 401) {
      sessionStorage.removeItem(storage);
      askForKey();
    }
  }
}

function askForKey() {
  byId("login").hidden = false;
  byId("forget").hidden = true;
  byId("main").replaceChildren();
  byId("key").focus();
}

async function load() {
  if (sessionStorage.getItem(storage) === null) return askForKey();
  byId("login").hidden = true;
  byId("forget").hidden = false;
  byId("message").textContent = "";
  await guarded(loadPage);
}

byId("login").addEventListener("submit", (event) => {
  event.preventDefault();
  const key = byId("key").value.trim();
  byId("key").value = "";
  // Anything else cannot be sent in a header.
  if (!/^[\x21-\x7e]{1,300}$/.test(key)) {
    byId("message").textContent = "That is no API key: one has letters, digits and `_`, without spaces, and 300 characters at most.";
    return;
  }
  sessionStorage.setItem(storage, key);
  void load();
});
byId("forget").addEventListener("click", () => {
  sessionStorage.removeItem(storage);
  location.reload();
});
void load();
