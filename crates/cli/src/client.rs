//! Requests to `/v1`, and errors as the server says them.

use reqwest::Method;
use serde_json::Value;

use crate::commands::CliError;
use crate::profile::Profile;

/// A client of one server.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    pub(crate) profile: Profile,
}

impl Client {
    pub(crate) fn new(profile: Profile) -> Result<Self, CliError> {
        let http = reqwest::Client::builder()
            .user_agent(concat!("millrace-cli/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| CliError::new(format!("could not make an HTTP client: {e}"), ""))?;
        Ok(Self { http, profile })
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}/v1{path}", self.profile.url)).bearer_auth(&self.profile.api_key)
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, CliError> {
        self.send(self.request(Method::GET, path)).await
    }

    pub(crate) async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value, CliError> {
        self.send(self.request(method, path).json(body)).await
    }

    /// The whole answer; an error as the server says it.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Result<Value, CliError> {
        let response = request.send().await.map_err(|e| self.unreachable(&e))?;
        let status = response.status();
        let text = response.text().await.map_err(|e| self.unreachable(&e))?;
        let value: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if status.is_success() {
            return Ok(value);
        }
        let sentence = value["error"].as_str().map_or_else(|| format!("the server answered {status}"), str::to_owned);
        let hint = match status.as_u16() {
            401 => "run `millrace login` with a valid key".to_owned(),
            _ => missing_props(&value),
        };
        Err(CliError::new(sentence, hint))
    }

    pub(crate) fn unreachable(&self, error: &reqwest::Error) -> CliError {
        let why = if error.is_connect() { "is it running there?" } else { "the connection was lost" };
        CliError::new(
            format!("could not reach the server at `{}`", self.profile.url),
            format!("{why} start one with `millrace serve`, or name another with --url"),
        )
    }

    /// A source or workflow by id, slug or name: kind in the path, and id.
    pub(crate) async fn resolve(&self, name: &str) -> Result<(&'static str, String), CliError> {
        for (kind, prefix, list) in [("sources", "dc_", "/users/me/sources"), ("workflows", "p_", "/workflows")] {
            if name.starts_with(prefix) {
                return Ok((kind, name.to_owned()));
            }
            let mut after = String::new();
            loop {
                let page = self.get(&format!("{list}?limit=100{after}")).await?;
                let items = page["data"].as_array().cloned().unwrap_or_default();
                if let Some(found) = items.iter().find(|i| i["name_slug"] == name).or_else(|| items.iter().find(|i| i["name"] == name)) {
                    return Ok((kind, found["id"].as_str().unwrap_or("").to_owned()));
                }
                if items.len() < 100 {
                    break;
                }
                after = format!("&after={}", page["page_info"]["end_cursor"].as_str().unwrap_or(""));
            }
        }
        Err(CliError::new(format!("there is no source or workflow `{name}`"), "`millrace list sources` and `millrace list workflows` show what there is"))
    }
}

/// How to give the props that are missing.
fn missing_props(error: &Value) -> String {
    let props = error["details"]["props"].as_array().into_iter().flatten().filter_map(|p| p["prop"].as_str());
    let flags: Vec<String> = props.map(|p| format!("--prop {p}=VALUE")).collect();
    if flags.is_empty() { String::new() } else { format!("give {}", flags.join(" ")) }
}
