//! Requests of code to the hosted platform's fixed API address: this server answers them
//! (reference 3), with the key that the code gives.

use std::sync::OnceLock;
use std::time::Duration;

use millrace_model::ids::OrgId;
use millrace_runner::{AskError, AskResult};
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::Engine;
use crate::answers::{self, AnswerError};
use crate::tenants::wrong_keys::ASKED_BY;

/// How long an answer is waited for; streams are not for such requests.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The largest answer, bytes.
const ANSWER_BYTES_MAX: usize = 2 << 20;

/// Client of this server's own API: made once, for that reads the certificates of the machine.
#[derive(Default)]
pub(crate) struct PlatformClient(OnceLock<reqwest::Client>);

impl PlatformClient {
    fn get(&self) -> reqwest::Result<&reqwest::Client> {
        if let Some(client) = self.0.get() {
            return Ok(client);
        }
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            // A connection for each request, as the clients of the API have: none is shared by
            // organizations.
            .pool_max_idle_per_host(0)
            .timeout(TIMEOUT)
            .build()?;
        Ok(self.0.get_or_init(|| client))
    }
}

#[derive(Deserialize)]
struct PlatformAsk {
    method: String,
    path: String,
    headers: Headers,
    #[serde(default)]
    body: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Headers {
    authorization: Option<String>,
    content_type: Option<String>,
}

impl Engine {
    /// Only `/v1` of this server, whatever the path says. What it shows of keys counts for the
    /// organization of the code that asks.
    pub(crate) async fn ask_platform(&self, org: &OrgId, payload: &RawValue) -> AskResult {
        let ask: PlatformAsk = millrace_model::json::from_str(payload.get())
            .map_err(|_| AskError::new("TypeError", "a request has method, path and headers"))?;
        let base = url::Url::parse(&self.0.config.base_url).map_err(failed)?;
        let url = base
            .join(&ask.path)
            .map_err(|_| AskError::new("TypeError", "the request's path is not valid"))?;
        if url.origin() != base.origin() || !url.path().starts_with("/v1/") {
            return Err(AskError::new(
                "NotFound",
                "the hosted platform's API has the paths under /v1",
            ));
        }
        let method: Method = ask
            .method
            .parse()
            .map_err(|_| AskError::new("TypeError", "the request's method is not valid"))?;
        let client = self.0.platform_client.get().map_err(failed)?;
        let mut request =
            client.request(method, url).header(ASKED_BY, self.keys().asked_by(org)).body(ask.body);
        for (name, value) in [
            ("authorization", ask.headers.authorization),
            ("content-type", ask.headers.content_type),
        ] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let response = request.send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let content_type = response
            .headers()
            .get("content-type")
            .and_then(|v| v.to_str().ok())
            .unwrap_or("application/json")
            .to_owned();
        let body =
            answers::whole(response, ANSWER_BYTES_MAX).await.map_err(|error| match error {
                AnswerError::TooLarge(error) => {
                    AskError::new("RangeError", format!("{error}; ask for less of it"))
                }
                AnswerError::Broken(error) => failed(error),
            })?;
        let answer = json!({ "status": status, "content_type": content_type, "body": String::from_utf8_lossy(&body) });
        to_raw_value(&answer).map(Some).map_err(failed)
    }
}

/// The cause is in the log: an address of this server is nothing that code has to know.
fn failed(error: impl std::fmt::Display) -> AskError {
    tracing::warn!(%error, "a request of code to this server's API failed");
    AskError::new("InternalFailure", "the server could not handle the request; see its log")
}
