//! Configured values of props: validation and the form in which they are kept (spec 2.7, 8;
//! reference 2, 3).

mod allowed;
mod text;

use serde_json::{Map, Value, json};

use crate::clock::Timestamp;
use crate::component::PropDef;
use crate::ids::AccountId;
use crate::prop_type::PropType;
use crate::schedule::{Schedule, ScheduleError, is_utc};
use crate::shown;

/// Static text of a value (spec 8).
pub const VALUE_BYTES_MAX: usize = 64 * 1024;

/// Props that values may be given for at once.
pub const PROPS_MAX: usize = 5_000;

/// The key of a sealed value as it is stored: `{"$sealed": "…"}`. Only the server writes it.
pub const SEALED: &str = "$sealed";

/// A value that a prop does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PropError {
    /// No value where one is needed.
    #[error("the prop `{name}` ({prop_type}) is required and has no value")]
    Missing {
        /// The prop.
        name: String,
        /// Its type.
        prop_type: String,
    },
    /// A value of another type.
    #[error("the prop `{name}` has the value `{value}`, allowed is {allowed}")]
    Type {
        /// The prop.
        name: String,
        /// The value, shortened.
        value: String,
        /// What is accepted.
        allowed: String,
    },
    /// A value that is written as the server's own storage writes secrets.
    #[error(
        "the value of the prop `{name}` has the key `{SEALED}`, which only the server writes; give the value itself, under another key"
    )]
    Reserved {
        /// The prop.
        name: String,
    },
    /// Too large.
    #[error("the value of the prop `{name}` has {bytes} bytes, allowed are {VALUE_BYTES_MAX}")]
    TooLarge {
        /// The prop.
        name: String,
        /// Its size.
        bytes: usize,
    },
    /// Values of more props than one component may have.
    #[error("{count} props are given, allowed are {PROPS_MAX}: leave out what is not declared")]
    TooMany {
        /// How many.
        count: usize,
    },
    /// A value for a prop that the component does not have.
    #[error("the component has no prop `{name}`; it has {known}")]
    Unknown {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A timer that cannot be.
    #[error("the timer `{name}` cannot be set: {source}")]
    Schedule {
        /// The prop.
        name: String,
        /// Why.
        #[source]
        source: ScheduleError,
    },
}

impl PropError {
    /// The prop that is meant.
    pub fn prop(&self) -> &str {
        match self {
            Self::Reserved { name }
            | Self::Missing { name, .. }
            | Self::Type { name, .. }
            | Self::TooLarge { name, .. }
            | Self::Unknown { name, .. }
            | Self::Schedule { name, .. } => name,
            Self::TooMany { .. } => "",
        }
    }
}

/// How values are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// A source: interfaces become records, expressions are plain text.
    Source,
    /// A step: values may be `{{expressions}}`, and missing ones are found when it runs.
    Step,
    /// An action that a caller runs by itself: values are data, `{{` is text, and missing ones are
    /// found when it runs.
    Call,
}

impl Site {
    /// Whether `value` is code that only the step's process evaluates, so that nothing can be
    /// checked about it before.
    pub fn evaluates(self, value: &Value) -> bool {
        self == Self::Step && holds_expression(value)
    }
}

/// Checks `given` against the definitions and gives the values to keep: defaults filled in,
/// `{__lv}` unwrapped where the prop has no `withLabel`. All problems are reported, not only the
/// first.
pub fn check(
    defs: &[PropDef],
    given: &Map<String, Value>,
    site: Site,
    now: Timestamp,
) -> Result<Map<String, Value>, Vec<PropError>> {
    if given.len() > PROPS_MAX {
        return Err(vec![PropError::TooMany { count: given.len() }]);
    }
    let mut errors = Vec::new();
    let mut kept = Map::new();
    let is_sealed = |value: &Value| value.get(SEALED).is_some();
    for (name, _) in given.iter().filter(|(_, value)| is_sealed(value)) {
        errors.push(PropError::Reserved { name: shown(name) });
    }
    if site == Site::Source {
        errors.extend(unknown(defs, given));
    }
    for def in defs.iter().filter(|def| !given.get(&def.name).is_some_and(is_sealed)) {
        match value_of(def, given, site, now) {
            // A default, or within a label.
            Ok(Some(value)) if is_sealed(&value) => {
                errors.push(PropError::Reserved { name: def.name.clone() })
            }
            Ok(Some(value)) => {
                kept.insert(def.name.clone(), value);
            }
            Ok(None) => {}
            Err(error) => errors.push(error),
        }
    }
    if site != Site::Source {
        for (name, value) in given {
            if !value.is_null() && defs.iter().all(|d| &d.name != name) {
                kept.insert(name.clone(), value.clone());
            }
        }
    }
    if errors.is_empty() { Ok(kept) } else { Err(errors) }
}

/// Values for props that the definitions do not have.
pub fn unknown(defs: &[PropDef], given: &Map<String, Value>) -> Vec<PropError> {
    let is_unknown = |name: &&String| defs.iter().all(|def| def.name != **name);
    let error =
        |name: &String| PropError::Unknown { name: shown(name), known: allowed::names(defs) };
    given.keys().filter(is_unknown).map(error).collect()
}

/// The error of a prop without a value.
pub fn missing(def: &PropDef) -> PropError {
    PropError::Missing { name: def.name.clone(), prop_type: def.prop_type.clone() }
}

fn value_of(
    def: &PropDef,
    given: &Map<String, Value>,
    site: Site,
    now: Timestamp,
) -> Result<Option<Value>, PropError> {
    let given = given.get(&def.name).filter(|v| !v.is_null());
    match PropType::parse(&def.prop_type) {
        (PropType::TimerInterface, false) => return timer(def, given, now),
        (PropType::HttpInterface | PropType::Db | PropType::AppHook, false) => {
            return made_here(def, given).map(Some);
        }
        (
            PropType::Text
            | PropType::Integer
            | PropType::Boolean
            | PropType::Object
            | PropType::App
            | PropType::HttpRequest
            | PropType::Sql
            | PropType::DataStore
            | PropType::FileStore
            | PropType::Alert
            | PropType::Service
            | PropType::Other,
            _,
        )
        | (_, true) => {}
    }
    let value = match (given, def.rest.get("static").or(def.default.as_ref())) {
        (Some(value), default) if def.is(PropType::HttpRequest) => {
            over_default(unwrap_label(def, value), default)
        }
        (Some(value), _) => unwrap_label(def, value),
        // What a request begins with is none as long as it leads nowhere.
        (None, Some(default))
            if def.is(PropType::HttpRequest)
                && !scalar_fits(PropType::HttpRequest, def, default) =>
        {
            return Ok(None);
        }
        (None, Some(default)) if !default.is_null() => default.clone(),
        _ if def.required() && site == Site::Source => return Err(missing(def)),
        _ => return Ok(None),
    };
    let value = if def.app().is_some() { account_record(value) } else { value };
    let value = text::of_numbers(def, value);
    check_size(def, &value)?;
    if site.evaluates(&value) {
        return Ok(Some(value));
    }
    check_type(def, &value)?;
    Ok(Some(value))
}

/// Fields of the forms that records show of what the server makes.
const SHOWN_OF_MADE: [&str; 3] = ["type", "endpoint_url", "event_names"];

/// What no value makes: a record's own form may come back, and the shorthand of definitions is one
/// of the type. What is kept is the type alone.
fn made_here(def: &PropDef, given: Option<&Value>) -> Result<Value, PropError> {
    let is_shown = |record: &Map<String, Value>| {
        record.keys().all(|name| SHOWN_OF_MADE.contains(&name.as_str()))
            && record.get("type").is_none_or(|name| *name == def.prop_type)
    };
    match given {
        Some(Value::Object(record)) if is_shown(record) => Ok(json!({ "type": def.prop_type })),
        Some(value) if value.as_str().is_none_or(|name| name != def.prop_type) => {
            Err(PropError::Type {
                name: def.name.clone(),
                value: shown(&value.to_string()),
                allowed: format!("none: the server makes the {}", def.prop_type),
            })
        }
        _ => Ok(json!({ "type": def.prop_type })),
    }
}

/// `{__lv: {label, value}}` may always be sent, for each item of a list too; code sees it as a
/// plain value unless the prop has `withLabel`.
fn unwrap_label(def: &PropDef, value: &Value) -> Value {
    let bare = |held: &Value| {
        if has_label(def) { None } else { held.get("value").cloned() }
            .unwrap_or_else(|| held.clone())
    };
    match value {
        Value::Array(items) => items.iter().map(|item| unwrap_label(def, item)).collect(),
        Value::Object(map) if map.len() == 1 => match map.get("__lv") {
            Some(Value::Array(items)) => items.iter().map(bare).collect(),
            Some(held) => bare(held),
            None => value.clone(),
        },
        other => other.clone(),
    }
}

/// An account's id that was typed alone, or several, as records write them (reference 2).
fn account_record(value: Value) -> Value {
    match value {
        Value::String(id) if id.parse::<AccountId>().is_ok() => json!({ "authProvisionId": id }),
        Value::Array(items) => items.into_iter().map(account_record).collect(),
        other => other,
    }
}

/// A request with what its definition begins with, such as the method, where it says nothing else.
fn over_default(mut value: Value, default: Option<&Value>) -> Value {
    if let (Some(value), Some(default)) =
        (value.as_object_mut(), default.and_then(Value::as_object))
    {
        for (field, begins) in default {
            value.entry(field.clone()).or_insert_with(|| begins.clone());
        }
    }
    value
}

fn check_size(def: &PropDef, value: &Value) -> Result<(), PropError> {
    let bytes = match value {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    };
    if bytes > VALUE_BYTES_MAX {
        return Err(PropError::TooLarge { name: def.name.clone(), bytes });
    }
    Ok(())
}

/// Whether any string in it is or holds `{{…}}`.
fn holds_expression(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(items) => items.iter().any(holds_expression),
        Value::Object(map) => map.values().any(holds_expression),
        _ => false,
    }
}

fn check_type(def: &PropDef, value: &Value) -> Result<(), PropError> {
    let refuse = |allowed: &str| {
        let labelled =
            if has_label(def) { ", alone or as {\"label\": \"…\", \"value\": …}" } else { "" };
        Err(PropError::Type {
            name: def.name.clone(),
            value: shown_value(def, value),
            allowed: format!("{allowed}{labelled}"),
        })
    };
    let (item_type, is_list) = PropType::parse(&def.prop_type);
    if is_list {
        let misfit = match value {
            Value::Array(items) => items
                .iter()
                .position(|item| !scalar_fits(item_type, def, item))
                .map(|at| format!("; item {at} is not")),
            _ => Some(String::new()),
        };
        let items = allowed::items(item_type, def);
        return misfit.map_or(Ok(()), |which| refuse(&format!("an array of {items}{which}")));
    }
    if scalar_fits(item_type, def, value) {
        return Ok(());
    }
    allowed::value(item_type, def).map_or(Ok(()), |allowed| refuse(&allowed))
}

/// A refused value as an error shows it: what is secret, or may be a key in the place of an
/// account, is not repeated.
fn shown_value(def: &PropDef, value: &Value) -> String {
    let is_account = |value: &Value| value.as_str().is_some_and(|text| text.starts_with("apn_"));
    if def.secret != Some(true) && (def.app().is_none() || is_account(value)) {
        return shown(&value.to_string());
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    format!("({kind}, not shown)")
}

/// Whether code sees `{label, value}` (reference 3).
fn has_label(def: &PropDef) -> bool {
    def.rest.get("withLabel") == Some(&Value::Bool(true))
}

fn scalar_fits(prop_type: PropType, def: &PropDef, value: &Value) -> bool {
    let labelled =
        value.as_object().filter(|_| has_label(def)).and_then(|labelled| labelled.get("value"));
    labelled.is_some_and(|value| bare_fits(prop_type, def, value))
        || bare_fits(prop_type, def, value)
}

fn bare_fits(prop_type: PropType, def: &PropDef, value: &Value) -> bool {
    match prop_type {
        // Values typed into a form arrive as text and are kept as given (registry facts 5.24).
        PropType::Text => value.is_string() || value.is_number(),
        PropType::Integer => value.as_f64().is_some_and(|n| {
            n.fract() == 0.0
                && def.min.is_none_or(|min| n >= min)
                && def.max.is_none_or(|max| n <= max)
        }),
        PropType::Boolean => value.is_boolean(),
        PropType::Object => {
            value.is_object()
                || value
                    .as_str()
                    .is_some_and(|text| crate::json::from_str::<Map<String, Value>>(text).is_ok())
        }
        PropType::App => value.is_object(),
        PropType::HttpRequest => value.get("url").is_some_and(Value::is_string),
        PropType::Sql => {
            value.is_string()
                || (value.get("query").is_some_and(Value::is_string)
                    && value.get("params").is_none_or(Value::is_array))
        }
        PropType::FileStore => value
            .as_str()
            .is_some_and(|name| name.is_empty() || crate::file::check_name(name).is_ok()),
        PropType::DataStore
        | PropType::Alert
        | PropType::HttpInterface
        | PropType::TimerInterface
        | PropType::AppHook
        | PropType::Db
        | PropType::Service
        | PropType::Other => true,
    }
}

/// What is wrong with a timer's value beside its schedule: a field that would be passed over.
pub fn passed_over_by_timer(value: &Value) -> Option<String> {
    let has = |name: &str| value.get(name).is_some_and(|held| !held.is_null() && *held != "");
    let interval = ["intervalSeconds", "interval_seconds"].into_iter().find(|name| has(name));
    match interval {
        Some(interval) if has("cron") => Some(format!(
            "it has both `cron` and `{interval}`; give one of them, and null for the other"
        )),
        Some(_) if has("timezone") && !value["timezone"].as_str().is_some_and(is_utc) => {
            Some("it has a `timezone`, which counts with `cron` alone".into())
        }
        _ => ["cron", "timezone"].into_iter().find_map(|name| {
            let given = value.get(name).filter(|given| !given.is_null() && !given.is_string())?;
            Some(format!("its `{name}` is `{}`, and has to be a text", shown(&given.to_string())))
        }),
    }
}

/// Reads a timer's value in either spelling (reference 2).
pub fn parse_timer(value: &Value, now: Timestamp) -> Result<Option<Schedule>, ScheduleError> {
    let cron = value.get("cron").and_then(Value::as_str).filter(|c| !c.is_empty());
    if let Some(cron) = cron {
        return Schedule::cron(cron, value.get("timezone").and_then(Value::as_str), now).map(Some);
    }
    match value.get("intervalSeconds").or_else(|| value.get("interval_seconds")) {
        None | Some(Value::Null) => Ok(None),
        Some(seconds) => match seconds.as_f64() {
            Some(n) if n.fract() == 0.0 && n.abs() < 1e15 => Schedule::interval(n as i64).map(Some),
            _ => Err(ScheduleError::Interval { value: shown(&seconds.to_string()) }),
        },
    }
}

/// The form that records show: `{cron: null, interval_seconds: 60}`.
pub fn timer_value(schedule: &Schedule) -> Value {
    match schedule {
        Schedule::IntervalSeconds(seconds) => json!({ "cron": null, "interval_seconds": seconds }),
        Schedule::Cron { cron, timezone } => {
            json!({ "cron": cron, "interval_seconds": null, "timezone": timezone })
        }
    }
}

/// None: an optional timer without a schedule.
fn timer(def: &PropDef, given: Option<&Value>, now: Timestamp) -> Result<Option<Value>, PropError> {
    let Some(value) = def.rest.get("static").or(given).or(def.default.as_ref()) else {
        return if def.asks_for_value() { Err(missing(def)) } else { Ok(None) };
    };
    let schedule_error = |source| PropError::Schedule { name: def.name.clone(), source };
    const FIELDS: [&str; 5] = ["type", "cron", "timezone", "intervalSeconds", "interval_seconds"];
    // Of a definition the first that is understood counts, as on the hosted platform.
    let unread = given
        .and_then(Value::as_object)
        .and_then(|given| given.keys().find(|name| !FIELDS.contains(&name.as_str())));
    let wrong = unread
        .map(|name| format!("it has the field `{}`, which is none of a timer's", shown(name)))
        .or_else(|| passed_over_by_timer(given?));
    if let Some(reason) = wrong {
        let value = shown(&value.to_string());
        return Err(schedule_error(ScheduleError::Ambiguous { value, reason }));
    }
    match parse_timer(value, now).map_err(schedule_error)? {
        Some(schedule) => Ok(Some(timer_value(&schedule))),
        None => Err(PropError::Type {
            name: def.name.clone(),
            value: shown(&value.to_string()),
            allowed: "{\"intervalSeconds\": 60} or {\"cron\": \"*/5 * * * *\"}".into(),
        }),
    }
}

#[cfg(test)]
mod tests;
