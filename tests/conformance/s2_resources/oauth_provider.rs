//! OAuth 2 provider of the tests, and what a browser does with it.

use std::path::Path;

use millrace_tests::{Answer, Client, answer, oidc};
use reqwest::Method;
use serde_json::{Value, json};

/// 2026-11-22T12:00:00Z.
pub(super) const NOON: i64 = 1_795_348_800_000;

/// A provider in a process of its own. It ends with this value: its standard input is closed.
pub(super) struct Provider {
    pub(super) url: String,
    _process: oidc::Provider,
}

impl Provider {
    pub(super) fn start() -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/oauth.mjs");
        let process = oidc::Provider::run(Path::new(script));
        Self { url: process.url.clone(), _process: process }
    }

    pub(super) async fn stats(&self, server: &Client) -> Value {
        answer(server.raw(Method::GET, &format!("{}/stats", self.url))).await.json
    }

    /// Changes how it behaves: a path with its parameters.
    pub(super) async fn turn(&self, server: &Client, path: &str, params: &[(&str, &str)]) {
        let url = reqwest::Url::parse_with_params(&format!("{}{path}", self.url), params);
        assert_eq!(
            answer(server.raw(Method::GET, url.expect("an address").as_str())).await.status,
            200
        );
    }

    /// Registers an app whose accounts it gives. With the scope `hour` the client's secret goes
    /// into the body of requests.
    pub(super) async fn register(&self, server: &Client, scope: &str) {
        self.register_with(server, scope, &json!({})).await;
    }

    /// Registers it with more fields of the app.
    pub(super) async fn register_with(&self, server: &Client, scope: &str, more: &Value) {
        let oauth = json!({
            "authorize_url": format!("{}/authorize", self.url), "token_url": format!("{}/token", self.url), "revoke_url": format!("{}/revoke", self.url),
            "scopes": [scope], "client_id": "client", "client_secret": "s3cret", "secret_in_body": scope == "hour",
        });
        let mut app =
            json!({ "name_slug": "acme", "auth_type": "oauth", "name": "Acme", "oauth": oauth });
        for (name, value) in more.as_object().expect("an object") {
            app[name] = value.clone();
        }
        let app = server.post("/apps", &app).await;
        assert!(!app.text.contains("s3cret"));
        app.data();
    }
}

/// What a user's browser does: to the provider, and back with a code.
pub(super) async fn log_in(server: &Client) -> Answer {
    let link =
        server.post("/accounts/connect", &json!({ "app": "acme", "name": "Mine" })).await.data();
    let url = link["connect_url"].as_str().expect("a page");
    assert!(url.contains("code_challenge_method=S256") && !url.contains("s3cret"));
    answer(server.raw(Method::GET, url)).await
}

pub(super) async fn only_account(server: &Client) -> Value {
    server.get("/accounts?app=acme&include_credentials=true").await.json["data"][0].clone()
}

/// A source that answers with the values of its account.
pub(super) const SOURCE: &str = "
const acme = { type: 'app', app: 'acme' };
export default { name: 's', version: '1', props: { acme, http: { type: '$.interface.http', customResponse: true } },
  run() { this.http.respond({ status: 200, body: this.acme.$auth }); } };";
