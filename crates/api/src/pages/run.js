// Shows one run. Everything from the server is set as text, never as markup.
const byId = (id) => document.getElementById(id);
const runId = location.pathname.split("/").pop();
const storage = "millrace-api-key";

function section(title, content, className) {
  const heading = document.createElement("h2");
  heading.textContent = title;
  if (className) heading.className = className;
  const body = document.createElement("pre");
  body.textContent = typeof content === "string" ? content : JSON.stringify(content, null, 2);
  byId("run").append(heading, body);
}

function show(run) {
  byId("status").textContent = run.status;
  byId("status").className = run.status;
  byId("run").replaceChildren();
  byId("message").textContent = `${new Date(run.created_at_ms).toISOString()}, ${run.duration_ms} ms, attempt ${run.attempt}`;
  if (run.error) section(`${run.error.code}: ${run.error.message}`, run.error.stack, "failed");
  for (const step of run.steps) section(`Step ${step.namespace}: ${step.status}${step.duration_ms == null ? "" : `, ${step.duration_ms} ms`}`, step.exports, step.status);
  if (run.exit_reason !== null) section("Ended by $.flow.exit", run.exit_reason || "(no reason)");
  if (run.return_value !== null) section("Return value", run.return_value);
  if (run.logs.length > 0) section("Logs", run.logs.map((line) => `${new Date(line.ts).toISOString()} ${line.level} ${line.text}`).join("\n"));
  section("Event", run.event);
}

async function load() {
  byId("id").textContent = runId;
  const key = sessionStorage.getItem(storage);
  byId("login").hidden = key !== null;
  if (key === null) return;
  const response = await fetch(`/v1/runs/${encodeURIComponent(runId)}`, { headers: { authorization: `Bearer ${key}` } });
  const answer = await response.json();
  if (response.ok) return show(answer.data);
  byId("message").textContent = answer.error;
  if (response.status === 401) {
    sessionStorage.removeItem(storage);
    byId("login").hidden = false;
  }
}

byId("login").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(storage, byId("key").value);
  void load();
});
void load();
