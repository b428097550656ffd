//! Values of props as they are typed at a prompt: read by their type, and checked before they are
//! sent.

use millrace_model::clock::{Clock as _, SystemClock};
use millrace_model::component::PropDef;
use millrace_model::props::{PropError, Site, check};
use serde_json::{Map, Value, json};

use crate::commands::{prop_value, seconds};
use crate::terminal::line::escaped;

/// The type of a schedule.
const TIMER: &str = "$.interface.timer";

/// What a prompt says of the form of a value.
pub(super) fn form(def: &Value) -> &'static str {
    match def["type"].as_str() {
        Some(TIMER) => {
            " [seconds, such as 60; or 15m, 12h, 1d; or a cron expression in UTC, such as 0 9 * * 1-5]"
        }
        Some("string[]") => " [separated by commas]",
        Some("object") => " [JSON, as {\"NAME\": \"VALUE\"}]",
        Some(of) if of.ends_with("[]") => " [JSON, as [1, 2]]",
        _ => "",
    }
}

/// The value that was typed, or why it is none for the prop.
pub(super) fn value(name: &str, def: &Value, text: &str) -> Result<Value, String> {
    let value = match def["type"].as_str() {
        Some("string") => Value::from(text),
        Some("string[]") if !text.starts_with('[') => {
            text.split(',').map(|item| item.trim().to_owned()).collect()
        }
        Some(TIMER) => schedule(text),
        _ => prop_value(text),
    };
    // The server checks what is not known here.
    if def["type"].is_null() {
        return Ok(value);
    }
    let Ok(def) = serde_json::from_value::<PropDef>(def.clone()) else { return Ok(value) };
    let given = Map::from_iter([(name.to_owned(), value.clone())]);
    match check(&[def], &given, Site::Source, SystemClock.now()) {
        Ok(_) => Ok(value),
        Err(problems) => Err(escaped(&shown(&problems)).into_owned()),
    }
}

fn shown(problems: &[PropError]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A schedule as JSON, seconds, a duration or a cron expression.
fn schedule(text: &str) -> Value {
    let text = text.trim();
    if text.starts_with('{') {
        return prop_value(text);
    }
    match text.parse::<i64>().or_else(|_| seconds(text)) {
        Ok(seconds) => json!({ "intervalSeconds": seconds }),
        Err(_) => json!({ "cron": text }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_typed_in_any_of_its_forms() {
        let def = json!({ "name": "t", "type": TIMER });
        let typed = |text: &str| value("t", &def, text);
        assert_eq!(typed("60"), Ok(json!({ "intervalSeconds": 60 })));
        assert_eq!(typed(" 15m "), Ok(json!({ "intervalSeconds": 900 })));
        assert_eq!(typed("0 9 * * 1-5"), Ok(json!({ "cron": "0 9 * * 1-5" })));
        let whole = json!({ "cron": "0 9 * * *", "timezone": "Europe/Berlin" });
        assert_eq!(typed(&whole.to_string()), Ok(whole));
        for wrong in ["0", "soon", "{}", "99 * * * *"] {
            assert!(typed(wrong).is_err_and(|why| why.contains("`t`")), "{wrong}");
        }
    }

    #[test]
    fn a_value_beyond_its_bounds_is_refused_before_it_is_sent() {
        let def = json!({ "name": "n", "type": "integer", "min": 1, "max": 9 });
        assert_eq!(value("n", &def, "3"), Ok(json!(3)));
        let why = value("n", &def, "12").expect_err("is beyond");
        assert_eq!(why, "the prop `n` has the value `12`, allowed is an integer from 1 to 9");
        assert!(value("n", &def, "three").is_err());
        let words = json!({ "name": "w", "type": "string[]" });
        assert_eq!(value("w", &words, "a, b"), Ok(json!(["a", "b"])));
        assert_eq!(value("x", &json!({}), "007"), Ok(json!("007")));
    }
}
