//! `/system`: version, parts and state of the server.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use millrace_engine::{Readiness, System, VERSION};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::checks::Check;
use crate::contract::routes::{Gives, Route, get};
use crate::contract::shape::{of, record};
use crate::contract::table::FULL;
use crate::error::ApiError;
use crate::extract::{Auth, ListQuery};
use crate::fields::Fields;
use crate::{ApiConfig, App};

/// How ready a server is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ReadinessStatus {
    /// Events are accepted, and nothing stands against it.
    Ready,
    /// They are accepted, with something to look at.
    Degraded,
    /// They are not accepted.
    NotReady,
}

record! {
    /// Whether events are accepted, and what stands against it
    SystemReadinessOut<'a>(r: &'a Readiness) with {
        let is_ready = matches!(r, Readiness::Ready);
    } {
        status: ReadinessStatus = match r {
            Readiness::Ready => ReadinessStatus::Ready,
            other if other.accepts() => ReadinessStatus::Degraded,
            _ => ReadinessStatus::NotReady,
        },
        code: Option<&'a str> = (!is_ready).then(|| r.code()),
        message: String = r.to_string(),
    }
}

record! {
    /// Runs under way
    SystemRunsOut(unfinished: Option<u64>, here: (usize, usize)) {
        unfinished: Option<u64> = unfinished,
        running: usize = here.0,
        waiting: usize = here.1,
    }
}

record! {
    /// Processes with code of components, and those that wait for code
    SystemHostsOut(hosts: (usize, usize)) {
        with_code: usize = hosts.0,
        blank: usize = hosts.1,
    }
}

record! {
    /// The walls around components, and those that are missing, with what each needs
    SystemWallsOut<'a>(s: &'a System) {
        standing: &'a str = &s.walls,
        missing: &'a [&'static str] = &s.walls_missing,
    }
}

/// The database of a server.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum DatabaseKind {
    /// A file of its own.
    Sqlite,
    /// One that servers share.
    Postgres,
}

record! {
    /// The server that answers. `runs`: `unfinished` on all servers of the database, null where it
    /// does not answer; the others here. `stored_bytes` are those of the database. `walls` stand
    /// around components
    SystemOut<'a>(s: &'a System, config: &'a ApiConfig) {
        version: &'static str = VERSION,
        url: &'a str = &config.base_url,
        started_at: i64 = s.started_at.secs(),
        node_version: &'a str = &s.node_version,
        readiness: SystemReadinessOut<'a> = SystemReadinessOut::new(&s.readiness),
        database: DatabaseKind =
            if s.is_single { DatabaseKind::Sqlite } else { DatabaseKind::Postgres },
        servers: u64 = s.servers,
        runs: SystemRunsOut = SystemRunsOut::new(s.unfinished_runs, s.runs),
        hosts: SystemHostsOut = SystemHostsOut::new(s.hosts),
        stored_bytes: Option<u64> = s.stored_bytes,
        free_bytes: Option<u64> = s.free_bytes,
        resident_bytes: Option<u64> = s.resident_bytes,
        walls: SystemWallsOut<'a> = SystemWallsOut::new(s),
        egress_allow: &'a [String] = &s.egress_allow,
        mail_server: Option<&'a str> = s.mail_server.as_deref(),
    }
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get("/system", FULL, "The server: its version, database, disk, queue, hosts and walls. Of the organization that was made first alone", show)
            .one(of::<SystemOut>()),
        get("/system/checks", FULL, "What `millrace doctor` finds of the server that answers; asked again within ten seconds, as it was found before. Of the organization that was made first alone", checks)
            .gives(Gives::List(of::<Check>())),
    ]
}

pub(crate) async fn show(
    State(app): State<App>,
    Auth(caller): Auth,
    query: ListQuery,
) -> Result<Response, ApiError> {
    let system = app.engine.system(&caller).await?;
    Ok(Fields::of(&query.params).data(SystemOut::show(&system, &app.config)))
}

pub(crate) async fn checks(
    State(app): State<App>,
    Auth(caller): Auth,
) -> Result<Json<Value>, ApiError> {
    app.engine.check_operator(&caller).await?;
    Ok(Json(json!({ "data": app.examination.found().await })))
}
