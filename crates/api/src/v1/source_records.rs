//! Records of sources: their triggers and deployments, and the props that the server makes.

use millrace_engine::{
    FailedRun, Interfaces, NewestEvent, NewestOf, SourceDeploymentView, SourceView,
};
use millrace_model::ids::{
    ComponentId, DeploymentId, HttpInterfaceId, OrgId, RunId, SourceId, TimerId, UserId,
};
use millrace_model::made_from::MadeFrom;
use millrace_model::schedule::Schedule;
use millrace_model::source::{HttpInterface, SourceDeployment};
use millrace_model::tenant::Caller;
use millrace_model::workflow::Author;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::App;
use crate::contract::shape::{OrNull, record};
use crate::error::ApiError;
use crate::extract::Params;
use crate::v1::replays::RunsByStateOut;
use crate::v1::run_stats::RunStatsOut;
use crate::written_back::WrittenBack;

record! {
    /// An endpoint of a source; its address stands in the source's props
    HttpInterfaceOut<'a>(http: &'a HttpInterface) {
        id: &'a HttpInterfaceId = &http.id,
        #[schemars(extend("enum" = ["http"]))]
        r#type: &'static str = "http",
        key: &'a str = &http.key,
        custom_response: bool = http.custom_response,
    }
}

record! {
    /// A timer of a source: an interval or a cron expression
    TimerInterfaceOut<'a>(id: &'a TimerId, schedule: &'a Schedule) with {
        let (interval_seconds, cron, timezone) = match schedule {
            Schedule::IntervalSeconds(seconds) => (Some(*seconds), None, "UTC"),
            Schedule::Cron { cron, timezone } => (None, Some(cron), timezone.as_str()),
        };
    } {
        id: &'a TimerId = id,
        #[schemars(extend("enum" = ["timer"]))]
        r#type: &'static str = "timer",
        interval_seconds: Option<i64> = interval_seconds,
        cron: Option<&'a String> = cron,
        timezone: &'a str = timezone,
    }
}

/// What triggers a source
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum InterfaceOut<'a> {
    Http(HttpInterfaceOut<'a>),
    Timer(TimerInterfaceOut<'a>),
}

/// What triggers a source; its props tell the addresses.
fn interfaces(i: &Interfaces) -> Vec<InterfaceOut<'_>> {
    let http = i.http.iter().map(|http| InterfaceOut::Http(HttpInterfaceOut::new(http)));
    let timers = i
        .timers
        .iter()
        .map(|timer| InterfaceOut::Timer(TimerInterfaceOut::new(&timer.id, &timer.schedule)));
    http.chain(timers).collect()
}

record! {
    /// A source as its own record and those of others show it
    SourceRecordOut<'a>(view: &'a SourceView) with {
        let s = &view.source;
    } {
        id: &'a SourceId = &s.id,
        user_id: &'a UserId = &s.user_id,
        owner_id: &'a OrgId = &s.org_id,
        component_id: &'a ComponentId = &s.component_id,
        deployment_id: Option<&'a DeploymentId> = s.deployment_id.as_ref(),
        configured_props: &'a Map<String, Value> = &s.configured_props,
        sealed_props: &'a [String] = &view.sealed,
        active: bool = s.active,
        inactive_reason: Option<&'a str> = s.inactive_reason.as_deref(),
        calls_per_isolate: u32 = s.settings.calls_per_isolate.unwrap_or(1),
        concurrency: Option<u32> = s.limits.as_ref().and_then(|limits| limits.concurrency),
        made_from: Option<&'a MadeFrom> = s.made_from.as_ref(),
        external_user_id: Option<&'a str> = s.external_user_id.as_deref(),
        interfaces: Vec<InterfaceOut<'a>> = interfaces(&view.interfaces),
        name: &'a str = &s.name,
        name_slug: &'a str = &s.name_slug,
        created_at: i64 = s.created_at.secs(),
        updated_at: i64 = s.updated_at.secs(),
    }
}

/// What a list tells of a source beside its record: its newest event and error.
type Newest<'a> = Option<&'a NewestOf>;

record! {
    /// A source: a deployed component
    SourceOut<'a>(view: &'a SourceView, stats: Option<RunStatsOut>, newest: Option<Newest<'a>>) {
        #[serde(flatten)]
        record: SourceRecordOut<'a> = SourceRecordOut::new(view),
        #[serde(skip_serializing_if = "Option::is_none")]
        stats: Option<RunStatsOut> = stats,
        #[serde(skip_serializing_if = "Option::is_none")]
        last_event: Option<OrNull<LastEventOut<'a>>> =
            newest.map(|n| OrNull(n.and_then(|n| n.event.as_ref()).map(LastEventOut::new))),
        #[serde(skip_serializing_if = "Option::is_none")]
        last_error: Option<OrNull<LastErrorOut<'a>>> =
            newest.map(|n| OrNull(n.and_then(|n| n.failed.as_ref()).map(LastErrorOut::new))),
    }
}

record! {
    /// The newest event of a source
    LastEventOut<'a>(e: &'a NewestEvent) with {
        let said: Value = millrace_model::json::from_str(&e.metadata).unwrap_or_default();
    } {
        id: String = e.id.to_string(),
        at_ms: i64 = e.id.ms,
        name: &'a str = &e.name,
        summary: Value = said["summary"].clone(),
    }
}

record! {
    /// How the newest failed run of a source failed
    LastErrorOut<'a>(run: &'a FailedRun) with {
        let error: Value = millrace_model::json::from_str(&run.error).unwrap_or_default();
    } {
        run_id: &'a RunId = &run.id,
        at_ms: i64 = run.at.ms(),
        #[schemars(with = "Option<String>")]
        code: Value = error["code"].clone(),
        #[schemars(with = "Option<String>")]
        message: Value = error["message"].clone(),
    }
}

record! {
    /// A version of a source; code, props and settings only where it is shown by itself
    SourceDeploymentOut<'a>(
        d: &'a SourceDeployment,
        whole: Option<&'a SourceDeploymentView>,
        runs: Option<RunsByStateOut>,
    ) {
        id: &'a DeploymentId = &d.id,
        source_id: &'a SourceId = &d.source_id,
        version: i64 = d.version,
        component_id: &'a ComponentId = &d.content.component_id,
        message: Option<&'a str> = d.message.as_deref(),
        made_by: Option<&'a Author> = d.made_by.as_ref(),
        #[serde(skip_serializing_if = "Option::is_none")]
        runs: Option<RunsByStateOut> = runs,
        created_at: i64 = d.created_at.secs(),
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'a str> = whole.map(|w| w.component.code.as_str()),
        #[serde(skip_serializing_if = "Option::is_none")]
        configured_props: Option<&'a Map<String, Value>> =
            whole.map(|_| &d.content.configured_props),
        #[serde(skip_serializing_if = "Option::is_none")]
        sealed_props: Option<&'a [String]> = whole.map(|w| w.sealed.as_slice()),
        #[serde(skip_serializing_if = "Option::is_none")]
        calls_per_isolate: Option<u32> =
            whole.map(|_| d.content.settings.calls_per_isolate.unwrap_or(1)),
        #[serde(skip_serializing_if = "Option::is_none")]
        concurrency: Option<OrNull<u32>> = whole.map(|_| OrNull(d.content.settings.concurrency)),
    }
}

/// Refuses another value than the record shows for a prop that the server makes: an endpoint, a
/// database, a hook.
pub(crate) async fn check_made_props(
    app: &App,
    caller: &Caller,
    source: &SourceId,
    params: &Params,
) -> Result<(), ApiError> {
    let Some(Value::Object(given)) = params.0.get("configured_props") else { return Ok(()) };
    if !given
        .values()
        .any(|value| value.get("endpoint_url").or_else(|| value.get("event_names")).is_some())
    {
        return Ok(());
    }
    let view = app.engine.source(caller, source).await?;
    let component = app.engine.component(caller, view.source.component_id.as_str()).await?;
    let made = ["$.interface.http", "$.interface.apphook"];
    for def in component.manifest.props.iter().filter(|def| made.contains(&def.prop_type.as_str()))
    {
        if let (Some(value), Some(own)) =
            (given.get(&def.name), view.source.configured_props.get(&def.name))
        {
            WrittenBack::check_made(&format!("configured_props.{}", def.name), value, own)?;
        }
    }
    Ok(())
}
