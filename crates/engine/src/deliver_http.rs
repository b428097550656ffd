//! `$.send.http`: one request, whose answer counts by its status only.

use std::time::Duration;

use millrace_store::Delivery;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, redirect};
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use crate::VERSION;
use crate::deliver::{TRY_TIMEOUT, Tried};
use crate::execute::error_chain;

/// Redirects that are followed.
const REDIRECTS_MAX: usize = 5;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Headers that belong to the connection and not to the sender.
const OWN_HEADERS: &[&str] = &["host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "expect", "proxy-authorization"];

#[derive(Deserialize)]
struct Request {
    method: Option<String>,
    url: String,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    headers: Option<Map<String, Value>>,
    #[serde(default)]
    params: Option<Map<String, Value>>,
    auth: Option<BasicAuth>,
}

#[derive(Deserialize)]
struct BasicAuth {
    username: String,
    #[serde(default)]
    password: Option<String>,
}

/// A client that follows few redirects, and none to anything but http and https.
pub(crate) fn client() -> Result<reqwest::Client, reqwest::Error> {
    let policy = redirect::Policy::custom(|attempt| {
        if attempt.previous().len() > REDIRECTS_MAX {
            attempt.error(format!("more than {REDIRECTS_MAX} redirects"))
        } else if !matches!(attempt.url().scheme(), "http" | "https") {
            attempt.error("a redirect to something that is not http or https")
        } else {
            attempt.follow()
        }
    });
    let agent = format!("Millrace/{VERSION}");
    reqwest::Client::builder().redirect(policy).connect_timeout(CONNECT_TIMEOUT).timeout(TRY_TIMEOUT).user_agent(agent).build()
}

pub(crate) async fn send(client: &reqwest::Client, delivery: &Delivery) -> Tried {
    let request = match serde_json::from_str(&delivery.payload).map_err(|e| format!("the request cannot be read: {e}")).and_then(|r| build(client, r)) {
        Ok(request) => request,
        Err(error) => return Tried::never(error),
    };
    match request.header("x-millrace-delivery", delivery.id.as_str()).send().await {
        Ok(response) => Tried::by_status(response.status().as_u16(), ""),
        // The address may hold a secret: it is not shown.
        Err(error) if error.is_builder() || error.is_redirect() => Tried::never(error_chain(&error.without_url())),
        Err(error) => Tried::Later { status: None, error: error_chain(&error.without_url()) },
    }
}

fn build(client: &reqwest::Client, request: Request) -> Result<reqwest::RequestBuilder, String> {
    let method = request.method.as_deref().unwrap_or("GET");
    let method =
        Method::from_bytes(method.as_bytes()).ok().filter(|m| *m != Method::CONNECT).ok_or_else(|| format!("`{method}` is not a method that can be sent"))?;
    let mut url = Url::parse(&request.url).map_err(|e| format!("the address is none: {e}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("the address begins with `{}:`, allowed are http and https", url.scheme()));
    }
    let params = request.params.unwrap_or_default();
    if !params.is_empty() {
        let mut query = url.query_pairs_mut();
        for (name, value) in params.iter().flat_map(|(name, value)| texts(value).into_iter().map(move |text| (name, text))) {
            query.append_pair(name, &value);
        }
    }
    let mut headers = headers(&request.headers.unwrap_or_default())?;
    let form = headers.get(CONTENT_TYPE).is_some_and(|v| v.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
    let body = match &request.data {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) if form => {
            let pairs = fields.iter().flat_map(|(name, value)| texts(value).into_iter().map(move |text| (name.clone(), text)));
            Some(url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish())
        }
        json => {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
            Some(json.to_string())
        }
    };
    let mut builder = client.request(method, url).headers(headers);
    if let Some(auth) = request.auth {
        builder = builder.basic_auth(auth.username, auth.password);
    }
    Ok(match body {
        Some(body) => builder.body(body),
        None => builder,
    })
}

fn headers(given: &Map<String, Value>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let refuse = || format!("`{}` is not a header that can be sent", name.chars().take(80).collect::<String>());
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse())?;
        if OWN_HEADERS.contains(&parsed.as_str()) {
            continue;
        }
        for text in texts(value) {
            headers.append(&parsed, HeaderValue::from_str(&text).map_err(|_| refuse())?);
        }
    }
    Ok(headers)
}

/// A value as texts: a list has several, null has none.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        other => vec![other.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn built(request: Value) -> Result<reqwest::Request, String> {
        let client = client().map_err(|e| e.to_string())?;
        build(&client, serde_json::from_value(request).map_err(|e| e.to_string())?)?.build().map_err(|e| e.to_string())
    }

    #[test]
    fn a_request_is_built_as_it_was_given() {
        let request = built(json!({
            "method": "PUT", "url": "https://x.test/a?b=1", "params": { "c": [2, "d e"], "none": null }, "headers": { "X-A": 1, "Host": "evil" },
            "data": { "k": "ü" }, "auth": { "username": "u", "password": "p" },
        }))
        .expect("builds");
        assert_eq!((request.method(), request.url().as_str()), (&Method::PUT, "https://x.test/a?b=1&c=2&c=d+e"));
        let header = |name: &str| request.headers().get(name).and_then(|v| v.to_str().ok());
        assert_eq!(
            (header("x-a"), header("host"), header("content-type"), header("authorization")),
            (Some("1"), None, Some("application/json"), Some("Basic dTpw"))
        );
        assert_eq!(request.body().and_then(|b| b.as_bytes()), Some(r#"{"k":"ü"}"#.as_bytes()));
        let form = json!({ "method": "POST", "url": "http://x.test", "headers": { "content-type": "application/x-www-form-urlencoded" }, "data": { "a": "b c", "n": 1 } });
        assert_eq!(built(form).expect("builds").body().and_then(|b| b.as_bytes()), Some(b"a=b+c&n=1".as_slice()));
    }

    #[test]
    fn what_is_no_request_is_refused_for_good() {
        for bad in [
            json!({ "url": "file:///etc/passwd" }),
            json!({ "url": "nowhere" }),
            json!({ "url": "http://x.test", "method": "CONNECT" }),
            json!({ "url": "http://x.test", "method": "A B" }),
            json!({ "url": "http://x.test", "headers": { "a b": 1 } }),
            json!({ "url": "http://x.test", "headers": { "a": "b\r\nc: d" } }),
        ] {
            assert!(built(bad.clone()).is_err(), "{bad}");
        }
    }
}
