//! Credentials within the values of `http_request` props: where they are, and what a record shows
//! in their place.

use millrace_model::credential_names::is_credential_name;
use millrace_model::props::SEALED;
use serde_json::{Map, Value, json};

use crate::EngineError;

/// Key of what a record shows in the place of a credential, as runs do.
const SECRET: &str = "$secret";

/// Fields of `auth` that are no credentials.
const PLAIN: [&str; 2] = ["type", "username"];

/// The credentials of a request, by names that hold however its headers, parameters and fields are
/// ordered. A value with a `url` counts as a request, whatever type its prop has: definitions
/// change, and stored values stay.
pub(super) fn credentials(value: &mut Value) -> Vec<(String, &mut Value)> {
    let Some(request) = value.as_object_mut().filter(|request| request.contains_key("url")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (field, value) in request {
        match (field.as_str(), value) {
            ("auth", Value::Object(auth)) => {
                let secret = auth.iter_mut().filter(|(name, _)| !PLAIN.contains(&name.as_str()));
                found.extend(secret.map(|(name, value)| (format!("auth.{name}"), value)));
            }
            ("headers" | "params", Value::Array(pairs)) => found.extend(named(field, pairs)),
            ("body", Value::Object(body)) => {
                if let Some(Value::Array(pairs)) = body.get_mut("fields") {
                    found.extend(named("body.fields", pairs));
                }
            }
            _ => {}
        }
    }
    found.retain(|(_, value)| !value.is_null() && value.as_str() != Some(""));
    found
}

/// Credentials among the pairs of `name` and `value` in a list.
fn named<'a>(
    list: &'a str,
    pairs: &'a mut [Value],
) -> impl Iterator<Item = (String, &'a mut Value)> {
    pairs.iter_mut().filter_map(move |pair| {
        let name = pair.get("name")?.as_str()?.trim();
        let name =
            is_credential_name(name).then(|| format!("{list}.{}", name.to_ascii_lowercase()))?;
        Some((name, pair.get_mut("value")?))
    })
}

/// Puts `{"$secret": true}` in the place of each credential, sealed or stored before they were.
pub(super) fn hide(value: &mut Value) {
    for (_, credential) in credentials(value) {
        *credential = json!({ SECRET: true });
    }
}

/// Whether a value, or a JSON text, may have what is shown in the place of a credential.
pub(crate) fn may_be_hidden(value: &Value) -> bool {
    value.to_string().contains(SECRET)
}

/// Puts the stored credentials where the values have what a record showed in their place.
///
/// # Errors
/// Nothing is stored there, or the value is one that only the server writes.
pub(crate) fn keep_credentials(
    before: &Map<String, Value>,
    values: &mut Map<String, Value>,
) -> Result<(), EngineError> {
    for (prop, value) in values {
        let mut stored = before.get(prop).cloned().unwrap_or_default();
        let mut stored = credentials(&mut stored);
        for (name, credential) in credentials(value) {
            if credential.get(SEALED).is_some() {
                return Err(EngineError::invalid(
                    &format!("{prop}.{name}"),
                    format!(
                        "`{prop}.{name}` has the key `{SEALED}`, which only the server writes; give the value itself"
                    ),
                ));
            }
            if credential.get(SECRET) != Some(&Value::Bool(true)) {
                continue;
            }
            let at = stored.iter().position(|(stored, _)| *stored == name).ok_or_else(|| {
                EngineError::invalid(
                    &format!("{prop}.{name}"),
                    format!("`{prop}.{name}` means a stored credential, and none is stored there; give the value itself"),
                )
            })?;
            // Of headers with one name each takes the next.
            *credential = stored.remove(at).1.take();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn props(token: &Value, cookie: &Value) -> Map<String, Value> {
        let headers =
            json!([{ "name": "Accept", "value": "a" }, { "name": "Cookie", "value": cookie }]);
        let params =
            json!([{ "name": "page", "value": 1 }, { "name": "api_key", "value": cookie }]);
        let fields = json!([{ "name": "client_secret", "value": cookie }]);
        let request = json!({
            "url": "https://a.example", "headers": headers, "params": params,
            "body": { "fields": fields },
            "auth": { "type": "bearer", "username": "u", "token": token },
        });
        Map::from_iter([("r".to_owned(), request), ("o".to_owned(), json!({ "auth": { "a": 1 } }))])
    }

    #[test]
    fn what_is_shown_has_no_credentials_and_given_back_keeps_them() {
        let stored = props(&json!({ SEALED: "x" }), &"plain".into());
        let mut shown = stored.clone();
        shown.values_mut().for_each(hide);
        let secret = json!({ SECRET: true });
        assert_eq!(shown, props(&secret, &secret));
        keep_credentials(&stored, &mut shown).expect("keeps");
        assert_eq!(shown, stored);
        // Another value takes its place; an empty one is none.
        let mut other = props(&"new".into(), &"".into());
        keep_credentials(&stored, &mut other).expect("keeps");
        assert_eq!(other, props(&"new".into(), &"".into()));
    }

    #[test]
    fn what_stands_for_nothing_or_is_sealed_elsewhere_is_refused() {
        for token in [json!({ SECRET: true }), json!({ SEALED: "x" })] {
            assert!(keep_credentials(&Map::new(), &mut props(&token, &"c".into())).is_err());
        }
    }
}
