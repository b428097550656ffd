//! Client of the server under test, as one of its organizations.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::{DEADLINE, openapi, shared};

/// An answer: status and JSON (or text) of the body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub json: Value,
    pub text: String,
}

impl Answer {
    /// The `data` of a success.
    pub fn data(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        self.json["data"].clone()
    }

    /// Status and code of a refusal.
    pub fn refusal(&self) -> (u16, &str) {
        (self.status, self.json["code"].as_str().unwrap_or(""))
    }
}

/// An organization of a server, with a key that may do everything in it.
pub struct Client {
    pub url: String,
    pub api_key: String,
    pub org_id: String,
    /// What every answer is held against.
    pub document: Arc<Value>,
    http: reqwest::Client,
    /// Keeps a server that is shared.
    pub(crate) kept: Option<Arc<shared::Keeper>>,
}

impl Default for Client {
    fn default() -> Self {
        // Servers of the tests have no certificates that others vouch for, and to read those of
        // this machine takes long.
        let http = reqwest::Client::builder()
            .pool_max_idle_per_host(0)
            .tls_built_in_root_certs(false)
            .build()
            .expect("a client");
        Self {
            url: String::new(),
            api_key: String::new(),
            org_id: String::new(),
            document: Arc::default(),
            http,
            kept: None,
        }
    }
}

impl Client {
    /// Takes the first organization of the server with this data directory; false where that is not
    /// ready.
    pub(crate) async fn find(&mut self, data_dir: &Path) -> bool {
        let Ok(text) = std::fs::read_to_string(data_dir.join("credentials.json")) else {
            return false;
        };
        let Ok(credentials) = serde_json::from_str::<Value>(&text) else { return false };
        let text = |field: &str| credentials[field].as_str().unwrap_or("").to_owned();
        (self.url, self.api_key, self.org_id) = (text("url"), text("api_key"), text("org_id"));
        if !self
            .http
            .get(format!("{}/readyz", self.url))
            .send()
            .await
            .is_ok_and(|r| r.status().is_success())
        {
            return false;
        }
        // One that fails at its first write may be gone by now.
        let Ok(document) = self.http.get(format!("{}/openapi.json", self.url)).send().await else {
            return false;
        };
        let Ok(document) = document.json().await else { return false };
        self.document = Arc::new(document);
        true
    }

    /// A new organization on the same server.
    pub async fn another_organization(&self, name: &str) -> Self {
        let made = self
            .post("/workspaces", &json!({ "name": name, "email": format!("{name}@example.test") }))
            .await
            .data();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        Self {
            url: self.url.clone(),
            api_key: text(&made["api_key"]),
            org_id: text(&made["id"]),
            document: self.document.clone(),
            http: self.http.clone(),
            kept: self.kept.clone(),
        }
    }

    pub async fn call_as(
        &self,
        key: &str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Answer {
        let mut request =
            self.http.request(method.clone(), format!("{}/v1{path}", self.url)).bearer_auth(key);
        if let Some(body) = body {
            request = request.json(body);
        }
        let url = reqwest::Url::parse(&format!("{}/v1{path}", self.url)).expect("an address");
        let (answer, headers) = answer_with_headers(request).await;
        let fields = |name: &str| {
            url.query_pairs().any(|(field, _)| field == name)
                || body.is_some_and(|b| b.get(name).is_some())
        };
        let path = url.path().strip_prefix("/v1").unwrap_or("");
        let asked = openapi::Asked {
            method: method.as_str(),
            path,
            is_partial: fields("include") || fields("exclude"),
            headers: &headers,
        };
        if let Some(problem) = openapi::problem(&self.document, &asked, answer.status, &answer.json)
        {
            panic!(
                "{method} {path} answered {} not as its document says: {problem}\n{}",
                answer.status, answer.text
            );
        }
        answer
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call_as(&self.api_key, Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call_as(&self.api_key, Method::POST, path, Some(body)).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.call_as(&self.api_key, Method::PUT, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.call_as(&self.api_key, Method::DELETE, path, None).await
    }

    /// A request without anything added.
    pub fn raw(&self, method: Method, url: &str) -> reqwest::RequestBuilder {
        let url = if url.starts_with('/') { format!("{}{url}", self.url) } else { url.to_owned() };
        self.http.request(method, url)
    }

    /// Deploys a source from its text.
    pub async fn source(&self, code: &str, props: Value) -> Value {
        self.post("/sources", &json!({ "component_code": code, "configured_props": props }))
            .await
            .data()
    }

    /// Makes and deploys a workflow with steps of own code.
    pub async fn workflow(&self, name: &str, triggers: Value, steps: &[(&str, &str)]) -> Value {
        let steps: Vec<Value> = steps
            .iter()
            .map(|(namespace, code)| json!({ "namespace": namespace, "code": code }))
            .collect();
        self.post(
            "/workflows",
            &json!({ "triggers": triggers, "steps": steps, "settings": { "name": name } }),
        )
        .await
        .data()
    }

    /// Runs a source now and gives the run, whether it succeeded or not.
    pub async fn run_now(&self, source: &Value, event: Value) -> Value {
        self.post(&format!("/sources/{}/run", id(source)), &json!({ "event": event })).await.data()
    }

    /// What a source with this code returns when it is run now, with an event of `{}`.
    pub async fn returned(&self, code: &str, props: Value) -> Value {
        let source = self.source(code, props).await;
        let run = self.run_now(&source, json!({})).await;
        assert_eq!(run["status"], "succeeded", "{run}");
        run["return_value"].clone()
    }

    /// The whole events that a source emitted so far, the oldest first.
    pub async fn emitted(&self, source: &Value) -> Vec<Value> {
        let list =
            self.get(&format!("/sources/{}/event_summaries?expand=event", id(source))).await.json;
        list["data"].as_array().expect("events").iter().rev().map(|e| e["event"].clone()).collect()
    }

    /// Asks until `fits`, or fails with what was there last.
    pub async fn until(&self, what: &str, path: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let answer = self.get(path).await;
            if answer.status == 200 && fits(&answer.json) {
                return answer.json;
            }
            assert!(Instant::now() < deadline, "{what}: {}", answer.text);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Sends a request.
pub async fn answer(request: reqwest::RequestBuilder) -> Answer {
    answer_with_headers(request).await.0
}

/// The answer, and the names of its headers.
async fn answer_with_headers(request: reqwest::RequestBuilder) -> (Answer, Vec<String>) {
    let response = request.send().await.expect("an answer");
    let headers = response.headers().keys().map(|name| name.as_str().to_owned()).collect();
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    (Answer { status, json: serde_json::from_str(&text).unwrap_or(Value::Null), text }, headers)
}

/// The id of a record.
pub fn id(record: &Value) -> &str {
    record["id"].as_str().expect("an id")
}

/// The endpoint of a source or workflow.
pub fn endpoint(record: &Value) -> String {
    let props = record["configured_props"].as_object().into_iter().flatten().map(|(_, v)| v);
    let triggers = record["triggers"].as_array().into_iter().flatten();
    props.chain(triggers).find_map(|v| v["endpoint_url"].as_str()).expect("an endpoint").to_owned()
}
