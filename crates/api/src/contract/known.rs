//! Names that a request to a route may give, in its query or body. Unknown names are rejected, so
//! that a misspelt field is not silently ignored.

use millrace_engine::EngineError;
use serde_json::{Map, Value};

use super::bounds;
use super::routes::{Needs, Param};
use crate::error::ApiError;

/// Fields that clients of the hosted platform send and that change nothing here: accepted and
/// ignored.
const IGNORED: &[Ignored] = &[
    // Any request may choose among an answer's fields; not every answer is a record.
    Ignored { below: "", names: &["include", "exclude"] },
    Ignored { below: "/components/search", names: &["similarity_threshold", "debug"] },
    // The hosted platform's own links say it (spec 4.5).
    Ignored { below: "/sources", names: &["action"] },
    Ignored {
        below: "/connect/",
        names: &[
            "environment",
            "blocking",
            "registry",
            "sort_key",
            "sort_direction",
            // A hook that fails does not keep a source here.
            "ignore_hook_errors",
        ],
    },
    // An update runs no `deploy` hook.
    Ignored { below: "/connect/{project}/deployed-triggers", names: &["emit_on_deploy"] },
];

struct Ignored {
    /// How the paths begin, below `/v1`.
    below: &'static str,
    names: &'static [&'static str],
}

/// Routes that take any field: an authorization server ignores parameters that it does not know
/// (RFC 6749, 3.2; RFC 7009, 2.1).
pub(crate) const ANY_FIELD: [&str; 2] = ["/oauth/token", "/oauth/revoke"];

/// Names that mean the same as another.
const ALIASES: &[(&str, &str)] = &[("component_url", "url"), (ORG, "workspace_id")];
/// The organization: every request may name it, and another than the caller's own does not exist
/// for it.
pub(crate) const ORG: &str = "org_id";

/// What a route is known by where its request is read.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) needs: Needs,
    route: String,
    path: &'static str,
    params: Vec<Param>,
    names: Vec<&'static str>,
    /// Names of the record that the route takes: what was read is written back whole, or posted.
    record: Vec<String>,
    /// Names of the fields of its records, among which `include` and `exclude` choose; empty where
    /// they choose nothing.
    shown: Vec<String>,
}

impl Known {
    pub(crate) fn new(
        method: &str,
        path: &'static str,
        needs: Needs,
        params: &[Param],
        record: Vec<String>,
        shown: Vec<String>,
    ) -> Self {
        Self {
            needs,
            route: format!("{} /v1{path}", method.to_uppercase()),
            path,
            params: params.to_vec(),
            names: params.iter().map(|param| param.name).collect(),
            record,
            shown,
        }
    }

    /// Whether the handler itself looks at the field.
    pub(crate) fn declares(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// Names of the fields that the handler reads.
    pub(crate) fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Whether the record shows the field and an update cannot set it.
    pub(crate) fn shows_only(&self, name: &str) -> bool {
        !self.declares(name) && name != ORG && self.record.iter().any(|own| own == name)
    }

    /// Whether a request may give the field.
    pub(crate) fn takes(&self, name: &str) -> bool {
        let alias = ALIASES.iter().find(|(_, alias)| *alias == name).map_or(name, |(of, _)| of);
        self.declares(name)
            || self.shows_only(name)
            || ANY_FIELD.contains(&self.path)
            || self.declares(alias)
            || (alias == ORG && self.needs != Needs::Nothing)
            || IGNORED.iter().any(|ignored| {
                self.path.starts_with(ignored.below) && ignored.names.contains(&name)
            })
    }

    /// Refuses a field that is not read, and a value out of bounds.
    pub(crate) fn check(&self, given: &Map<String, Value>) -> Result<(), ApiError> {
        self.check_names(given)?;
        self.check_choice(given)?;
        bounds::check(&self.params, given)
    }

    /// The value of a number that is absent.
    pub(crate) fn default_of(&self, name: &str) -> Option<u32> {
        self.params.iter().find(|param| param.name == name)?.bounds.default
    }

    /// As [`Known::check`], without a look at values.
    pub(crate) fn check_names(&self, given: &Map<String, Value>) -> Result<(), ApiError> {
        match given.keys().find(|name| !self.takes(name)) {
            Some(name) => Err(self.refuse(name)),
            None => Ok(()),
        }
    }

    /// Refuses a name of `include` or `exclude` that no field of the route's records has: a
    /// misspelt one would show an empty record.
    fn check_choice(&self, given: &Map<String, Value>) -> Result<(), ApiError> {
        if self.shown.is_empty() {
            return Ok(());
        }
        for choice in ["include", "exclude"] {
            let text = given.get(choice).and_then(Value::as_str).unwrap_or_default();
            let is_unknown =
                |name: &&str| !name.is_empty() && !self.shown.iter().any(|f| f == name);
            if let Some(name) = text.split(',').map(str::trim).find(is_unknown) {
                let message = format!(
                    "`{choice}` names `{}`, which no record of {} has; allowed are {}",
                    millrace_model::shown(name),
                    self.route,
                    self.shown.join(", ")
                );
                return Err(ApiError::field(choice, message)
                    .with(serde_json::json!({ "field": choice, "allowed": self.shown })));
            }
        }
        Ok(())
    }

    /// The refusal of a field that is not read.
    pub(crate) fn refuse(&self, name: &str) -> ApiError {
        ApiError::unknown_field(name, &self.route, &self.names)
    }
}

/// Refuses a field within a value that is not read; of a list, in each of its objects.
pub(crate) fn only(field: &str, value: &Value, allowed: &[&str]) -> Result<(), ApiError> {
    let objects = match value {
        Value::Array(items) => items.iter().filter_map(Value::as_object).collect(),
        Value::Object(object) => vec![object],
        _ => Vec::new(),
    };
    match objects
        .iter()
        .flat_map(|object| object.keys())
        .find(|name| !allowed.contains(&name.as_str()))
    {
        Some(name) => Err(EngineError::unknown_field(field, name, allowed).into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn include_and_exclude_name_fields_of_the_records_alone() {
        let of = |shown: &[&str]| {
            let shown = shown.iter().map(|name| (*name).to_owned()).collect();
            Known::new("get", "/things", Needs::AnyKey, &[], Vec::new(), shown)
        };
        let check = |known: &Known, choice: &str, names: &str| {
            let given = json!({ (choice): names });
            known.check(given.as_object().expect("an object")).is_ok()
        };
        for choice in ["include", "exclude"] {
            let known = of(&["id", "steps"]);
            for names in ["id", "id, steps", "", ",", " steps "] {
                assert!(check(&known, choice, names), "{choice}={names}");
            }
            for names in ["stepz", "id,stepz", "ID", "id steps"] {
                assert!(!check(&known, choice, names), "{choice}={names}");
            }
            assert!(check(&of(&[]), choice, "anything"), "where the answer is no record");
        }
    }
}
