//! `$.send.http`: one request, whose answer counts by its status only.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use millrace_model::error_chain;
use millrace_model::http::check_headers;
use millrace_model::json;
use millrace_store::Delivery;
use percent_encoding::percent_decode_str;
use reqwest::header::{
    AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use reqwest::{Method, Request, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use crate::VERSION;
use crate::deliver::{TRY_TIMEOUT, Tried};
use crate::reach::{Reach, Unreachable};
use crate::trace_context;

/// Redirects that are followed.
const REDIRECTS_MAX: usize = 5;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Headers that belong to the connection and not to the sender.
const OWN_HEADERS: &[&str] = &[
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "upgrade",
    "te",
    "trailer",
    "expect",
    "proxy-authorization",
];

#[derive(Deserialize)]
struct Sent {
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

/// Sends the request under the rules by which hosts connect: what is decided on is what is
/// connected to, for each redirect anew. `parent`: the `traceparent` that it carries, unless it has
/// one.
pub(crate) async fn send(reach: &Reach, delivery: &Delivery, parent: Option<&str>) -> Tried {
    let request = json::read(&delivery.payload)
        .and_then(serde_json::from_value)
        .map_err(|e| format!("the request cannot be read: {e}"))
        .and_then(build);
    let mut request = match request {
        Ok(request) => request,
        Err(error) => return Tried::never(error),
    };
    if let Ok(id) = HeaderValue::from_str(delivery.id.as_str()) {
        request.headers_mut().insert("x-millrace-delivery", id);
    }
    if let Some(parent) = parent.and_then(|parent| HeaderValue::from_str(parent).ok()) {
        request.headers_mut().entry(trace_context::HEADER).or_insert(parent);
    }
    for _ in 0..=REDIRECTS_MAX {
        let client = match reach.client(request.url()).await {
            Ok(client) => client,
            Err(why) => return unreachable(&why),
        };
        let again = request.try_clone();
        let response = match client.execute(request).await {
            Ok(response) => response,
            // The address may hold a secret: it is not shown.
            Err(error) if error.is_builder() => {
                return Tried::never(error_chain(&error.without_url()));
            }
            Err(error) => {
                return Tried::Later { status: None, error: error_chain(&error.without_url()) };
            }
        };
        let status = response.status();
        let (Some(location), Some(again)) =
            (response.headers().get(LOCATION).filter(|_| status.is_redirection()), again)
        else {
            return Tried::by_status(status.as_u16(), "");
        };
        request = match location
            .to_str()
            .ok()
            .and_then(|to| again.url().join(to).ok())
            .filter(|to| matches!(to.scheme(), "http" | "https"))
        {
            Some(to) => redirected(again, to, status),
            None => return Tried::never("a redirect to something that is not http or https"),
        };
    }
    Tried::never(format!("more than {REDIRECTS_MAX} redirects"))
}

/// The request that follows a redirect: 307 and 308 repeat it, others become a GET. Another host
/// gets no credentials.
fn redirected(mut request: Request, mut to: Url, status: StatusCode) -> Request {
    let is_elsewhere = (to.host_str(), to.port_or_known_default())
        != (request.url().host_str(), request.url().port_or_known_default());
    let headers = request.headers_mut();
    if is_elsewhere {
        for name in [AUTHORIZATION, COOKIE] {
            headers.remove(name);
        }
    }
    if let Some(of_address) = taken_credentials(&mut to) {
        headers.insert(AUTHORIZATION, of_address);
    }
    if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
        headers.remove(CONTENT_TYPE);
        *request.body_mut() = None;
        if *request.method() != Method::HEAD {
            *request.method_mut() = Method::GET;
        }
    }
    *request.url_mut() = to;
    request
}

/// What its clients have in common.
pub(crate) fn common() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TRY_TIMEOUT)
        .user_agent(format!("Millrace/{VERSION}"))
}

/// What is refused is so for good; what is not found may be later.
fn unreachable(why: &Unreachable) -> Tried {
    match why {
        Unreachable::Closed(_) | Unreachable::NoHost => Tried::never(why.to_string()),
        Unreachable::NotFound(_) | Unreachable::Client(_) => {
            Tried::Later { status: None, error: why.to_string() }
        }
    }
}

fn basic(pair: &[u8]) -> HeaderValue {
    let text = format!("Basic {}", STANDARD.encode(pair));
    // Base64 is valid in a header.
    let mut value = HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("Basic"));
    value.set_sensitive(true);
    value
}

/// Takes user and password out of an address, for the header: clients log addresses.
fn taken_credentials(url: &mut Url) -> Option<HeaderValue> {
    let pair = [url.username(), ":", url.password().unwrap_or_default()].concat();
    if pair == ":" {
        return None;
    }
    let pair: Vec<u8> = percent_decode_str(&pair).collect();
    // An address with a host takes them.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    Some(basic(&pair))
}

fn build(request: Sent) -> Result<Request, String> {
    let method = request.method.as_deref().unwrap_or("GET");
    let method = Method::from_bytes(method.as_bytes())
        .ok()
        .filter(|m| *m != Method::CONNECT)
        .ok_or_else(|| format!("`{method}` is not a method that can be sent"))?;
    let mut url = Url::parse(&request.url).map_err(|e| format!("the address is not valid: {e}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "the address begins with `{}:`, allowed are http and https",
            url.scheme()
        ));
    }
    let params = request.params.unwrap_or_default();
    if !params.is_empty() {
        let mut query = url.query_pairs_mut();
        for (name, value) in params
            .iter()
            .flat_map(|(name, value)| texts(value).into_iter().map(move |text| (name, text)))
        {
            query.append_pair(name, &value);
        }
    }
    let mut headers = headers(&request.headers.unwrap_or_default())?;
    let form = headers
        .get(CONTENT_TYPE)
        .is_some_and(|v| v.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
    let body = match &request.data {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) if form => {
            let pairs = fields.iter().flat_map(|(name, value)| {
                texts(value).into_iter().map(move |text| (name.clone(), text))
            });
            Some(url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish())
        }
        json => {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
            Some(json.to_string())
        }
    };
    let of_address = taken_credentials(&mut url);
    if let Some(auth) = request.auth {
        let pair = format!("{}:{}", auth.username, auth.password.unwrap_or_default());
        headers.insert(AUTHORIZATION, basic(pair.as_bytes()));
    } else if let Some(of_address) = of_address {
        headers.insert(AUTHORIZATION, of_address);
    }
    let mut built = Request::new(method, url);
    *built.headers_mut() = headers;
    *built.body_mut() = body.map(Into::into);
    Ok(built)
}

fn headers(given: &Map<String, Value>) -> Result<HeaderMap, String> {
    let given: Vec<_> = given
        .iter()
        .flat_map(|(name, value)| texts(value).into_iter().map(move |text| (name.as_str(), text)))
        .collect();
    check_headers(given.iter().map(|(name, text)| (*name, text.as_str())))
        .map_err(|error| error.to_string())?;
    let mut headers = HeaderMap::new();
    for (name, text) in given {
        let refuse =
            || format!("`{}` is not a header that can be sent", millrace_model::shown(name));
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse())?;
        if OWN_HEADERS.contains(&parsed.as_str()) {
            continue;
        }
        headers.append(parsed, HeaderValue::from_str(&text).map_err(|_| refuse())?);
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

    fn built(request: Value) -> Result<Request, String> {
        build(serde_json::from_value(request).map_err(|e| e.to_string())?)
    }

    #[tokio::test]
    async fn closed_addresses_are_refused_for_good() {
        let reach = Reach::new(millrace_model::egress::Shared::default(), common);
        let refused = reach
            .client(&Url::parse("http://169.254.169.254/latest").expect("an address"))
            .await
            .expect_err("is closed");
        assert!(
            matches!(unreachable(&refused), Tried::Never { error, .. } if error.contains("--egress-allow"))
        );
    }

    #[test]
    fn a_redirect_takes_no_credentials_elsewhere() {
        let request = || {
            let request = json!({ "method": "POST", "url": "http://a.test/x", "data": { "a": 1 }, "headers": { "cookie": "c" }, "auth": { "username": "u" } });
            built(request).expect("builds")
        };
        let to = |url: &str, status: u16| {
            redirected(
                request(),
                Url::parse(url).expect("an address"),
                StatusCode::from_u16(status).expect("a status"),
            )
        };
        let same = to("http://a.test/y", 307);
        assert_eq!(
            (same.method(), same.body().is_some(), same.headers().contains_key(AUTHORIZATION)),
            (&Method::POST, true, true)
        );
        let other = to("http://a.test:81/y", 302);
        assert_eq!((other.method(), other.body().is_some()), (&Method::GET, false));
        assert!(
            !other.headers().contains_key(AUTHORIZATION)
                && !other.headers().contains_key(COOKIE)
                && !other.headers().contains_key(CONTENT_TYPE)
        );
    }

    #[test]
    fn a_request_is_built_as_it_was_given() {
        let request = built(json!({
            "method": "PUT", "url": "https://x.test/a?b=1", "params": { "c": [2, "d e"], "none": null }, "headers": { "X-A": 1, "Host": "evil" },
            "data": { "k": "ü" }, "auth": { "username": "u", "password": "p" },
        }))
        .expect("builds");
        assert_eq!(
            (request.method(), request.url().as_str()),
            (&Method::PUT, "https://x.test/a?b=1&c=2&c=d+e")
        );
        let header = |name: &str| request.headers().get(name).and_then(|v| v.to_str().ok());
        assert_eq!(
            (header("x-a"), header("host"), header("content-type"), header("authorization")),
            (Some("1"), None, Some("application/json"), Some("Basic dTpw"))
        );
        assert_eq!(request.body().and_then(|b| b.as_bytes()), Some(r#"{"k":"ü"}"#.as_bytes()));
        let form = json!({ "method": "POST", "url": "http://x.test", "headers": { "content-type": "application/x-www-form-urlencoded" }, "data": { "a": "b c", "n": 1 } });
        assert_eq!(
            built(form).expect("builds").body().and_then(|b| b.as_bytes()),
            Some(b"a=b+c&n=1".as_slice())
        );
    }

    #[test]
    fn user_and_password_of_an_address_are_sent_and_stand_in_no_address() {
        let authorization = |request: &Request| {
            let value = request.headers().get(AUTHORIZATION)?;
            Some((value.to_str().expect("text").to_owned(), value.is_sensitive()))
        };
        let request = built(json!({ "url": "http://us:p%40w@x.test/y" })).expect("builds");
        assert_eq!(request.url().as_str(), "http://x.test/y");
        assert_eq!(
            authorization(&request),
            Some((format!("Basic {}", STANDARD.encode("us:p@w")), true))
        );
        let to = Url::parse("http://other@z.test/").expect("an address");
        let request = redirected(request, to, StatusCode::FOUND);
        assert_eq!(request.url().as_str(), "http://z.test/");
        assert_eq!(
            authorization(&request),
            Some((format!("Basic {}", STANDARD.encode("other:")), true))
        );
        let both =
            json!({ "url": "http://us:pw@x.test", "auth": { "username": "u", "password": "p" } });
        assert_eq!(authorization(&built(both).expect("builds")), Some(("Basic dTpw".into(), true)));
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
            json!({ "url": "http://x.test", "headers": { "a": vec![1; 257] } }),
            json!({ "url": "http://x.test", "headers": (0..40_000).map(|n| (format!("x-{n}"), json!(n))).collect::<Map<_, _>>() }),
        ] {
            assert!(built(bad.clone()).is_err(), "{bad}");
        }
    }
}
