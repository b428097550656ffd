//! `/search`, and what would go with a record that is deleted.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::response::Response;
use millrace_engine::WouldGo;
use millrace_model::names::{Named, NamedKind};
use serde_json::{Value, json};

use crate::App;
use crate::audit::Unchanged;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params};
use crate::wire::Fields;

/// Characters of a search; more are a misunderstanding.
const TEXT_MAX: usize = 200;
/// Words of a search of apps or components: each is looked for in all of them.
const WORDS_MAX: usize = 32;
/// Records that a search gives where it does not say how many.
const LIMIT: u32 = 20;

pub(crate) async fn search(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let params = &query.params;
    params.org_is(&caller)?;
    let text = params.text("q")?.unwrap_or_default();
    if text.chars().count() > TEXT_MAX {
        return Err(ApiError::field(
            "q",
            format!("`q` has {} characters, allowed are {TEXT_MAX}", text.chars().count()),
        ));
    }
    let kind = |text: &String| {
        let names = NamedKind::ALL.map(NamedKind::as_str).join(", ");
        NamedKind::parse(text).ok_or_else(|| {
            ApiError::field(
                "kinds",
                format!("`{text}` is not a kind of record; allowed are {names}"),
            )
        })
    };
    let kinds = params
        .words("kinds")?
        .unwrap_or_default()
        .iter()
        .map(kind)
        .collect::<Result<Vec<_>, _>>()?;
    let limit = params.text("limit")?.map_or(LIMIT, |_| query.page.limit);
    let found = app.engine.find_named(&caller, &text, &kinds, limit as usize).await?;
    Ok(Fields::default().data(found.iter().map(shown).collect()))
}

/// The words of a search of apps or components, each once.
pub(crate) fn words(params: &Params, field: &str) -> Result<String, ApiError> {
    let text = params.text(field)?.unwrap_or_default().to_lowercase();
    let mut seen = BTreeSet::new();
    let words: Vec<&str> = text.split_whitespace().filter(|word| seen.insert(*word)).collect();
    if words.len() > WORDS_MAX {
        return Err(ApiError::field(
            field,
            format!("`{field}` has {} different words, allowed are {WORDS_MAX}", words.len()),
        ));
    }
    Ok(words.join(" "))
}

pub(crate) fn shown(named: &Named) -> Value {
    let about = (!named.about.is_empty()).then_some(&named.about);
    json!({ "kind": named.kind.as_str(), "id": named.id, "name": named.name, "about": about })
}

/// Whether a request to delete only asks what would go.
pub(crate) fn is_dry(params: &Params) -> Result<bool, ApiError> {
    Ok(params.flag("dry_run")?.unwrap_or(false))
}

/// The answer of such a request, which leaves no record in the audit log.
pub(crate) fn would_go(id: &str, would_go: &WouldGo) -> Response {
    let uses: Vec<Value> = would_go.uses.iter().map(shown).collect();
    let would_go =
        json!({ "uses": uses, "domains": would_go.domains, "waiting_runs": would_go.waiting_runs });
    let mut response =
        Fields::default().data(json!({ "id": id, "deleted": false, "would_go": would_go }));
    response.extensions_mut().insert(Unchanged);
    response
}
