//! A request to an endpoint as the event that code sees (reference 3).

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use millrace_model::http::EndpointRequest;
use millrace_model::json;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

/// Who gets the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// Gets `bodyRaw` as well.
    Source,
    /// Gets no `bodyRaw`.
    Workflow,
}

/// The event, JSON text.
pub(crate) fn http_event(request: &EndpointRequest, receiver: Receiver) -> String {
    let mut headers = Map::new();
    for (name, value) in &request.headers {
        match headers.get_mut(name) {
            Some(Value::String(before)) => {
                before.push_str(", ");
                before.push_str(value);
            }
            _ => {
                headers.insert(name.clone(), Value::from(value.as_str()));
            }
        }
    }
    let content_type = headers.get("content-type").and_then(Value::as_str).unwrap_or("").to_ascii_lowercase();
    let raw = text_of(&content_type, &request.body);
    let body = request.parsed.clone().or_else(|| parse_body(&content_type, &raw));
    let mut event = json!({
        "method": request.method,
        "path": request.path,
        "query": pairs(request.query.as_bytes()),
        "headers": headers,
        "url": request.url,
        "client_ip": request.client_ip,
    });
    if receiver == Receiver::Source {
        event["bodyRaw"] = Value::from(raw.as_ref());
    }
    if let Some(body) = body {
        event["body"] = body;
    }
    event.to_string()
}

/// The body as text, in the charset that its type names; UTF-8 where it names none or one that is not known.
fn text_of<'a>(content_type: &str, body: &'a [u8]) -> Cow<'a, str> {
    let charset = content_type.split(';').skip(1).find_map(|parameter| parameter.trim().strip_prefix("charset="));
    let encoding = charset.and_then(|label| Encoding::for_label(label.trim_matches('"').as_bytes())).unwrap_or(UTF_8);
    // In UTF-8 a byte order mark stays: signatures are of the body as it was sent.
    if encoding == UTF_8 { String::from_utf8_lossy(body) } else { encoding.decode(body).0 }
}

/// JSON and form bodies are parsed; what does not parse, or is nested deeper than values may be, stays text. An empty body is absent.
fn parse_body(content_type: &str, raw: &str) -> Option<Value> {
    if raw.is_empty() {
        return None;
    }
    let essence = content_type.split(';').next().unwrap_or("").trim();
    if essence == "application/json" || essence.ends_with("+json") {
        return Some(json::read_given(raw.trim_start_matches('\u{feff}')).unwrap_or_else(|_| Value::from(raw)));
    }
    if essence == "application/x-www-form-urlencoded" {
        return Some(pairs(raw.as_bytes()));
    }
    Some(Value::from(raw))
}

/// Pairs of a query or form; a name that comes again makes an array.
fn pairs(text: &[u8]) -> Value {
    let mut map = Map::new();
    for (name, value) in form_urlencoded::parse(text) {
        add_pair(&mut map, name.into_owned(), Value::from(value.as_ref()));
    }
    Value::Object(map)
}

/// Adds a pair; a name that comes again makes an array.
pub(crate) fn add_pair(map: &mut Map<String, Value>, name: String, value: Value) {
    match map.get_mut(&name) {
        None => {
            map.insert(name, value);
        }
        Some(Value::Array(values)) => values.push(value),
        Some(first) => *first = Value::Array(vec![first.take(), value]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(content_type: &str, body: &str) -> EndpointRequest {
        EndpointRequest {
            method: "POST".into(),
            path: "/a".into(),
            url: "http://h/e/k/a".into(),
            query: "x=1&y=2&y=3".into(),
            headers: vec![("content-type".into(), content_type.into()), ("x-a".into(), "1".into()), ("x-a".into(), "2".into())],
            client_ip: "127.0.0.1".into(),
            body: body.as_bytes().to_vec(),
            parsed: None,
        }
    }

    #[test]
    fn events_have_the_shape_of_their_receiver() {
        let source: Value = serde_json::from_str(&http_event(&request("application/json", "{\"n\":1}"), Receiver::Source)).expect("JSON");
        assert_eq!(
            source,
            json!({ "method": "POST", "path": "/a", "query": { "x": "1", "y": ["2", "3"] }, "headers": { "content-type": "application/json", "x-a": "1, 2" }, "bodyRaw": "{\"n\":1}", "body": { "n": 1 },
                "url": "http://h/e/k/a", "client_ip": "127.0.0.1" })
        );
        let workflow: Value = serde_json::from_str(&http_event(&request("application/x-www-form-urlencoded", "a=b"), Receiver::Workflow)).expect("JSON");
        assert_eq!(workflow["body"], json!({ "a": "b" }));
        assert_eq!(workflow["client_ip"], "127.0.0.1");
        assert!(workflow.get("bodyRaw").is_none() && workflow.get("timestamp").is_none());
    }

    #[test]
    fn a_body_is_text_of_the_charset_that_it_names() {
        let body = |content_type: &str, bytes: &[u8]| {
            let request = EndpointRequest { body: bytes.to_vec(), ..request(content_type, "") };
            serde_json::from_str::<Value>(&http_event(&request, Receiver::Source)).expect("JSON")
        };
        assert_eq!(body("application/json; charset=ISO-8859-1", b"{\"a\":\"\xe9\"}")["body"], json!({ "a": "é" }));
        assert_eq!(body("text/xml; charset=\"windows-1252\"", b"<a>\x80</a>")["body"], "<a>€</a>");
        assert_eq!(body("text/plain;charset=utf-16", b"\xff\xfea\0\xe9\0")["body"], "aé");
        assert_eq!(body("text/plain; charset=nonsense", "é".as_bytes())["body"], "é");
        let marked = body("application/json", b"\xef\xbb\xbf{\"a\":1}");
        assert_eq!((&marked["body"], &marked["bodyRaw"]), (&json!({ "a": 1 }), &json!("\u{feff}{\"a\":1}")));
        assert_eq!(body("application/json", br#"{"a":"\ud83d"}"#)["body"], json!({ "a": "\u{fffd}" }));
    }

    #[test]
    fn a_body_that_does_not_parse_stays_text() {
        let event: Value = serde_json::from_str(&http_event(&request("application/json", "{oops"), Receiver::Workflow)).expect("JSON");
        assert_eq!(event["body"], "{oops");
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let event = |body: &str| json::read(&http_event(&request("application/json", body), Receiver::Workflow)).expect("an event is always read again");
        assert!(event(&deep(json::NESTED_MAX))["body"].is_array());
        assert_eq!(event(&deep(json::NESTED_MAX + 1))["body"], deep(json::NESTED_MAX + 1));
    }
}
