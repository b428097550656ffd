//! Groups of errors and their state.

use axum::extract::State;
use axum::response::Response;
use millrace_engine::{ErrorGroupFilter, ErrorGroupView};
use millrace_model::clock::Timestamp;
use millrace_model::error_event::{
    ErrorGroup, ErrorGroupChange, ErrorState, ErrorVersion, NOTE_CHARS_MAX,
};
use millrace_model::ids::{DeploymentId, ErrorGroupId, RunId, SourceId, WorkflowId};
use millrace_model::workflow::Author;

use crate::App;
use crate::contract::routes::{Kind, Param, Route, get, put};
use crate::contract::shape::{of, record};
use crate::contract::table::{DEPLOY, READ, number, text, word};
use crate::error::ApiError;
use crate::extract::{Auth, Emitter, ListQuery, Params, Path, emitter, id};
use crate::fields::Fields;
use crate::v1::filters::time;
use crate::written_back::WrittenBack;

record! {
    /// Errors of one class, step and place in the code
    ErrorGroupOut<'a>(g: &'a ErrorGroup, days: Option<Vec<Option<i64>>>) with {
        let is_source = g.owner.starts_with(SourceId::PREFIX);
    } {
        id: &'a ErrorGroupId = &g.id,
        workflow_id: Option<&'a str> = (!is_source).then_some(&g.owner),
        source_id: Option<&'a str> = is_source.then_some(&g.owner),
        code: &'a str = &g.class,
        step: &'a str = &g.step,
        frame: &'a str = &g.frame,
        message: &'a str = &g.message,
        last_run_id: &'a RunId = &g.last_run_id,
        first_seen_ms: i64 = g.first_at.ms(),
        last_seen_ms: i64 = g.last_at.ms(),
        count: i64 = g.count,
        state: ErrorState = g.state,
        state_changed_at_ms: Option<i64> = g.state_at.map(Timestamp::ms),
        note: Option<&'a str> = g.note.as_deref(),
        #[serde(skip_serializing_if = "Option::is_none")]
        days: Option<Vec<Option<i64>>> = days,
    }
}

record! {
    /// A change of the state of a group of errors: `by` a person, or by the server because of the
    /// run `run_id`
    ErrorGroupChangeOut<'a>(c: &'a ErrorGroupChange) {
        at_ms: i64 = c.at.ms(),
        state: ErrorState = c.state,
        by: Option<&'a Author> = c.by.as_ref(),
        note: Option<&'a str> = c.note.as_deref(),
        run_id: Option<&'a RunId> = c.run_id.as_ref(),
    }
}

record! {
    /// A deployment that runs of a group of errors failed in: how many of those that are kept, of
    /// the workflow's newest 10,000 that failed
    ErrorVersionOut<'a>(v: &'a ErrorVersion) {
        deployment_id: &'a DeploymentId = &v.deployment_id,
        version: Option<i64> = v.version,
        count: i64 = v.count,
        first_seen_ms: i64 = v.first_at.ms(),
        last_seen_ms: i64 = v.last_at.ms(),
    }
}

record! {
    /// A group of errors with the history of its state, and the deployments that it was seen in
    ErrorGroupRecordOut<'a>(view: &'a ErrorGroupView) {
        #[serde(flatten)]
        group: ErrorGroupOut<'a> = ErrorGroupOut::new(&view.group, None),
        history: Vec<ErrorGroupChangeOut<'a>> =
            view.changes.iter().map(ErrorGroupChangeOut::new).collect(),
        versions: Vec<ErrorVersionOut<'a>> = view.versions.iter().map(ErrorVersionOut::new).collect(),
    }
}

pub(crate) fn routes() -> Vec<Route> {
    let groups = [
        Param::new(
            "state",
            Kind::WordsOf(of::<ErrorState>()),
            "One or several of `open`, `resolved`, `ignored` and `regressed`, with commas between them",
        ),
        text("class", "Only errors of this class: their `code`"),
        number("from", "Only last seen at or after, epoch milliseconds"),
        number(
            "days",
            "1 to 30: each record has `days`, how many failed runs that are kept it had in each of so many days of 24 hours, the oldest first; null where more than the organization's newest 20,000 would have to be read",
        )
        .within(1, 30),
        number("days_to", "When the last of these days ends, epoch milliseconds; absent: now"),
    ];
    vec![
        get("/workflows/{id}/error_groups", READ, "Its errors by class, step and place, the last seen first", list_of::<WorkflowId>)
            .takes(&groups)
            .page(of::<ErrorGroupOut>()),
        get("/sources/{id}/error_groups", READ, "Its errors by class and place, the last seen first", list_of::<SourceId>)
            .takes(&groups)
            .page(of::<ErrorGroupOut>()),
        get("/error_groups", READ, "All errors by class, step and place, the last seen first", list).takes(&groups).page(of::<ErrorGroupOut>()),
        get("/error_groups/{id}", READ, "A group of errors, with the history of its state and the versions it was seen in", show)
            .one(of::<ErrorGroupRecordOut>()),
        put(
            "/error_groups/{id}",
            DEPLOY,
            "Say that a group of errors is resolved or ignored, or open again, and note something about it. A resolved one is `regressed` once a run accepted after that fails with it; of an ignored one no mail is sent",
            update,
        )
        .takes(&[
            word("state", &["open", "resolved", "ignored"], "`open`, `resolved` or `ignored`; absent: as it is"),
            text("note", "What is known about it, at most 2,000 characters; null: nothing; absent: as it is").at_most(NOTE_CHARS_MAX as u32),
        ])
        .updates()
        .one(of::<ErrorGroupRecordOut>()),
    ]
}

/// Groups of the errors of a workflow or source.
pub(crate) async fn list_of<E: Emitter>(
    State(app): State<App>,
    auth: Auth,
    Path(owner): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    listed(&app, &auth, Some(emitter::<E>(owner)?), &query).await
}

/// Groups of all errors.
pub(crate) async fn list(
    State(app): State<App>,
    auth: Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    listed(&app, &auth, None, &query).await
}

async fn listed(
    app: &App,
    Auth(caller): &Auth,
    owner: Option<String>,
    query: &ListQuery,
) -> Result<Response, ApiError> {
    let params = &query.params;
    let states = params
        .words("state")?
        .unwrap_or_default()
        .iter()
        .map(|text| state(text))
        .collect::<Result<_, _>>()?;
    let filter = ErrorGroupFilter {
        owner,
        states,
        class: params.text("class")?,
        since: time(params, "from")?,
    };
    let listing = app.engine.error_groups().list(caller, &filter, &query.page).await?;
    let days = match params.number("days")? {
        Some(days) => {
            Some(app.engine.error_groups().days(caller, days, time(params, "days_to")?).await?)
        }
        None => None,
    };
    Ok(Fields::of(params).records(listing, |g| {
        ErrorGroupOut::show(&g, days.as_ref().map(|days| days.of_group(&g.id)))
    }))
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(group): Path,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let view = app.engine.error_groups().get(&caller, &group_id(&group)?).await?;
    Ok(Fields::of(&query.params).data(ErrorGroupRecordOut::show(&view)))
}

/// Changes the state or the note; null takes the note away.
pub(crate) async fn update(
    State(app): State<App>,
    Auth(caller): Auth,
    Path(group): Path,
    back: WrittenBack,
    params: Params,
) -> Result<Response, ApiError> {
    let group = group_id(&group)?;
    back.check(&params, async {
        Ok(ErrorGroupRecordOut::show(&app.engine.error_groups().get(&caller, &group).await?))
    })
    .await?;
    let given = params.text("state")?.map(|text| state(&text)).transpose()?;
    let note = params.change("note")?;
    let view = app.engine.error_groups().change(&caller, &group, given, note).await?;
    Ok(Fields::of(&params).data(ErrorGroupRecordOut::show(&view)))
}

fn group_id(text: &str) -> Result<ErrorGroupId, ApiError> {
    id("group of errors", text)
}

fn state(text: &str) -> Result<ErrorState, ApiError> {
    let refused = || {
        let shown = millrace_model::shown(text);
        ApiError::field(
            "state",
            format!(
                "`{shown}` is not a state of errors; allowed are open, resolved, ignored and regressed"
            ),
        )
    };
    ErrorState::parse(text).ok_or_else(refused)
}
