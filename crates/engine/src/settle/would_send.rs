//! `$.send` calls of a test in the results of its steps: bounded, without credentials.

use millrace_model::credential_names::is_credential_name;
use millrace_model::json;
use millrace_model::run::{Sent, StepResult, WouldSend};
use millrace_store::DeliveryKind;
use serde_json::{Map, Value, json};
use url::Url;

use crate::deliver::target_of;
use crate::deliver::webhook_address::has_credentials;

/// Calls that are recorded of a test.
const CALLS_MAX: usize = 100;
/// Characters of a text that is shown whole, and of what is shown of a longer one or of a target.
const TEXT_MAX: usize = 4096;
const PREVIEW: usize = 500;
/// Bytes of one payload, and of all of a test.
const PAYLOAD_MAX: usize = 16_384;
const ALL_MAX: usize = 131_072;
const HIDDEN: &str = "[hidden]";

/// Puts the calls into the results of their steps.
pub(super) fn record(steps: &mut [StepResult], sends: &[Sent]) {
    let mut left = ALL_MAX;
    for Sent(kind, payload, step) in sends.iter().take(CALLS_MAX) {
        let is_its = |result: &StepResult| Some(&result.namespace) == step.as_ref();
        let at = match steps.iter().position(is_its) {
            Some(at) => at,
            None if steps.is_empty() => return,
            // Called between steps: by what the last one left behind.
            None => steps.len() - 1,
        };
        let mut would_send = shown(kind, json::read(payload.get()).unwrap_or_default());
        let size = would_send.payload.to_string().len();
        if size > PAYLOAD_MAX.min(left) {
            would_send.payload = json!({ "$truncated": true });
        } else {
            left -= size;
        }
        steps[at].would_send.push(would_send);
    }
}

fn shown(kind: &str, payload: Value) -> WouldSend {
    let target = match DeliveryKind::parse(kind) {
        Some(kind) => target_of(kind, &payload),
        None => {
            let channel = payload.get("name").or_else(|| payload.get("channel"));
            channel.and_then(Value::as_str).unwrap_or("").to_owned()
        }
    };
    let target = target.chars().take(PREVIEW).collect();
    WouldSend { kind: kind.to_owned(), target, payload: without_credentials(payload) }
}

/// Hides values under the name of a credential and credentials in addresses, and cuts long texts.
/// Depth is bounded by what the reader of JSON takes.
fn without_credentials(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| {
                    let is_hidden = is_credential_name(&name) && !value.is_null();
                    let value = if is_hidden { HIDDEN.into() } else { without_credentials(value) };
                    (name, value)
                })
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => items.into_iter().map(without_credentials).collect(),
        Value::String(text) => text_shown(text),
        other => other,
    }
}

fn text_shown(text: String) -> Value {
    let text = if text.starts_with("http://") || text.starts_with("https://") {
        address_shown(text)
    } else {
        text
    };
    let chars = text.chars().count();
    if chars <= TEXT_MAX {
        return text.into();
    }
    let preview: String = text.chars().take(PREVIEW).collect();
    json!({ "$truncated": true, "$chars": chars, "$preview": preview })
}

/// An address without its user and the credentials of its query; as it was where it has none.
fn address_shown(text: String) -> String {
    let Ok(mut url) = Url::parse(&text) else { return text };
    let has_user = has_credentials(&url);
    let has_secret_query = url.query_pairs().any(|(name, _)| is_credential_name(&name));
    if has_user {
        // Fails only for addresses that have no user.
        let _ = url.set_username("").and(url.set_password(None));
    }
    if has_secret_query {
        let pairs: Vec<_> = url.query_pairs().into_owned().collect();
        let mut query = url.query_pairs_mut();
        query.clear();
        for (name, value) in &pairs {
            let value = if is_credential_name(name) { HIDDEN } else { value };
            query.append_pair(name, value);
        }
    }
    if has_user || has_secret_query { url.to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use millrace_model::run::RunStatus;
    use serde_json::value::{RawValue, to_raw_value};

    use super::*;

    fn recorded(sends: &[(&str, Value, &str)]) -> Vec<StepResult> {
        let exports = || RawValue::from_string("{}".into()).unwrap();
        let step =
            |name: &str| StepResult::new(name.to_owned(), RunStatus::Succeeded, Some(1), exports());
        let mut steps = vec![step("first"), step("second")];
        let sends: Vec<_> = sends
            .iter()
            .map(|(kind, payload, step)| {
                let step = (!step.is_empty()).then(|| (*step).to_owned());
                Sent((*kind).to_owned(), to_raw_value(payload).unwrap(), step)
            })
            .collect();
        record(&mut steps, &sends);
        steps
    }

    #[test]
    fn each_step_has_the_calls_that_it_made_without_credentials() {
        let http = json!({
            "method": "POST", "url": "https://u:p@x.test/a?api_key=k1&page=2",
            "headers": { "Authorization": "Bearer t", "Accept": "text/plain" },
            "data": { "items": [{ "password": "p", "note": "n" }], "token": null },
        });
        let email = json!({ "to": "a@x.test", "subject": "s", "text": "t" });
        let steps = recorded(&[
            ("http", http, "first"),
            ("email", email.clone(), "second"),
            ("emit", json!({ "raw_event": 1, "name": "orders" }), ""),
        ]);
        let [sent] = steps[0].would_send.as_slice() else { panic!("{:?}", steps[0]) };
        assert_eq!(sent.target, "POST https://x.test/a");
        assert_eq!(
            sent.payload,
            json!({
                "method": "POST", "url": "https://x.test/a?api_key=%5Bhidden%5D&page=2",
                "headers": { "Authorization": "[hidden]", "Accept": "text/plain" },
                "data": { "items": [{ "password": "[hidden]", "note": "n" }], "token": null },
            })
        );
        let targets: Vec<_> =
            steps[1].would_send.iter().map(|sent| (&*sent.kind, &*sent.target)).collect();
        assert_eq!(targets, [("email", "a@x.test"), ("emit", "orders")]);
        assert_eq!(steps[1].would_send[0].payload, email);
    }

    #[test]
    fn what_is_recorded_is_bounded() {
        let address = format!("https://x.test/{}", "a".repeat(TEXT_MAX));
        let to_long = recorded(&[("http", json!({ "url": address }), "first")]);
        assert_eq!(to_long[0].would_send[0].target.len(), PREVIEW);
        let long = "x".repeat(TEXT_MAX + 1);
        let [text, many] = [json!({ "text": long }), json!(vec!["y".repeat(4000); 10])];
        let mut calls = vec![("email", text, "first"), ("sse", many, "first")];
        let full = json!({ "payload": vec!["z".repeat(4000); 4] });
        calls.extend((0..200).map(|_| ("sse", full.clone(), "second")));
        let steps = recorded(&calls);
        assert_eq!(
            steps[0].would_send[0].payload["text"],
            json!({ "$truncated": true, "$chars": TEXT_MAX + 1, "$preview": "x".repeat(PREVIEW) })
        );
        assert_eq!(steps[0].would_send[1].payload, json!({ "$truncated": true }));
        let whole = steps[1].would_send.iter().filter(|sent| sent.payload == full).count();
        assert_eq!((steps[1].would_send.len(), whole), (CALLS_MAX - 2, ALL_MAX / 16_020));
    }
}
