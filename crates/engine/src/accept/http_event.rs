//! A request to an endpoint as the event that code sees (reference 3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use encoding_rs::{Encoding, UTF_8};
use millrace_model::http::EndpointRequest;
use millrace_model::json;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use crate::EngineError;
use crate::accept::charsets::{charset_for, charset_of, essence_of, form, is_of_text, text_of};
use crate::accept::event_headers::headers;

/// Who gets the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// Gets `bodyRaw` as well: the text, where the body is one.
    Source,
    /// Gets `bodyRaw` only where `body` does not give the bytes back.
    Workflow,
}

/// The event, JSON text. A body that is no text in its charset is in it whole as well: `bodyRaw` in
/// base64, marked by `bodyEncoding`. So is, for workflows, one in another charset than UTF-8: its
/// text does not give its bytes back. A query is in `queryRaw` as it came: senders sign addresses,
/// and `query` does not give theirs back.
pub(crate) fn http_event(request: &EndpointRequest, receiver: Receiver) -> String {
    let content_type = request
        .headers
        .iter()
        .find(|(name, _)| name == "content-type")
        .map_or_else(String::new, |(_, value)| value.to_ascii_lowercase());
    let read = match &request.parsed {
        Some(parsed) => Read { body: Some(parsed.clone()), is_whole: true },
        None => read_body(&content_type, &request.body),
    };
    let (query, _) = form(request.query.as_bytes(), Some(UTF_8));
    let mut event = json!({
        "method": request.method,
        "path": request.path,
        "query": query,
        "headers": headers(&request.headers),
        "url": request.url,
        "client_ip": request.client_ip,
    });
    if !request.query.is_empty() {
        event["queryRaw"] = Value::from(request.query.as_str());
    }
    let charset = charset_for(&content_type, None, &request.body);
    let is_source = receiver == Receiver::Source;
    // Of UTF-8 that was read whole, `body` has the bytes: most bodies are not read again.
    if is_source || !read.is_whole || (charset != UTF_8 && request.parsed.is_none()) {
        let (text, is_text) = text_of(charset, &request.body);
        let has_bytes = is_text && text.as_bytes() == request.body;
        if (is_source && is_text) || (!read.is_whole && has_bytes) {
            event["bodyRaw"] = Value::from(text.as_ref());
        } else if !has_bytes {
            event["bodyRaw"] = Value::from(STANDARD.encode(&request.body));
            event["bodyEncoding"] = Value::from("base64");
        }
    }
    if let Some(body) = read.body {
        event["body"] = body;
    }
    event.to_string()
}

/// Refuses an event whose query or form has a name that no JSON may have here: what is taken can be
/// read again.
pub(crate) fn checked(event: String) -> Result<String, EngineError> {
    match json::check_names(event.as_bytes()) {
        Ok(()) => Ok(event),
        Err(error) => Err(EngineError::Invalid {
            code: "invalid_field",
            message: format!("the request cannot be an event: {error}"),
            details: json!({}),
        }),
    }
}

/// What code sees as the body.
struct Read {
    /// None: there is none, or it is no text and no form.
    body: Option<Value>,
    /// Whether nothing of it was lost on the way.
    is_whole: bool,
}

/// JSON and form bodies are parsed; what does not parse, or is nested deeper than values may be,
/// stays text. An empty body is absent, and so is one that is no text, unless its type says that it
/// is.
fn read_body(content_type: &str, body: &[u8]) -> Read {
    if body.is_empty() {
        return Read { body: None, is_whole: true };
    }
    let (charset, essence) = (charset_of(content_type), essence_of(content_type));
    if essence == "application/x-www-form-urlencoded"
        && charset.is_none_or(Encoding::is_ascii_compatible)
    {
        let (fields, is_whole) = form(body, charset);
        return Read { body: Some(fields), is_whole };
    }
    let (text, is_whole) = text_of(charset_for(content_type, None, body), body);
    let body = match essence {
        "application/x-www-form-urlencoded" => Some(pairs(text.as_bytes())),
        "application/json" => Some(json_or_text(&text)),
        _ if essence.ends_with("+json") => Some(json_or_text(&text)),
        _ if is_whole || is_of_text(essence) => Some(Value::from(text.as_ref())),
        _ => None,
    };
    Read { body, is_whole }
}

fn json_or_text(text: &str) -> Value {
    json::read_given(text.trim_start_matches('\u{feff}')).unwrap_or_else(|_| Value::from(text))
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
            headers: vec![
                ("content-type".into(), content_type.into()),
                ("x-a".into(), "1".into()),
                ("x-a".into(), "2".into()),
            ],
            client_ip: "127.0.0.1".into(),
            body: body.as_bytes().to_vec(),
            encoded: None,
            parsed: None,
        }
    }

    #[test]
    fn events_have_the_shape_of_their_receiver() {
        let source: Value = json::from_str(&http_event(
            &request("application/json", "{\"n\":1}"),
            Receiver::Source,
        ))
        .expect("JSON");
        assert_eq!(
            source,
            json!({ "method": "POST", "path": "/a", "query": { "x": "1", "y": ["2", "3"] }, "headers": { "content-type": "application/json", "x-a": "1, 2" }, "bodyRaw": "{\"n\":1}", "body": { "n": 1 },
                "queryRaw": "x=1&y=2&y=3", "url": "http://h/e/k/a", "client_ip": "127.0.0.1" })
        );
        let workflow: Value = json::from_str(&http_event(
            &request("application/x-www-form-urlencoded", "a=b"),
            Receiver::Workflow,
        ))
        .expect("JSON");
        assert_eq!(workflow["body"], json!({ "a": "b" }));
        assert_eq!(workflow["client_ip"], "127.0.0.1");
        assert!(workflow.get("bodyRaw").is_none() && workflow.get("timestamp").is_none());
    }

    #[test]
    fn a_body_is_text_of_the_charset_that_it_names() {
        let body = |content_type: &str, bytes: &[u8]| {
            let request = EndpointRequest { body: bytes.to_vec(), ..request(content_type, "") };
            json::from_str::<Value>(&http_event(&request, Receiver::Source)).expect("JSON")
        };
        assert_eq!(
            body("application/json; charset=ISO-8859-1", b"{\"a\":\"\xe9\"}")["body"],
            json!({ "a": "é" })
        );
        assert_eq!(body("text/xml; charset=\"windows-1252\"", b"<a>\x80</a>")["body"], "<a>€</a>");
        assert_eq!(body("text/plain;charset=utf-16", b"\xff\xfea\0\xe9\0")["body"], "aé");
        assert_eq!(body("text/plain; charset=nonsense", "é".as_bytes())["body"], "é");
        let marked = body("application/json", b"\xef\xbb\xbf{\"a\":1}");
        assert_eq!(
            (&marked["body"], &marked["bodyRaw"]),
            (&json!({ "a": 1 }), &json!("\u{feff}{\"a\":1}"))
        );
        assert_eq!(
            body("application/json", br#"{"a":"\ud83d"}"#)["body"],
            json!({ "a": "\u{fffd}" })
        );
    }

    fn event_of(content_type: &str, bytes: &[u8], receiver: Receiver) -> Value {
        let request = EndpointRequest { body: bytes.to_vec(), ..request(content_type, "") };
        json::from_str(&http_event(&request, receiver)).expect("JSON")
    }

    #[test]
    fn a_body_that_is_no_text_is_whole_in_base64() {
        let png = b"\x89PNG\r\n\x1a\n\0";
        for content_type in
            ["image/png", "", "application/octet-stream; charset=binary", "application/x-protobuf"]
        {
            for receiver in [Receiver::Source, Receiver::Workflow] {
                let event = event_of(content_type, png, receiver);
                assert_eq!(
                    (&event["bodyRaw"], &event["bodyEncoding"]),
                    (&json!(STANDARD.encode(png)), &json!("base64")),
                    "{content_type}"
                );
                assert!(event.get("body").is_none(), "{event}");
            }
        }
        // Bytes that are text are text, whatever their type says.
        let event = event_of("application/octet-stream", b"{\"a\":1}", Receiver::Workflow);
        assert_eq!(
            (&event["body"], event.get("bodyRaw"), event.get("bodyEncoding")),
            (&json!("{\"a\":1}"), None, None)
        );
        // What its type calls text is shown as such, and is whole beside it.
        for content_type in
            ["text/plain", "text/csv; charset=utf-8", "application/xml", "image/svg+xml"]
        {
            let event = event_of(content_type, b"caf\xe9", Receiver::Workflow);
            assert_eq!(
                (&event["body"], &event["bodyRaw"]),
                (&json!("caf\u{fffd}"), &json!(STANDARD.encode(b"caf\xe9"))),
                "{content_type}"
            );
        }
        let event = event_of("application/json", b"{\"a\":\"\xff\"}", Receiver::Workflow);
        assert_eq!(
            (&event["body"], &event["bodyEncoding"]),
            (&json!({ "a": "\u{fffd}" }), &json!("base64"))
        );
        // A charset of single bytes makes no text of them.
        let event = event_of("image/png; charset=iso-8859-1", png, Receiver::Source);
        assert_eq!(
            (&event["bodyRaw"], &event["bodyEncoding"], event.get("body")),
            (&json!(STANDARD.encode(png)), &json!("base64"), None)
        );
        // A charset in which the bytes are none.
        assert_eq!(
            event_of("text/plain; charset=euc-jp", b"\x8e", Receiver::Source)["bodyEncoding"],
            "base64"
        );
    }

    #[test]
    fn a_form_whose_escapes_are_no_text_keeps_them_beside_it() {
        let event = event_of("application/x-www-form-urlencoded", b"a=%E9&b=1", Receiver::Workflow);
        assert_eq!(
            (&event["body"], &event["bodyRaw"], event.get("bodyEncoding")),
            (&json!({ "a": "\u{fffd}", "b": "1" }), &json!("a=%E9&b=1"), None)
        );
        let event = event_of(
            "application/x-www-form-urlencoded; charset=windows-1252",
            b"a=%E9&b=%80",
            Receiver::Workflow,
        );
        assert_eq!((&event["body"], event.get("bodyRaw")), (&json!({ "a": "é", "b": "€" }), None));
        let event = event_of(
            "application/x-www-form-urlencoded; charset=utf-16le",
            b"a\0=\0b\0",
            Receiver::Workflow,
        );
        assert_eq!(
            (&event["body"], &event["bodyRaw"]),
            (&json!({ "a": "b" }), &json!(STANDARD.encode(b"a\0=\0b\0")))
        );
    }

    #[test]
    fn a_workflow_gets_the_bytes_of_a_body_in_another_charset() {
        for (content_type, bytes, read) in [
            ("application/json; charset=ISO-8859-1", &b"{\"a\":\"\xe9\"}"[..], json!({ "a": "é" })),
            ("text/plain; charset=windows-1252", b"\x80", json!("€")),
            ("text/plain; charset=utf-16le", b"a\0", json!("a")),
        ] {
            let event = event_of(content_type, bytes, Receiver::Workflow);
            assert_eq!(
                (&event["body"], &event["bodyRaw"], &event["bodyEncoding"]),
                (&read, &json!(STANDARD.encode(bytes)), &json!("base64"))
            );
        }
        for content_type in ["application/json; charset=ISO-8859-1", "application/json"] {
            let event = event_of(content_type, b"{\"a\":1}", Receiver::Workflow);
            assert!(event.get("bodyRaw").is_none(), "{event}");
        }
    }

    #[test]
    fn a_query_is_there_as_it_came() {
        let event = |query: &str, receiver: Receiver| {
            let request = EndpointRequest { query: query.into(), ..request("", "") };
            json::from_str::<Value>(&http_event(&request, receiver)).expect("JSON")
        };
        for receiver in [Receiver::Source, Receiver::Workflow] {
            let lost = event("name=Ren%E9&b=1", receiver);
            assert_eq!(
                (&lost["query"], &lost["queryRaw"]),
                (&json!({ "name": "Ren\u{fffd}", "b": "1" }), &json!("name=Ren%E9&b=1"))
            );
            // `+` or `%20`, the order, an empty value: `query` does not tell.
            let signed = "b=a+b%20c&a=1&b=2&c";
            assert_eq!(event(signed, receiver)["queryRaw"], signed);
            assert!(event("", receiver).get("queryRaw").is_none());
        }
    }

    #[test]
    fn repeated_header_lines_are_as_node_has_them() {
        let line = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let lines = [
            "x-a",
            "accept",
            "cookie",
            "set-cookie",
            "content-type",
            "user-agent",
            "authorization",
            "server",
            "x-forwarded-for",
        ];
        let twice: Vec<_> = lines
            .iter()
            .map(|name| line(name, "1"))
            .chain(lines.iter().map(|name| line(name, "2")))
            .collect();
        let expected = json!({ "x-a": "1, 2", "accept": "1, 2", "cookie": "1; 2", "set-cookie": ["1", "2"], "content-type": "1", "user-agent": "1",
            "authorization": "1", "server": "1", "x-forwarded-for": "1, 2" });
        assert_eq!(Value::Object(headers(&twice)), expected);
        assert_eq!(
            Value::Object(headers(&[line("set-cookie", "a"), line("cookie", "a")])),
            json!({ "set-cookie": ["a"], "cookie": "a" })
        );
    }

    #[test]
    fn a_body_that_does_not_parse_stays_text() {
        let event: Value =
            json::from_str(&http_event(&request("application/json", "{oops"), Receiver::Workflow))
                .expect("JSON");
        assert_eq!(event["body"], "{oops");
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let event = |body: &str| {
            json::read(&http_event(&request("application/json", body), Receiver::Workflow))
                .expect("an event is always read again")
        };
        assert!(event(&deep(json::NESTED_MAX))["body"].is_array());
        assert_eq!(event(&deep(json::NESTED_MAX + 1))["body"], deep(json::NESTED_MAX + 1));
    }
}
