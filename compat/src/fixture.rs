//! Recorded runs of a component: what it was given, what the services it asked answered, what it
//! did. See docs/dev/measuring-compatibility.md.

use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result};
use millrace_runner::{Effect, EffectSink};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What stands before a component's code: its requests go to the recorded answers, with the address
/// that was meant in a header.
const LEAD: &str = include_str!("lead.mjs");
/// The header that holds it.
const MEANT: &str = "x-fixture-url";
/// The largest request that is read.
const REQUEST_BYTES_MAX: usize = 16 << 20;

/// The runs of one component.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixture {
    /// Values as code gets them: `{"github": {"$auth": {…}}, "http": {"endpoint": "https://…"}}`.
    #[serde(default)]
    pub props: Map<String, Value>,
    /// What `$.service.db` holds at first.
    #[serde(default)]
    pub db: Map<String, Value>,
    /// Runs and hooks, in order.
    pub calls: Vec<Recorded>,
}

/// A run or a hook.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// A hook in place of a run.
    pub hook: Option<String>,
    /// The event of a source.
    #[serde(default)]
    pub event: Value,
    /// Requests in any order, and their answers.
    #[serde(default)]
    http: Vec<Exchange>,
    /// The events that are emitted.
    emits: Option<Vec<Value>>,
    /// What an action exports, `$return_value` among it.
    exports: Option<Value>,
    /// What is written to `$.service.db`.
    db: Option<Value>,
    /// The HTTP answers that are given.
    responds: Option<Vec<Value>>,
    /// The class of the error that ends it.
    error: Option<String>,
}

/// A request and its answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    #[serde(default = "get")]
    method: String,
    /// With its query; without one, any query fits.
    url: String,
    /// What the body must hold, where it is JSON.
    request: Option<Value>,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    body: Value,
}

fn get() -> String {
    "GET".into()
}

const fn ok() -> u16 {
    200
}

impl Fixture {
    /// The fixture of a component: `<slug>.fixture.json` beside it, or at the same place below
    /// `folder`.
    pub fn read(folder: &Path, component: &str) -> Result<Option<Self>> {
        let stem = component.rsplit_once('.').map_or(component, |(stem, _)| stem);
        let path = folder.join(format!("{stem}.fixture.json"));
        match std::fs::read_to_string(&path) {
            Ok(text) => millrace_model::json::from_str(&text).map(Some).with_context(|| {
                format!("the fixture `{}` is not of the expected form", path.display())
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                Err(error).with_context(|| format!("could not read `{}`", path.display()))
            }
        }
    }
}

/// A component's code behind what leads its requests to `port`.
pub fn led(code: &str, port: u16) -> String {
    format!("{}\n{code}", LEAD.replace("PORT", &port.to_string()))
}

/// What a call did.
#[derive(Default)]
pub struct Did {
    emits: Vec<Value>,
    pub db: Map<String, Value>,
    responds: Vec<Value>,
}

/// Collects it.
#[derive(Default)]
pub struct Collect(pub Mutex<Did>);

impl EffectSink for Collect {
    fn effect(&self, effect: Effect) {
        let Ok(mut did) = self.0.lock() else { return };
        let value = |raw: Option<Box<serde_json::value::RawValue>>| {
            raw.and_then(|raw| millrace_model::json::from_str(raw.get()).ok())
                .unwrap_or(Value::Null)
        };
        match effect {
            Effect::Emit { event, meta } => {
                did.emits.push(json!({ "event": value(event), "meta": value(meta) }))
            }
            Effect::Db { key, value: written } => {
                did.db.insert(key, value(written));
            }
            Effect::Respond(response) => {
                let body = String::from_utf8_lossy(&response.body).into_owned();
                let body = millrace_model::json::from_str(&body).unwrap_or(Value::from(body));
                did.responds.push(json!({ "status": response.status, "body": body }));
            }
            _ => {}
        }
    }
}

impl Recorded {
    /// Where what was done is not what was recorded. `ended`: the result or the class of the error.
    pub fn differences(
        &self,
        did: &Did,
        ended: &Result<Value, String>,
        asked: &[String],
    ) -> Vec<String> {
        let mut found: Vec<String> =
            asked.iter().map(|request| format!("no recorded answer for {request}")).collect();
        match (&self.error, ended) {
            (None, Err(error)) => found.push(format!("it ended with {error}")),
            (Some(expected), Ok(_)) => found.push(format!("it did not end with {expected}")),
            (Some(expected), Err(error)) if !error.starts_with(expected.as_str()) => {
                found.push(format!("it ended with {error}, not {expected}"))
            }
            _ => {}
        }
        let emits = self.emits.as_ref().map(|emits| Value::from(emits.clone()));
        let responds = self.responds.as_ref().map(|responds| Value::from(responds.clone()));
        let result = ended.as_ref().cloned().unwrap_or_default();
        for (what, expected, got) in [
            ("emits", &emits, &Value::from(did.emits.clone())),
            ("db", &self.db, &Value::Object(did.db.clone())),
            ("responds", &responds, &Value::from(did.responds.clone())),
            ("exports", &self.exports, &result),
        ] {
            if let Some(expected) = expected.as_ref().filter(|expected| !fits(expected, got)) {
                found.push(format!("{what}: {expected} was recorded, {got} is so"));
            }
        }
        found
    }
}

/// Whether `got` has all that is expected: of objects the fields that are named, of lists each
/// item.
fn fits(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => {
            expected.iter().all(|(key, value)| fits(value, got.get(key).unwrap_or(&Value::Null)))
        }
        (Value::Array(expected), Value::Array(got)) => {
            expected.len() == got.len() && expected.iter().zip(got).all(|(e, g)| fits(e, g))
        }
        _ => expected == got,
    }
}

/// The services that components ask, with the answers of one call at a time.
pub struct Answers {
    pub port: u16,
    now: Arc<Mutex<Now>>,
}

#[derive(Default)]
struct Now {
    left: Vec<Exchange>,
    /// Requests that nobody recorded.
    unknown: Vec<String>,
}

impl Answers {
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .context("could not listen for the requests of fixtures")?;
        let port = listener.local_addr().context("a listener has no address")?.port();
        let now: Arc<Mutex<Now>> = Arc::default();
        let of_all = now.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let now = of_all.clone();
                // A component that broke its request off gets no answer.
                tokio::spawn(async move { answer(stream, &now).await });
            }
        });
        Ok(Self { port, now })
    }

    /// The answers of a call from now on.
    pub fn set(&self, call: &Recorded) {
        if let Ok(mut now) = self.now.lock() {
            *now = Now { left: call.http.clone(), unknown: Vec::new() };
        }
    }

    /// Requests that nobody recorded.
    pub fn unknown(&self) -> Vec<String> {
        self.now.lock().map(|mut now| std::mem::take(&mut now.unknown)).unwrap_or_default()
    }
}

async fn answer(mut stream: TcpStream, now: &Mutex<Now>) -> Option<()> {
    let mut bytes = Vec::new();
    let (head, body_at) = loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break (String::from_utf8_lossy(&bytes[..end]).into_owned(), end + 4);
        }
        if bytes.len() > REQUEST_BYTES_MAX || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let header = |name: &str| {
        head.lines().find_map(|line| {
            line.split_once(':')
                .filter(|(n, _)| n.eq_ignore_ascii_case(name))
                .map(|(_, v)| v.trim().to_owned())
        })
    };
    let length = header("content-length").and_then(|text| text.parse::<usize>().ok());
    let is_whole = |bytes: &[u8]| {
        length.map_or_else(
            || header("transfer-encoding").is_none() || bytes.ends_with(b"0\r\n\r\n"),
            |length| bytes.len() >= body_at + length,
        )
    };
    while !is_whole(&bytes) {
        if bytes.len() > REQUEST_BYTES_MAX || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let (method, url) =
        (head.split(' ').next().unwrap_or("GET").to_owned(), header(MEANT).unwrap_or_default());
    let body: Value = millrace_model::json::from_slice(&bytes[body_at..]).unwrap_or_default();
    let found = {
        let mut now = now.lock().ok()?;
        let at = now.left.iter().position(|exchange| exchange.answers(&method, &url, &body));
        match at {
            Some(at) => Some(now.left.remove(at)),
            None => {
                now.unknown.push(format!("{method} {url}"));
                None
            }
        }
    };
    let (status, mut headers, body) = match found {
        Some(exchange) => (exchange.status, exchange.headers, exchange.body),
        None => (501, Map::new(), json!({ "error": "the fixture has no answer for this request" })),
    };
    let text = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
    headers.entry("content-type").or_insert(if body.is_string() {
        "text/plain".into()
    } else {
        "application/json".into()
    });
    let headers: String = headers
        .iter()
        .map(|(name, value)| {
            format!(
                "{name}: {}\r\n",
                value.as_str().map_or_else(|| value.to_string(), str::to_owned)
            )
        })
        .collect();
    let response = format!(
        "HTTP/1.1 {status} Recorded\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{text}",
        text.len()
    );
    stream.write_all(response.as_bytes()).await.ok()
}

impl Exchange {
    fn answers(&self, method: &str, url: &str, body: &Value) -> bool {
        let same = self.url == url
            || (!self.url.contains('?') && url.split('?').next() == Some(&self.url));
        same && self.method.eq_ignore_ascii_case(method)
            && self.request.as_ref().is_none_or(|expected| fits(expected, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_must_fit_and_nothing_else() {
        assert!(fits(&json!({ "a": [{ "b": 1 }] }), &json!({ "a": [{ "b": 1, "c": 2 }], "d": 3 })));
        assert!(
            !fits(&json!({ "a": [1] }), &json!({ "a": [1, 2] }))
                && !fits(&json!({ "a": 1 }), &json!({}))
                && fits(&json!({ "a": null }), &json!({}))
        );
    }

    #[test]
    fn an_exchange_answers_its_own_request() {
        let exchange: Exchange = serde_json::from_value(
            json!({ "method": "POST", "url": "https://a.test/x", "request": { "n": 1 } }),
        )
        .expect("an exchange");
        assert!(exchange.answers("post", "https://a.test/x?page=2", &json!({ "n": 1, "m": 2 })));
        assert!(
            !exchange.answers("POST", "https://a.test/y", &json!({ "n": 1 }))
                && !exchange.answers("GET", "https://a.test/x", &json!({ "n": 1 }))
        );
        assert!(!exchange.answers("POST", "https://a.test/x", &json!({})));
    }

    #[test]
    fn differences_are_told() {
        let call: Recorded = serde_json::from_value(
            json!({ "emits": [{ "event": { "a": 1 } }], "error": "TypeError" }),
        )
        .expect("a call");
        let did = Did { emits: vec![json!({ "event": { "a": 2 }, "meta": {} })], ..Did::default() };
        let found = call.differences(&did, &Ok(Value::Null), &["GET https://a.test/".into()]);
        assert_eq!(found.len(), 3, "{found:?}");
        let did = Did { emits: vec![json!({ "event": { "a": 1 }, "meta": {} })], ..Did::default() };
        assert!(call.differences(&did, &Err("TypeError: x".into()), &[]).is_empty());
    }
}
