//! Headers of a request as the event has them.

use serde_json::{Map, Value, json};

/// Headers of which Node's `http` takes the first and drops those that come again.
const FIRST_WINS: [&str; 18] = [
    "age",
    "authorization",
    "content-length",
    "content-type",
    "etag",
    "expires",
    "from",
    "host",
    "if-modified-since",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "proxy-authorization",
    "referer",
    "retry-after",
    "server",
    "user-agent",
];

/// Header lines as `message.headers` of Node's `http` has them: of some names the first line
/// counts, cookies are joined by `; `, others by `, `, and `set-cookie` is a list.
pub(crate) fn headers(lines: &[(String, String)]) -> Map<String, Value> {
    let mut headers = Map::new();
    for (name, value) in lines {
        match headers.get_mut(name) {
            None if name == "set-cookie" => drop(headers.insert(name.clone(), json!([value]))),
            None => drop(headers.insert(name.clone(), Value::from(value.as_str()))),
            Some(Value::Array(values)) => values.push(Value::from(value.as_str())),
            Some(Value::String(before)) if !FIRST_WINS.contains(&name.as_str()) => {
                before.push_str(if name == "cookie" { "; " } else { ", " });
                before.push_str(value);
            }
            Some(_) => {}
        }
    }
    headers
}
