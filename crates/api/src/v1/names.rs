//! `/search`, and the records that would be deleted with another one.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::response::Response;
use millrace_engine::WouldGo;
use millrace_model::names::{Named, NamedKind};

use crate::App;
use crate::audit::unchanged;
use crate::contract::routes::{Gives, Kind, Param, Route, get, limit};
use crate::contract::shape::{of, record};
use crate::contract::table::{ORG, READ, text};
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery, Params};
use crate::fields::Fields;

record! {
    /// A record by its name. `id` is what names it in the API: of a component its key, of a
    /// registry its name. `about`: an app, an address, a message, a status
    NamedOut<'a>(n: &'a Named) {
        kind: NamedKind = n.kind,
        id: &'a str = &n.id,
        name: &'a str = &n.name,
        about: Option<&'a str> = (!n.about.is_empty()).then_some(&n.about),
    }
}

record! {
    /// What a delete would remove or break: `uses` name the record, listen to it, or it listens to
    /// them; `waiting_runs` are counted up to 1,000
    WouldGoOut<'a>(w: &'a WouldGo) {
        uses: Vec<NamedOut<'a>> = w.uses.iter().map(NamedOut::new).collect(),
        domains: &'a [String] = &w.domains,
        waiting_runs: u64 = w.waiting_runs,
    }
}

record! {
    /// What was deleted; with `dry_run`, `deleted` is false, and `would_go` says what would go with
    /// it
    DeletedOut<'a>(id: &'a str, dry: Option<&'a WouldGo>) {
        id: &'a str = id,
        deleted: bool = dry.is_none(),
        #[serde(skip_serializing_if = "Option::is_none")]
        would_go: Option<WouldGoOut<'a>> = dry.map(WouldGoOut::new),
    }
}

/// Characters of a search; more are a misunderstanding.
const TEXT_MAX: u32 = 200;
/// Words of a search of apps or components: each is looked for in all of them.
const WORDS_MAX: usize = 32;
/// Records that a search gives where it does not say how many.
const LIMIT: u32 = 20;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get("/search", READ, "Records by words of their names, the best first; an id that is given whole finds its record", search)
            .takes(&[
                text("q", "The words, all of them, or an id; at most 200 characters. Absent: nothing is found").at_most(TEXT_MAX),
                Param::new(
                    "kinds",
                    Kind::WordsOf(of::<NamedKind>()),
                    "Only these kinds, with commas between them; `run`, `replay` and `deployment` are found by their ids only",
                ),
                limit("How many at most", LIMIT),
                ORG,
            ])
            .gives(Gives::List(of::<NamedOut>())),
    ]
}

pub(crate) async fn search(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let params = &query.params;
    params.org_is(&caller)?;
    let text = params.text("q")?.unwrap_or_default();
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
    let limit = query.page.limit as usize;
    let found = app.engine.find_named(&caller, &text, &kinds, limit).await?;
    Ok(Fields::default().data(found.iter().map(NamedOut::show).collect()))
}

/// The answer of a request that deleted something.
pub(crate) fn deleted(id: &str) -> Response {
    Fields::default().data(DeletedOut::show(id, None))
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

/// Whether a request to delete only asks what would go.
pub(crate) fn is_dry(params: &Params) -> Result<bool, ApiError> {
    Ok(params.flag("dry_run")?.unwrap_or(false))
}

/// The answer of such a request, which leaves no record in the audit log.
pub(crate) fn would_go(id: &str, would_go: &WouldGo) -> Response {
    unchanged(Fields::default().data(DeletedOut::show(id, Some(would_go))))
}
