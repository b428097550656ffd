//! A server with a neighbour, and components that attack.

use millrace_tests::{Answer, Client, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

use crate::bundling::archive;

/// The server under attack.
pub struct Field {
    pub server: Server,
    neighbour: String,
    pid: u32,
}

impl Field {
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// With more flags.
    pub async fn start_with(args: &[&str]) -> Self {
        let mut field = Self::at_rest(args);
        field.launch().await;
        field
    }

    /// One whose server starts with [`Field::launch`].
    pub fn at_rest(args: &[&str]) -> Self {
        Self {
            server: Server::unprivileged_at_rest(&[&["--sandbox", "required"], args].concat()),
            neighbour: String::new(),
            pid: 0,
        }
    }

    pub async fn launch(&mut self) {
        self.server.launch().await;
        self.pid = self.server.pid();
        if !self.neighbour.is_empty() {
            return;
        }
        let code = "export default { name: 'neighbour', version: '1', props: { http: { type: '$.interface.http', customResponse: true } }, run(e) { this.http.respond({ status: 200, body: 'well: ' + e.body.n + ' ' + ({}).polluted }); } };";
        self.neighbour = endpoint(&self.server.source(code, json!({})).await);
    }

    /// Deploys a component whose `run(event)` has this body; gives its record.
    pub async fn deploy(&self, body: &str) -> Value {
        let code = format!(
            "import fs from 'node:fs'; import os from 'node:os'; import cp from 'node:child_process';
             export default {{ name: 'attack', version: '1', props: {{ http: {{ type: '$.interface.http', customResponse: true }} }}, async run(event) {{
               let said;
               try {{ const got = await (async (at) => {{ {body} }})(event.body); said = 'open: ' + got; }} catch (error) {{ said = (error.code ?? error.name) + ': ' + error.message; }}
               this.http.respond({{ status: 200, body: said }});
             }} }};"
        );
        self.server.source(&code, json!({})).await
    }

    /// Sends an attacker what it needs to know: nothing is hidden from it but by walls.
    pub async fn send(&self, source: &Value) -> Answer {
        // `/.`: the runtime leads /tmp elsewhere, where the test's folder may be; that is no wall.
        let at = json!({ "data": format!("/.{}", self.server.data_dir().display()), "server": self.pid });
        answer(self.server.raw(Method::POST, &endpoint(source)).json(&at)).await
    }

    /// Runs an attack that answers; it must be refused with one of these codes.
    pub async fn refused(&self, body: &str, codes: &[&str]) {
        let said = self.send(&self.deploy(body).await).await.text;
        assert!(
            codes.iter().any(|code| said.starts_with(&format!("{code}:"))),
            "{body}\n  gave: {said}"
        );
        self.healthy().await;
    }

    /// Runs an attack on memory. Which allocation meets the limit is chance: the code's, which
    /// throws a RangeError, or one of V8's own, which ends the process; then the run's error says
    /// which limit it was.
    pub async fn is_full(&self, body: &str) {
        let source = self.deploy(body).await;
        let said = self.send(&source).await.text;
        if !said.starts_with("RangeError:") {
            let error = self.failed(&source).await;
            assert!(
                error["message"].as_str().is_some_and(|m| m.contains("limit of 768 MiB")),
                "{body}\n  gave: {said}, {error}"
            );
        }
        self.healthy().await;
    }

    /// Runs an attack that ends its run; gives the run's error.
    pub async fn fails(&self, body: &str) -> Value {
        let source = self.deploy(body).await;
        self.send(&source).await;
        let error = self.failed(&source).await;
        self.healthy().await;
        error
    }

    /// The error of a source's only run.
    async fn failed(&self, source: &Value) -> Value {
        let path = format!("/sources/{}/runs?status=failed", source["id"].as_str().expect("an id"));
        let runs = self
            .server
            .until("the attack's run fails", &path, |l| l["page_info"]["total_count"] == 1)
            .await;
        runs["data"][0]["error"].clone()
    }

    /// Starts an attack that does not end by itself, in a workflow whose runs may take so long;
    /// gives the workflow's id. It is under way then.
    pub async fn begin(&self, body: &str, timeout_ms: u64) -> String {
        let code = format!(
            "import fs from 'node:fs'; import os from 'node:os'; export default defineComponent({{ async run({{ steps, $ }}) {{ {body} }} }});"
        );
        let workflow = json!({
            "triggers": [{ "type": "http" }],
            "steps": [{ "namespace": "attack", "code": code }],
            "settings": { "name": "attack", "timeout_ms": timeout_ms, "error_notification": false },
        });
        let workflow = self.server.post("/workflows", &workflow).await.data();
        assert_eq!(
            answer(self.server.raw(Method::POST, &endpoint(&workflow)).json(&json!({})))
                .await
                .status,
            200
        );
        let id = workflow["id"].as_str().expect("an id").to_owned();
        self.server
            .until("the attack begins", &format!("/workflows/{id}/runs"), |l| {
                !matches!(l["data"][0]["status"].as_str(), None | Some("queued"))
            })
            .await;
        id
    }

    /// Whether what `begin` began is over.
    pub async fn over(&self, id: &str) -> bool {
        self.server.get(&format!("/workflows/{id}/runs?status=running")).await.json["page_info"]["total_count"]
            == 0
    }

    /// Waits for the end of what `begin` began, which is a failure; gives the run's error.
    pub async fn ends(&self, id: &str) -> Value {
        let runs = self
            .server
            .until("the attack's run fails", &format!("/workflows/{id}/runs?status=failed"), |l| {
                l["page_info"]["total_count"] == 1
            })
            .await;
        self.healthy().await;
        runs["data"][0]["error"].clone()
    }

    /// The server is the one that was started, and others are served.
    pub async fn healthy(&self) {
        assert_eq!(
            self.server
                .raw(Method::GET, "/readyz")
                .send()
                .await
                .expect("an answer")
                .status()
                .as_u16(),
            200
        );
        self.healthy_neighbour().await;
        assert!(std::path::Path::new(&format!("/proc/{}", self.pid)).exists());
    }

    /// The neighbour answers as it always does.
    pub async fn healthy_neighbour(&self) {
        let reply =
            answer(self.server.raw(Method::POST, &self.neighbour).json(&json!({ "n": 7 }))).await;
        assert_eq!((reply.status, reply.text.as_str()), (200, "well: 7 undefined"));
    }
}

/// A registry with one component, under the name that is given back.
pub async fn registry(server: &Client) -> String {
    let code = b"export default { key: 'laid', name: 'Laid', version: '1', type: 'action', props: {}, run() {} };";
    let files = archive(&[(
        tar::EntryType::Regular,
        "components/laid/actions/laid/laid.mjs",
        code.as_slice(),
    )]);
    let request = server
        .raw(Method::POST, "/v1/registries?name=laid")
        .bearer_auth(&server.api_key)
        .header("content-type", "application/gzip");
    let made = answer(request.body(files)).await;
    // It may be there already.
    assert!(matches!(made.status, 200 | 409), "{}", made.text);
    "laid".into()
}
