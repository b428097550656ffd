//! Fields of the parts that records hold: props, triggers, steps and their results, errors,
//! settings. A value of one of several shapes is a union, with `type` as its discriminator.

use serde_json::{Map, Value, json};

use super::{Fields, all_of, record, reference, schema};

/// `millrace_model::run::RunStatus`.
pub(super) const RUN_STATUS: &str = "=queued,running,paused,succeeded,failed,cancelled";
pub(super) const RUN_STATUS_OR_NULL: &str =
    "=queued,running,paused,succeeded,failed,cancelled|null";
/// `millrace_model::run::RunKind`.
pub(super) const RUN_KIND: &str = "=live,test,hook";
/// `millrace_model::run::LogLevel`.
pub(super) const LOG_LEVEL: &str = "=debug,log,info,warn,error";
/// `millrace_model::component::ComponentType`.
pub(super) const COMPONENT_TYPE: &str = "=source,action";
/// `millrace_model::webhook::DeliveryStatus`.
pub(super) const DELIVERY_STATUS: &str = "=queued,delivered,failed";

pub(super) const PARTS: &[(&str, &str, Fields)] = &[
    (
        "AppOauth",
        "How accounts of an app are connected by OAuth 2; its secret is never shown",
        &[
            ("authorize_url", "string"),
            ("token_url", "string"),
            ("revoke_url", "string|null"),
            ("scopes", "[string]"),
            ("authorize_params", "{string}"),
            ("client_id", "string"),
            ("secret_in_body", "boolean"),
            ("uid_field", "string|null"),
        ],
    ),
    (
        "Annotations",
        "What a component says of its effects",
        &[
            ("title?", "string"),
            ("destructiveHint?", "boolean"),
            ("idempotentHint?", "boolean"),
            ("openWorldHint?", "boolean"),
            ("readOnlyHint?", "boolean"),
        ],
    ),
    (
        "CodeFiles",
        "The files that came with a component's code: the path of its entry, and the others' texts by path",
        &[("entry", "string"), ("others", "{string}")],
    ),
    (
        "MadeFrom",
        "The folder of files that a record was made from; fingerprints are texts of the client that made it",
        &[("project", "string"), ("path", "string"), ("fingerprints", "{string}")],
    ),
    (
        "Form",
        "A form of props; `id` names it in the next request",
        &[("id", "string|null"), ("configurable_props", "[#Prop]")],
    ),
    (
        "ConnectForm",
        "A form of props; `id` names it in the next request",
        &[("id", "string|null"), ("configurableProps", "[#Prop]")],
    ),
    (
        "Observation",
        "A line of a log, or with `err` what was thrown",
        &[("k", LOG_LEVEL), ("ts", "integer"), ("msg?", "string"), ("err?", "#Thrown")],
    ),
    (
        "Thrown",
        "What code threw",
        &[("name", "string"), ("message", "string"), ("stack", "string")],
    ),
    (
        "EndpointAuth",
        "Who may call an endpoint; its secret is never shown",
        &[("type", "=none,bearer,signature,api_key"), ("header?", "string|null")],
    ),
    (
        "Step",
        "A step of a workflow. In lists its id, its name and whether it is disabled, or the component of the version, alone",
        &[
            ("id", "string"),
            ("namespace", "string"),
            ("type?", "=CodeCell"),
            ("lang?", "string"),
            ("disabled?", "boolean"),
            ("note?", "string|null"),
            ("component?", "boolean"),
            ("component_id?", "string"),
            ("component_key?", "string|null"),
            ("savedComponent?", "#StepComponent"),
            ("configured_props_json?", "string"),
            ("sealed_props?", "[string]"),
        ],
    ),
    (
        "StepComponent",
        "The component of a step",
        &[
            ("id", "string"),
            ("code", "string"),
            ("codeHash", "string"),
            ("configurableProps", "[#Prop]"),
            ("key", "string|null"),
            ("version", "string|null"),
            ("apps", "[string]"),
            ("published", "boolean"),
            ("files", "#CodeFiles|null"),
        ],
    ),
    (
        "WorkflowSettings",
        "Settings of a workflow; what is null or absent has its default",
        &[
            ("timeout_ms", "integer|null"),
            ("memory_mb", "integer|null"),
            ("error_notification", "boolean"),
            ("error_recipients?", "[string]"),
            ("keep_data", "boolean"),
            ("auto_retry?", "#Retry"),
            ("concurrency?", "integer"),
            ("calls_per_isolate?", "integer"),
            ("throttle?", "#Throttle"),
            ("queue_max?", "integer"),
        ],
    ),
    (
        "Retry",
        "How often a failed step is tried again, and the wait before the first time, which doubles",
        &[("max", "integer"), ("first_ms", "integer")],
    ),
    (
        "Throttle",
        "So many runs in each interval",
        &[("runs", "integer"), ("interval_ms", "integer")],
    ),
    (
        "RunContext",
        "Who and what a run comes from: `steps.trigger.context`",
        &[
            ("id", "string"),
            ("trace_id", "string"),
            ("ts", "string"),
            ("workflow_id", "string"),
            ("workflow_name", "string"),
            ("deployment_id", "string"),
            ("emitter_id", "string"),
            ("source_type", "string"),
            ("verified", "boolean"),
            ("hops", "integer|null"),
            ("test", "boolean"),
            ("replay", "boolean"),
            ("owner_id", "string"),
            ("project_id", "string|null"),
            ("platform_version", "string"),
            ("nostore?", "boolean"),
            ("due?", "string"),
            ("handles_error?", "boolean"),
        ],
    ),
    (
        "StepResult",
        "What a step of a run did. `props`: after expressions, without credentials; `attempts`: its tries before this one",
        &[
            ("namespace", "string"),
            ("status", RUN_STATUS),
            ("duration_ms?", "integer"),
            ("exports", "#JsonObject"),
            ("started_at_ms?", "integer"),
            ("props?", "#JsonObject"),
            ("error?", "#StepError"),
            ("attempts?", "[#StepAttempt]"),
        ],
    ),
    (
        "LiveStep",
        "A step as it begins and ends, in a stream",
        &[
            ("namespace", "string"),
            ("status", "=running,finished"),
            ("duration_ms?", "integer|null"),
            ("exports?", "#Json"),
            ("run_id?", "string"),
        ],
    ),
    (
        "EmittedEvent",
        "An event that a source emitted, in a stream",
        &[("e", "#Json"), ("k", "=emit"), ("ts", "integer"), ("id", "string"), ("name", "string")],
    ),
    (
        "System",
        "The server that answers. `runs`: `unfinished` on all servers of the database, null where it does not answer; the others here. `walls` stand around components",
        &[
            ("version", "string"),
            ("url", "string"),
            ("started_at", "integer"),
            ("node_version", "string"),
            ("readiness", "#SystemReadiness"),
            ("database", "=sqlite,postgres"),
            ("servers", "integer"),
            ("runs", "#SystemRuns"),
            ("hosts", "#SystemHosts"),
            ("free_bytes", "integer|null"),
            ("resident_bytes", "integer|null"),
            ("walls", "#SystemWalls"),
            ("egress_allow", "[string]"),
            ("mail_server", "string|null"),
        ],
    ),
    (
        "SystemReadiness",
        "Whether events are accepted, and what stands against it",
        &[("status", "=ready,degraded,not_ready"), ("code", "string|null"), ("message", "string")],
    ),
    (
        "SystemRuns",
        "Runs under way",
        &[("unfinished", "integer|null"), ("running", "integer"), ("waiting", "integer")],
    ),
    (
        "SystemHosts",
        "Processes with code of components, and those that wait for code",
        &[("with_code", "integer"), ("blank", "integer")],
    ),
    (
        "SystemWalls",
        "The walls around components, and those that are missing, with what each needs",
        &[("standing", "string"), ("missing", "[string]")],
    ),
    ("StepError", "Why a try of a step failed", &[("code", "string"), ("message", "string")]),
    (
        "StepAttempt",
        "A try of a step that was tried again. Where nothing of it is known, its process or the server ended before it did",
        &[
            ("started_at_ms", "integer|null"),
            ("duration_ms", "integer|null"),
            ("error", "#StepError|null"),
        ],
    ),
    (
        "ListedStep",
        "A step of a run without what it gave",
        &[
            ("namespace", "string"),
            ("status", RUN_STATUS),
            ("started_at_ms", "integer|null"),
            ("duration_ms", "integer|null"),
        ],
    ),
    (
        "RunError",
        "Why a run failed; `cellId` is the step's id, empty of a source",
        &[
            ("code", "string"),
            ("message", "string"),
            ("cellId", "string"),
            ("ts", "string"),
            ("stack", "string"),
        ],
    ),
    (
        "Paused",
        "Why a run is paused, at which step, and when the pause ends by itself; of `suspend`, when the run is cancelled",
        &[("kind", "=delay,suspend,rerun,retry"), ("namespace", "string"), ("until_ms", "integer")],
    ),
    (
        "ReplaySelection",
        "Which runs are replayed, from where and by which version: `runs` by their ids; `filter` as lists of runs take it; else those that failed and fit the rest",
        &[
            ("runs?", "[string]"),
            ("class?", "string"),
            ("group?", "string"),
            ("from?", "integer"),
            ("to?", "integer"),
            ("filter?", "#ReplayFilter"),
            ("begin", "#ReplayBegin"),
            ("version", "=live,original,draft"),
        ],
    ),
    (
        "ReplayFilter",
        "Which runs, by what lists of runs take",
        &[
            ("ids?", "[string]"),
            ("owner_id?", "string"),
            ("status?", "[=queued,running,paused,succeeded,failed,cancelled]"),
            ("kind?", RUN_KIND),
            ("deployment_id?", "string"),
            ("trigger_id?", "string"),
            ("trace_id?", "string"),
            ("error_class?", "string"),
            ("group?", "string"),
            ("replay_of?", "string"),
            ("min_ms?", "integer"),
            ("from?", "integer"),
            ("to?", "integer"),
        ],
    ),
    ("ReplayFromStep", "From the step of this name", &[("step", "string")]),
    (
        "HttpInterface",
        "An endpoint of a source; its address stands in the source's props",
        &[("id", "string"), ("type", "=http"), ("key", "string"), ("custom_response", "boolean")],
    ),
    (
        "TimerInterface",
        "A timer of a source: an interval or a cron expression",
        &[
            ("id", "string"),
            ("type", "=timer"),
            ("interval_seconds", "integer|null"),
            ("cron", "string|null"),
            ("timezone", "string"),
        ],
    ),
    (
        "HttpTrigger",
        "An endpoint that runs a workflow",
        &[
            ("id", "string"),
            ("type", "=http"),
            ("key", "string"),
            ("endpoint_url", "string"),
            ("custom_response", "boolean"),
            ("auth", "#EndpointAuth"),
            ("created_at", "integer"),
            ("updated_at", "integer"),
        ],
    ),
    (
        "TimerTrigger",
        "A schedule that runs a workflow: an interval or a cron expression",
        &[
            ("id", "string"),
            ("type", "=timer"),
            ("interval_seconds", "integer|null"),
            ("cron", "string|null"),
            ("timezone", "string"),
            ("created_at", "integer"),
            ("updated_at", "integer"),
        ],
    ),
];

/// Names and schemas of what is one of several shapes, and of free JSON.
pub(super) fn unions() -> Map<String, Value> {
    let of = |about: &str, names: &[&str]| json!({ "description": about, "anyOf": names.iter().map(|name| reference(name)).collect::<Vec<_>>() });
    let mut shapes = Map::new();
    let mut put = |name: &str, shape: Value| shapes.insert(name.to_owned(), shape);
    let plain = ["null", "boolean", "number", "string"].map(|kind| json!({ "type": kind }));
    // Items of a list within are any JSON too: a list of itself has no type in TypeScript.
    let nested = [json!({ "type": "array", "items": {} }), reference("JsonObject")];
    put(
        "Json",
        json!({ "description": "Any JSON: what people, components and other services give", "anyOf": plain.iter().chain(&nested).collect::<Vec<_>>() }),
    );
    put(
        "JsonObject",
        json!({ "type": "object", "description": "An object of any JSON", "additionalProperties": reference("Json") }),
    );
    put("Interface", of("What triggers a source", &["HttpInterface", "TimerInterface"]));
    put("Trigger", of("What runs a workflow", &["HttpTrigger", "TimerTrigger", "SourceTrigger"]));
    put("SourceTrigger", source_trigger());
    put(
        "ChangedRun",
        of(
            "A run whose state changed: of the topic `runs` as in lists, of `run:{id}` whole",
            &["ListedRun", "Run"],
        ),
    );
    let begin = json!({ "description": "Where each replay begins", "anyOf": [schema("=start,failed"), reference("ReplayFromStep")] });
    put("ReplayBegin", begin);
    let props = PROPS.iter().map(|(name, ..)| *name).chain(["OtherProp"]).collect::<Vec<_>>();
    put("Prop", of("A prop of a component (spec 2.7)", &props));
    for (name, about, types, own) in PROPS {
        put(name, prop(about, types, own));
    }
    put(
        "OtherProp",
        prop(
            "A prop of another type, or whose definition has fields of other types: kept as its author wrote it",
            "string",
            &[],
        ),
    );
    shapes
}

/// A source's record, of which its id alone is left once it is deleted.
fn source_trigger() -> Value {
    let own = [("id", "string"), ("type", "=source"), ("event_name", "string")];
    let fields = all_of("Source")
        .iter()
        .filter(|(name, _)| !matches!(*name, "id" | "stats?" | "last_event?" | "last_error?"));
    let fields: Vec<(String, &str)> =
        fields.map(|(name, kind)| (format!("{name}?"), *kind)).collect();
    let fields: Vec<(&str, &str)> =
        own.into_iter().chain(fields.iter().map(|(name, kind)| (name.as_str(), *kind))).collect();
    record(
        "A source whose events run a workflow; `event_name` is empty for its default channel",
        &fields,
    )
}

/// Fields that a prop of any type may have.
const OF_EACH_PROP: Fields = &[
    ("label?", "string"),
    ("description?", "string"),
    ("optional?", "boolean"),
    ("hidden?", "boolean"),
    ("disabled?", "boolean"),
    ("readOnly?", "boolean"),
    ("reloadProps?", "boolean"),
    ("remoteOptions?", "boolean"),
    ("useQuery?", "boolean"),
    ("withLabel?", "boolean"),
    ("options?", "[#Json]"),
];

/// Props by their types: the schema's name, what it is, the types, and the fields of these alone.
const PROPS: &[(&str, &str, &str, Fields)] = &[
    (
        "StringProp",
        "A text, or a list of texts",
        "=string,string[]",
        &[
            ("secret?", "boolean"),
            ("default?", "#Json"),
            ("static?", "#Json"),
            ("format?", "string"),
        ],
    ),
    (
        "IntegerProp",
        "A whole number, or a list of them",
        "=integer,integer[]",
        &[("min?", "number"), ("max?", "number"), ("default?", "#Json"), ("static?", "#Json")],
    ),
    (
        "BooleanProp",
        "Yes or no",
        "=boolean,boolean[]",
        &[("default?", "#Json"), ("static?", "#Json")],
    ),
    (
        "ObjectProp",
        "An object, or a list of objects",
        "=object,object[]",
        &[("default?", "#Json"), ("static?", "#Json")],
    ),
    (
        "AppProp",
        "A connected account of an app, or a list of them",
        "=app,app[]",
        &[("app?", "string")],
    ),
    (
        "AlertProp",
        "Text of the form, without a value",
        "=alert",
        &[("alertType?", "=info,neutral,warning,error"), ("content?", "string")],
    ),
    (
        "HttpRequestProp",
        "A request that the component makes",
        "=http_request",
        &[("default?", "#JsonObject")],
    ),
    ("SqlProp", "A query", "=sql", &[("auth?", "#JsonObject"), ("default?", "#Json")]),
    ("DataStoreProp", "A data store", "=data_store,datastore", &[]),
    (
        "DirProp",
        "A file store",
        "=dir",
        &[("accessMode?", "=read,write,read-write"), ("sync?", "boolean")],
    ),
    (
        "HttpInterfaceProp",
        "An endpoint that the server makes",
        "=$.interface.http",
        &[("customResponse?", "boolean")],
    ),
    (
        "TimerInterfaceProp",
        "A timer",
        "=$.interface.timer",
        &[("default?", "#JsonObject"), ("static?", "#JsonObject")],
    ),
    ("DbProp", "What a source remembers between its runs", "=$.service.db", &[]),
    (
        "AppHookProp",
        "Events of an app",
        "=$.interface.apphook",
        &[("appProp?", "string"), ("eventNames?", "[string]"), ("remote?", "boolean")],
    ),
];

/// A prop's definition may have further fields.
fn prop(about: &str, types: &str, own: Fields) -> Value {
    let each = if types == "string" { &[] } else { OF_EACH_PROP };
    let fields: Vec<(&str, &str)> = [("name", "string"), ("type", types)]
        .into_iter()
        .chain(each.iter().copied())
        .chain(own.iter().copied())
        .collect();
    let mut shape = record(about, &fields);
    shape["additionalProperties"] = reference("Json");
    shape
}
