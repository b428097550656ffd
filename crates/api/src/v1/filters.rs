//! Ids and times in filters of lists: an id of another form names nothing, and a period holds
//! something.

use std::str::FromStr;

use millrace_model::clock::Timestamp;
use millrace_model::ids::{SourceId, WorkflowId};
use schemars::JsonSchema;
use serde_json::Value;

use crate::error::ApiError;
use crate::extract::{Params, id};

/// The workflow or source that a filter names.
pub(crate) fn owner(params: &Params) -> Result<Option<String>, ApiError> {
    let owner = params.text("owner_id")?;
    if let Some(owner) = &owner
        && owner.parse::<WorkflowId>().is_err()
    {
        id::<SourceId>("workflow or source", owner)?;
    }
    Ok(owner)
}

/// The text of an id in a filter; one of another form names nothing.
pub(crate) fn id_of<T: FromStr>(
    params: &Params,
    field: &str,
    what: &'static str,
) -> Result<Option<String>, ApiError> {
    let text = params.text(field)?;
    text.as_deref().map(|text| id::<T>(what, text)).transpose()?;
    Ok(text)
}

/// A time in a request: epoch milliseconds, or RFC 3339
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[allow(dead_code, reason = "it is read by hand, for its error")]
pub(crate) enum GivenTime {
    Millis(i64),
    Text(String),
}

/// The bounds `from` and `to` of a time, where `from` is before `to`: nothing else fits.
pub(crate) fn period(params: &Params) -> Result<(Option<Timestamp>, Option<Timestamp>), ApiError> {
    let (from, to) = (time(params, "from")?, time(params, "to")?);
    if from.zip(to).is_some_and(|(from, to)| from >= to) {
        return Err(ApiError::field("from", "`from` is not before `to`: nothing fits"));
    }
    Ok((from, to))
}

/// Epoch milliseconds, or a time as RFC 3339 writes it.
pub(crate) fn time(params: &Params, field: &str) -> Result<Option<Timestamp>, ApiError> {
    let text = match params.0.get(field) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let ms = text.parse::<i64>().ok().map(Timestamp).or_else(|| Timestamp::parse_iso(&text));
    let refused = || {
        let shown = millrace_model::shown(&text);
        let allowed = "allowed are epoch milliseconds and such as 2026-01-31T12:00:00Z";
        ApiError::field(field, format!("`{shown}` is not a time; {allowed}"))
    };
    ms.map(Some).ok_or_else(refused)
}
