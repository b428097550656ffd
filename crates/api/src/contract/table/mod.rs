//! All routes of `/v1`.

mod connect;
mod workflows;

use std::collections::BTreeMap;

use millrace_model::ids::SourceId;
use millrace_model::made_from::MadeFrom;
use millrace_model::page::Page;
use millrace_model::replay::RUNS_NAMED_MAX;
use millrace_model::run::{LogLevel, RunKind, RunStatus};
use millrace_model::tenant::Scope;
use millrace_model::workflow::MESSAGE_MAX;
use schemars::JsonSchema;

use crate::audit;
use crate::contract::routes::{FIELDS, Gives, Kind, Needs, PAGE, Param, Route, get, limit};
use crate::contract::shape::{Shape, of};
use crate::v1::events::{EventSummaryOut, RemovedOut};
use crate::v1::filters::GivenTime;
use crate::v1::run_records::{LiveStepOut, LogLineOut, RunOut};
use crate::v1::{
    accounts, api_keys, apps, components, configure, data_stores, domains, error_groups, files,
    history, mail, members, names, oauth_clients, registries, replays, session, sources, sse,
    subscriptions, system, users, webhooks,
};

pub(crate) const NOTHING: Needs = Needs::Nothing;
pub(crate) const ANY: Needs = Needs::AnyKey;
pub(crate) const READ: Needs = Needs::Scope(Scope::Read);
pub(crate) const INVOKE: Needs = Needs::Scope(Scope::Invoke);
pub(crate) const DEPLOY: Needs = Needs::Scope(Scope::Deploy);
pub(crate) const FULL: Needs = Needs::Scope(Scope::Full);

pub(crate) const ORG: Param = text(
    "org_id",
    "The organization, where it is named; another than the key's own does not exist for it. `workspace_id` means the same",
);
/// Events of a stream of log lines.
pub(crate) const LOG_EVENTS: &[(&str, Shape)] = &[("", of::<LogLineOut>())];
pub(crate) const EVENT_NAME: Param =
    text("event_name", "The stream: a channel's name, `$errors`; empty for the default channel");

/// What a deployment says of itself.
pub(crate) const MESSAGE: Param =
    text("message", "What the deployment that this makes says of itself, at most 500 characters")
        .at_most(MESSAGE_MAX as u32);

/// Of a list of deployments.
pub(crate) const VERSION_RUNS: Param =
    flag("runs", "Each with how its live runs ended, of the owner's newest 10,000 runs");

pub(crate) const DYNAMIC_PROPS: Param = text(
    "dynamic_props_id",
    "The form's: the `id` of the latest answer of `/components/props`, good for a day",
);

pub(crate) const MADE_FROM: Param = Param::new(
    "made_from",
    Kind::Of(of::<MadeFrom>()),
    "The file it is made from: `{project, path, fingerprints}`, the last an object of texts of the client's choice. A change that does not say it empties `fingerprints`; null: it is made from no file any more",
);

pub(crate) const fn text(name: &'static str, about: &'static str) -> Param {
    Param::new(name, Kind::Text, about)
}

pub(crate) const fn number(name: &'static str, about: &'static str) -> Param {
    Param::new(name, Kind::Number, about)
}

pub(crate) const fn flag(name: &'static str, about: &'static str) -> Param {
    Param::new(name, Kind::Flag, about)
}

pub(crate) const fn object(name: &'static str, about: &'static str) -> Param {
    Param::new(name, Kind::Object, about)
}

/// One of these words.
pub(crate) const fn word(
    name: &'static str,
    words: &'static [&'static str],
    about: &'static str,
) -> Param {
    Param::new(name, Kind::OneOf(words), about)
}

/// A value of a type.
pub(crate) const fn a<T: JsonSchema>(name: &'static str, about: &'static str) -> Param {
    Param::new(name, Kind::Of(of::<T>()), about)
}

/// Every route, by what it is about.
pub(crate) fn v1() -> Vec<Route> {
    [
        users::routes(),
        session::routes(),
        members::routes(),
        api_keys::routes(),
        apps::routes(),
        accounts::routes(),
        configure::routes(),
        components::routes(),
        registries::routes(),
        sources::routes(),
        subscriptions::routes(),
        webhooks::routes(),
        workflows::of_workflows(),
        workflows::of_runs(),
        mail::routes(),
        names::routes(),
        error_groups::routes(),
        replays::routes(),
        domains::routes(),
        data_stores::routes(),
        files::routes(),
        oauth_clients::routes(),
        history::routes(),
        system::routes(),
        audit::routes(),
        connect::of_connect(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Streams at the addresses, outside of `/v1`, that clients of the hosted platform know
/// (facts 1.10). The document has them below `/v1` only.
pub(crate) fn streams() -> Vec<Route> {
    vec![
        get("/sources/{id}/sse", READ, "Events as they settle", sse::events::<SourceId>)
            .takes(&[EVENT_NAME]),
        get("/sse/dc/{id}/emits", READ, "Events as they settle", sse::events::<SourceId>)
            .takes(&[EVENT_NAME]),
        get(
            "/sse/dc/{id}/observations",
            READ,
            "Log lines as they are written",
            sse::logs::<SourceId>,
        ),
        get("/pipelines/{id}/sse", READ, "What a workflow sends with `$.send.sse`", sse::sends),
    ]
}

/// How requests name code.
pub(crate) fn code_params() -> [Param; 7] {
    [
        text("component_id", "A saved component; wins"),
        text(
            "component_code",
            "The code itself; wins over `component_url`, which is then kept as metadata",
        ),
        a::<BTreeMap<String, String>>(
            "component_files",
            "Files that its relative imports reach, and that it reads beside its own: path to text, or to `data:application/octet-stream;base64,…` for bytes",
        ),
        text("component_entry", "The path of the code among these files"),
        word(
            "language",
            &["javascript", "typescript"],
            "The language of the code, `javascript` or `typescript`; where it is not given, the code tells",
        ),
        text("component_url", "Where the code is; `url` means the same"),
        text(
            "key",
            "A published key, or one of a registry; with `@version` behind it, that version",
        ),
    ]
}

/// On requests to delete.
pub(crate) const DRY_RUN: Param = flag("dry_run", "Delete nothing, and say what would go with it");

/// On lists of workflows and sources.
pub(crate) const STATS: Param = word(
    "stats",
    &["1h", "24h", "7d", "30d"],
    "`1h`, `24h`, `7d` or `30d`: each record has `stats`, the live runs that ended, as `GET /stats/runs` gives them, in 12, 24, 28 or 30 buckets; a source also `last_event` and `last_error`",
);

pub(crate) fn summaries(route: Route) -> Route {
    let params = [
        word("expand", &["event"], "`event`: with the whole event, where it is over 1 KB"),
        text(
            "q",
            "Only with this text in the first 32,768 characters of the data, the id or the summary, whatever the case of its letters from a to z; of the newest 2,000 events",
        ),
    ];
    // The most recent 100 are returned where no limit is given (spec 4.2).
    let page = [limit("Items on a page", Page::LIMIT_MAX), PAGE[1], PAGE[2]];
    route.takes(&params).takes(&page).takes(FIELDS).gives(Gives::Page(of::<EventSummaryOut>()))
}

pub(crate) fn removal(route: Route) -> Route {
    let bounds = [
        text("start_id", "The first to go; absent: from the start"),
        text("end_id", "The last to go; absent: to the end"),
        EVENT_NAME,
    ];
    route.takes(&bounds).gives(Gives::One(of::<RemovedOut>())).status(202)
}

pub(crate) const LOGS: &str =
    "The newest log lines, the oldest of them first; `before` gives the page before";

pub(crate) fn logged(route: Route) -> Route {
    let filter = [
        Param::new(
            "level",
            Kind::WordsOf(of::<LogLevel>()),
            "Only of one or several of `debug`, `log`, `info`, `warn` and `error`, with commas between them",
        ),
        text(
            "text",
            "Only with this text, whatever the case of its letters from a to z; of the newest 100,000 lines, as with the others",
        ),
        text("step", "Only written by this step"),
        text("before", "Lines before this cursor: the `start_cursor` of the page after"),
        limit("How many", Page::LIMIT_MAX),
    ];
    route.takes(&filter).takes(FIELDS).gives(Gives::Page(of::<LogLineOut>()))
}

pub(crate) const RUNS_SSE: &str = "Its runs as they go on: `run` when the state of one changes, `step` as each step begins and ends, with its `run_id`";

pub(crate) fn runs_sse(route: Route) -> Route {
    route
        .takes(&[number(
            "from",
            "First those accepted at or after, epoch milliseconds; absent: from now on",
        )])
        .gives(Gives::Stream(const { &[("run", of::<RunOut>()), ("step", of::<LiveStepOut>())] }))
}

/// States and times that runs are chosen by.
pub(crate) static RUN_STATES: [Param; 3] = [
    Param::new(
        "status",
        Kind::WordsOf(of::<RunStatus>()),
        "One or several of `queued`, `running`, `paused`, `succeeded`, `failed` and `cancelled`, with commas between them",
    ),
    a::<GivenTime>("from", "Accepted at or after: epoch milliseconds, or RFC 3339"),
    a::<GivenTime>("to", "Accepted before, and after `from`"),
];

/// What else runs of an organization are chosen by.
pub(crate) static RUN_FILTER: [Param; 11] = [
    Param::new("ids", Kind::Words, "One of these runs, at most 1,000, with commas between them")
        .within(1, RUNS_NAMED_MAX as u32),
    text(
        "owner_id",
        "Of this workflow or source; also of one that was deleted, as long as its history is kept",
    ),
    a::<RunKind>("kind", "`live`, `test` or `hook`"),
    text("deployment_id", "Of this deployment of a workflow or source"),
    text("trigger_id", "Brought by this trigger: an interface or an emitter"),
    text("trace_id", "Of the executions that come from one event"),
    text("error_class", "Failed with an error of this class: its `code`"),
    text("group", "Failed with an error of this group"),
    text("replay_of", "Replays of this run"),
    number("min_ms", "Finished, with a `duration_ms` of at least so many milliseconds").at_least(0),
    text(
        "q",
        "With all of these words in their error, event or results, whatever their case; `order*` stands for each word that begins so. In a list `page_info.search` says which runs are looked at; together at most 1,000 such runs are replayed or cancelled",
    ),
];

/// The same as an object, in a field of a request.
pub(crate) const FILTER: Kind = Kind::Fields(&[&RUN_STATES, &RUN_FILTER]);

pub(crate) const OWN_RUNS: &str = "Its runs, newest first, each with all that it holds; `GET /v1/runs?owner_id=` lists them without events, contexts and what steps gave";

pub(crate) fn listed_runs(route: Route) -> Route {
    route.takes(&RUN_STATES).page(of::<RunOut>())
}
