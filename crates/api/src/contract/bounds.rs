//! Bounds of parameters: the check of a request and the OpenAPI document use the same values, so
//! that neither can name another limit than the other.

use serde_json::{Map, Value, json};

use super::param::{Kind, Param};
use crate::error::ApiError;
use crate::params::short;

/// Bounds of a value: of a number the value itself, of a text its characters, of words and lists
/// the number of items.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) least: Option<u32>,
    pub(crate) most: Option<u32>,
    /// Value of a number that is absent.
    pub(crate) default: Option<u32>,
}

impl Bounds {
    fn take(&self, amount: i64) -> bool {
        self.least.is_none_or(|least| amount >= i64::from(least))
            && self.most.is_none_or(|most| amount <= i64::from(most))
    }

    /// What is allowed, as the end of a sentence.
    fn allowed(&self) -> String {
        match (self.least, self.most) {
            (Some(least), Some(most)) => format!("allowed are {least} to {most}"),
            (Some(least), None) => format!("allowed are {least} and more"),
            (None, Some(most)) => format!("allowed are at most {most}"),
            (None, None) => String::new(),
        }
    }

    /// Adds them to the schema of a parameter.
    pub(crate) fn describe(&self, kind: Kind, schema: &mut Value) {
        let (least, most) = match kind {
            Kind::Number => ("minimum", "maximum"),
            Kind::Words | Kind::ListOf(_) => ("minItems", "maxItems"),
            _ => ("minLength", "maxLength"),
        };
        for (name, bound) in [(least, self.least), (most, self.most), ("default", self.default)] {
            if let Some(bound) = bound {
                schema[name] = json!(bound);
            }
        }
    }
}

/// Refuses a value out of bounds. One of the wrong type is left to the reader of the parameter.
pub(crate) fn check(params: &[Param], given: &Map<String, Value>) -> Result<(), ApiError> {
    params.iter().try_for_each(|param| check_one(param, param.name, given))
}

/// As [`check`] of one parameter, which refusals call `path`.
fn check_one(param: &Param, path: &str, given: &Map<String, Value>) -> Result<(), ApiError> {
    let Some(value) = given.get(param.name) else { return Ok(()) };
    if let (Kind::Fields(fields), Value::Object(within)) = (param.kind, value) {
        return fields
            .iter()
            .copied()
            .flatten()
            .try_for_each(|field| check_one(field, &format!("{path}.{}", field.name), within));
    }
    let (amount, shown) = match (param.kind, value) {
        (Kind::Number, Value::Number(number)) => match number.as_i64() {
            Some(number) => (number, short(value)),
            None => return Ok(()),
        },
        (Kind::Number, Value::String(text)) => match text.parse::<i64>() {
            Ok(number) => (number, short_text(text)),
            Err(_) => return Ok(()),
        },
        (Kind::Text, Value::String(text)) => amount_of(text.chars().count(), "characters"),
        (Kind::Words | Kind::ListOf(_), Value::Array(items)) => amount_of(items.len(), "items"),
        (Kind::Words, Value::String(text)) => amount_of(words(text).count(), "items"),
        _ => return Ok(()),
    };
    if param.bounds.take(amount) {
        return Ok(());
    }
    let verb = if matches!(param.kind, Kind::Number) { "is" } else { "has" };
    let message = format!("`{path}` {verb} {shown}; {}", param.bounds.allowed());
    Err(ApiError::field(path, message))
}

/// Words of a text with commas or blanks between them.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ' ']).filter(|word| !word.is_empty())
}

fn amount_of(count: usize, what: &str) -> (i64, String) {
    (i64::try_from(count).unwrap_or(i64::MAX), format!("{count} {what}"))
}

fn short_text(text: &str) -> String {
    format!("`{}`", millrace_model::shown(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::table;

    #[test]
    fn a_value_at_a_bound_is_taken_and_one_beyond_it_is_refused_with_what_is_allowed() {
        const WITHIN: &[Param] = &[Param::new("n", Kind::Number, "").at_least(2)];
        let params = [
            Param::new("n", Kind::Number, "").within(1, 3),
            Param::new("t", Kind::Text, "").at_most(2),
            Param::new("w", Kind::Words, "").within(1, 2),
            Param::new("f", Kind::Fields(&[WITHIN]), ""),
        ];
        let check = |given: Value| {
            check(&params, given.as_object().unwrap()).map_err(|e| format!("{e:?}")).err()
        };
        for fits in [
            json!({ "n": 1, "t": "éé", "w": ["a"], "f": { "n": 2 } }),
            json!({ "n": "3", "t": "", "w": "a, b", "f": {} }),
            json!({ "n": null, "f": null }),
            json!({ "n": "x", "t": 1, "w": 1, "f": 1 }),
        ] {
            assert_eq!(check(fits.clone()), None, "{fits}");
        }
        for (beyond, said) in [
            (json!({ "n": 0 }), "`n` is `0`; allowed are 1 to 3"),
            (json!({ "n": "4" }), "`n` is `4`; allowed are 1 to 3"),
            (json!({ "t": "éée" }), "`t` has 3 characters; allowed are at most 2"),
            (json!({ "w": [] }), "`w` has 0 items; allowed are 1 to 2"),
            (json!({ "w": "a,b,c" }), "`w` has 3 items; allowed are 1 to 2"),
            (json!({ "f": { "n": 1 } }), "`f.n` is `1`; allowed are 2 and more"),
        ] {
            let refused = check(beyond.clone()).unwrap_or_default();
            assert!(refused.contains(said), "{beyond}: {refused}");
        }
    }

    #[test]
    fn a_number_of_characters_that_is_described_is_one_that_is_checked() {
        let mut found = 0;
        for route in table::v1() {
            for param in route.params.iter().filter(|param| matches!(param.kind, Kind::Text)) {
                let about = param.about;
                let says = ["at most ", "1 to ", "12 to "].iter().any(|before| {
                    about.split_once(before).is_some_and(|(_, rest)| {
                        let rest =
                            rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ',');
                        rest.starts_with(" characters")
                    })
                });
                let most = param.bounds.most;
                assert!(!says || most.is_some(), "{} {}: {about}", route.path, param.name);
                found += usize::from(says);
            }
        }
        assert!(found > 5, "{found}");
    }
}
