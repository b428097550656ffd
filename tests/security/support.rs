//! A server with a neighbour, and components that attack.

use millrace_tests::{Answer, Server, answer, endpoint};
use reqwest::Method;
use serde_json::{Value, json};

/// The server under attack.
pub struct Field {
    pub server: Server,
    neighbour: String,
    pid: u32,
}

impl Field {
    pub async fn start() -> Self {
        let server = Server::start_unprivileged(&["--sandbox", "required"]).await;
        let code = "export default { name: 'neighbour', version: '1', props: { http: { type: '$.interface.http', customResponse: true } }, run(e) { this.http.respond({ status: 200, body: 'well: ' + e.body.n + ' ' + ({}).polluted }); } };";
        let neighbour = endpoint(&server.source(code, json!({})).await);
        let pid = server.pid();
        Self { server, neighbour, pid }
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
        assert!(codes.iter().any(|code| said.starts_with(&format!("{code}:"))), "{body}\n  gave: {said}");
        self.healthy().await;
    }

    /// Runs an attack that ends its run; gives the run's error.
    pub async fn fails(&self, body: &str) -> Value {
        let source = self.deploy(body).await;
        self.send(&source).await;
        let path = format!("/sources/{}/runs?status=failed", source["id"].as_str().expect("an id"));
        let runs = self.server.until("the attack's run fails", &path, |l| l["page_info"]["total_count"] == 1).await;
        self.healthy().await;
        runs["data"][0]["error"].clone()
    }

    /// The server is the one that was started, and others are served.
    pub async fn healthy(&self) {
        assert_eq!(self.server.raw(Method::GET, "/readyz").send().await.expect("an answer").status().as_u16(), 200);
        let reply = answer(self.server.raw(Method::POST, &self.neighbour).json(&json!({ "n": 7 }))).await;
        assert_eq!((reply.status, reply.text.as_str()), (200, "well: 7 undefined"));
        assert!(std::path::Path::new(&format!("/proc/{}", self.pid)).exists());
    }
}
