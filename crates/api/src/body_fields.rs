//! Fields of a JSON body: each there once, known to its route, and nested within bounds.

use std::collections::HashSet;

use millrace_model::json;
use serde::de::{
    DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::{Map, Value};

use crate::contract::known::Known;
use crate::error::ApiError;

/// Field of a body that may be nested as deep as the event that an endpoint accepts.
const DEEP_FIELD: &str = "event";
/// Fields of bodies whose insides are the caller's own data.
const OWN_DATA: [&str; 2] = [DEEP_FIELD, "value"];
/// How deep serde reads all others, and how its error begins beyond.
const NESTED_MAX: usize = 127;
const TOO_DEEP: &str = "recursion limit exceeded";

/// Lays the body's fields over those of the query.
pub(crate) fn merge(
    params: &mut Map<String, Value>,
    body: &[u8],
    known: Option<&Known>,
) -> Result<(), ApiError> {
    if body.trim_ascii().is_empty() {
        return Ok(());
    }
    let nested = json::nested(body);
    let too_deep = || {
        ApiError::malformed_json(format!(
            "the body is nested {nested} levels deep; allowed are {NESTED_MAX}, and {} where the field `{DEEP_FIELD}` holds the rest",
            json::BODY_NESTED_MAX
        ))
    };
    if nested > json::BODY_NESTED_MAX {
        return Err(too_deep());
    }
    json::check_names(body)
        .map_err(|e| ApiError::malformed_json(format!("the body cannot be read: {e}")))?;
    let mut fields = Fields { known, read: Map::new(), unknown: None };
    let mut reader = serde_json::Deserializer::from_slice(body);
    let read = reader.deserialize_any(&mut fields).and_then(|()| reader.end());
    read.map_err(|e| match e.classify() {
        _ if nested > NESTED_MAX && e.to_string().starts_with(TOO_DEEP) => too_deep(),
        // Of JSON that is right there is nothing else to say.
        serde_json::error::Category::Data => ApiError::malformed_json(format!(
            "the body is JSON, but cannot be read as an object of fields: {e}"
        )),
        _ => ApiError::malformed_json(format!("the body is not JSON: {e}")),
    })?;
    if let (Some(name), Some(known)) = (&fields.unknown, known) {
        return Err(known.refuse(name));
    }
    EachOnce { is_body: true }
        .deserialize(&mut serde_json::Deserializer::from_slice(body))
        .map_err(|e| ApiError::malformed_json(format!("the body cannot be read: {e}")))?;
    params.extend(fields.read);
    Ok(())
}

/// Reader of a body's fields, each there once: of two, one reader would take the first and another
/// the last. From the first field that the route does not take on, it only looks whether the rest
/// is JSON.
struct Fields<'k> {
    known: Option<&'k Known>,
    read: Map<String, Value>,
    unknown: Option<String>,
}

impl<'de> Visitor<'de> for &mut Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(serde::de::Error::invalid_type(Unexpected::Other("a list"), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut given: A) -> Result<(), A::Error> {
        while let Some(name) = given.next_key::<String>()? {
            if self.known.is_some_and(|known| !known.takes(&name)) {
                self.unknown = Some(name);
                given.next_value::<IgnoredAny>()?;
                while given.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                return Ok(());
            }
            if self.read.contains_key(&name) {
                return Err(serde::de::Error::custom(format!(
                    "the field `{name:.100}` is given twice; give it once"
                )));
            }
            let value = if name == DEEP_FIELD {
                json::field_of_body(&mut given)?
            } else {
                given.next_value()?
            };
            self.read.insert(name, value);
        }
        Ok(())
    }
}

/// Check that no object below the fields of a body has a field twice, as in
/// `{"auth": {"type": "bearer", "type": "none"}}`. What is data of the caller's own is not looked
/// at: an event may be what somebody else sent.
struct EachOnce {
    /// It is the body itself, whose fields were looked at.
    is_body: bool,
}

impl<'de> DeserializeSeed<'de> for EachOnce {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EachOnce {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Self { is_body: false })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            if self.is_body && OWN_DATA.contains(&name.as_str()) {
                fields.next_value::<IgnoredAny>()?;
                continue;
            }
            if names.contains(&name) {
                return Err(serde::de::Error::custom(format!(
                    "the field `{name:.100}` is given twice in one object; give it once"
                )));
            }
            names.insert(name);
            fields.next_value_seed(Self { is_body: false })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::contract::routes::Needs;
    use crate::params::query;

    #[test]
    fn a_body_wins_over_the_query_and_must_be_an_object() {
        let check = |text: &str, body: &str| {
            let mut params = query(Some(text));
            merge(&mut params, body.as_bytes(), None)
                .map(|()| Value::Object(params))
                .map_err(|e| format!("{e:?}"))
        };
        assert_eq!(
            check("a=1&event_name=%24errors", ""),
            Ok(json!({ "a": "1", "event_name": "$errors" }))
        );
        assert_eq!(
            check("a=1&b=2", r#" {"a": {"c": null}} "#),
            Ok(json!({ "a": { "c": null }, "b": "2" }))
        );
        assert_eq!(check("a=x+y%26", "null"), Ok(json!({ "a": "x y&" })));
        for list in ["[1]", "[]", r#"[{"a": 1}]"#] {
            assert!(check("", list).unwrap_err().contains("a list, expected an object"));
        }
        assert!(
            check("", r#"{"a": 1, "a": 2}"#)
                .unwrap_err()
                .contains("`a` is given twice; give it once")
        );
        for twice in [
            r#"{"a": {"b": 1, "b": 2}}"#,
            r#"{"a": [{"b": {"c": 1, "d": 2, "c": 1}}]}"#,
            r#"{"event": {}, "settings": {"b": null, "\u0062": 1}}"#,
        ] {
            let refused = check("", twice).unwrap_err();
            assert!(refused.contains("is given twice in one object"), "{twice}: {refused}");
        }
        let own = r#"{"event": {"b": 1, "b": 2}, "value": [{"b": 1, "b": 2}], "a": [{"b": 1.5e300}, {"b": true}]}"#;
        assert!(check("", own).is_ok());
        assert!(check("", "{").unwrap_err().contains("malformed_json"));
    }

    #[test]
    fn a_body_that_is_not_json_is_said_to_be_none_before_any_unknown_field() {
        let known = Known::new("post", "/things", Needs::AnyKey, &[], Vec::new(), Vec::new());
        let refused = |body: &str| {
            format!("{:?}", merge(&mut Map::new(), body.as_bytes(), Some(&known)).unwrap_err())
        };
        for body in
            [r#"{"zz":"#, r#"{"zz":1"#, r#"{"zz":1,"yy":}"#, r#"{"zz":1} x"#, r#"{"zz":{"a":[1,}}"#]
        {
            assert!(refused(body).contains("malformed_json"), "{body}: {}", refused(body));
        }
        for body in [r#"{"zz":1}"#, r#"{"zz":{"a":[1]},"yy":2,"yy":3}"#] {
            let said = refused(body);
            assert!(said.contains("unknown_field") && said.contains("`zz`"), "{body}: {said}");
        }
    }

    #[test]
    fn an_event_may_be_nested_as_deep_as_endpoints_accept() {
        let read = |field: &str, levels: usize| {
            let body =
                format!(r#"{{"{field}":{}1{}}}"#, r#"{"a":"#.repeat(levels), "}".repeat(levels));
            let mut params = Map::new();
            merge(&mut params, body.as_bytes(), None)
                .map(|()| body == format!(r#"{{"{field}":{}}}"#, params[field]))
                .map_err(|e| format!("{e:?}"))
        };
        assert_eq!(read("event", json::NESTED_MAX + 1), Ok(true));
        assert_eq!(read("event", json::BODY_NESTED_MAX - 1), Ok(true));
        assert_eq!(read("value", NESTED_MAX - 1), Ok(true));
        for (field, levels) in [
            ("event", json::BODY_NESTED_MAX),
            ("value", NESTED_MAX),
            ("event", 1_000_000),
            ("value", 1_000_000),
        ] {
            let refused = read(field, levels).unwrap_err();
            let depth = format!("nested {} levels deep", levels + 1);
            assert!(refused.contains("malformed_json") && refused.contains(&depth), "{refused}");
        }
        // Also where it never ends, or is no JSON behind the first levels.
        let mut params = Map::new();
        for body in ["[".repeat(100_000), format!(r#"{{"event":{}?"#, "[".repeat(200))] {
            assert!(merge(&mut params, body.as_bytes(), None).is_err());
        }
    }
}
