//! Answers of `/connect/{project}` that code gives: options, forms of props, results of actions.

use millrace_engine::{ActionRun, OptionsAnswer, PropsAnswer};
use millrace_model::clock::Timestamp;
use millrace_model::run::{LogLevel, LogLine};
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::contract::schemas::props::PropOut;
use crate::contract::shape::record;
use crate::v1::connect_records::props;

/// An option to choose: the runtime makes one of whatever an options method gives
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape of what components give as JSON")]
pub(crate) struct PropOptionOut {
    label: String,
    /// What the prop holds where it is chosen
    value: Value,
    #[serde(flatten)]
    others: Map<String, Value>,
}

record! {
    /// Options of a prop, or why there are none
    #[serde(rename_all = "camelCase")]
    ConnectOptionsOut<'a>(answer: &'a OptionsAnswer) {
        #[schemars(with = "Vec<PropOptionOut>")]
        options: &'a [Value] = &answer.options,
        string_options: Option<Vec<&'a str>> = strings(&answer.options),
        #[schemars(with = "Option<Map<String, Value>>")]
        context: &'a Value =
            if answer.context.is_object() { &answer.context } else { &Value::Null },
        observations: Vec<ObservationOut<'a>> = lines(&answer.logs).collect(),
        errors: &'a [String] = &answer.errors,
    }
}

record! {
    /// A form of props; `id` names it in the next request
    // As such clients read it, which is no snake case (facts 3.6).
    #[serde(rename_all = "camelCase")]
    ConnectFormOut<'a>(answer: &'a PropsAnswer) {
        id: &'a str = &answer.form,
        #[schemars(with = "Vec<PropOut>")]
        configurable_props: Value = props(&json!(answer.props)),
    }
}

record! {
    /// Props that depend on others, or why there are none
    #[serde(rename_all = "camelCase")]
    ConnectDynamicPropsOut<'a>(answer: &'a PropsAnswer) {
        dynamic_props: Option<ConnectFormOut<'a>> =
            answer.errors.is_empty().then(|| ConnectFormOut::new(answer)),
        observations: Vec<ObservationOut<'a>> = lines(&answer.logs).collect(),
        errors: &'a [String] = &answer.errors,
    }
}

record! {
    /// What an action did: `os` are its log lines and what it threw
    ActionRunOut<'a>(run: &'a ActionRun) {
        exports: &'a Map<String, Value> = &run.exports,
        os: Vec<ObservationOut<'a>> = observations(run),
        ret: &'a Value = &run.returned,
    }
}

record! {
    /// What code threw
    ThrownOut<'a>(thrown: &'a (String, String, String)) {
        name: &'a str = &thrown.0,
        message: &'a str = &thrown.1,
        stack: &'a str = &thrown.2,
    }
}

record! {
    /// A line of a log, or with `err` what was thrown
    ObservationOut<'a>(k: LogLevel, at: Timestamp, text: Option<&'a str>, err: Option<ThrownOut<'a>>) {
        k: LogLevel = k,
        ts: i64 = at.ms(),
        #[serde(skip_serializing_if = "Option::is_none")]
        msg: Option<&'a str> = text,
        #[serde(skip_serializing_if = "Option::is_none")]
        err: Option<ThrownOut<'a>> = err,
    }
}

/// Options that are plain texts, as a list of these.
fn strings(options: &[Value]) -> Option<Vec<&str>> {
    let is_list = !options.is_empty() && options.iter().all(|o| o["label"] == o["value"]);
    is_list.then(|| options.iter().map(|option| option["value"].as_str()).collect()).flatten()
}

fn lines(logs: &[LogLine]) -> impl Iterator<Item = ObservationOut<'_>> {
    logs.iter().map(|line| ObservationOut::new(line.level, line.at, Some(&line.text), None))
}

/// Log lines, and what was thrown, in the form of such platforms.
fn observations<'a>(run: &'a ActionRun) -> Vec<ObservationOut<'a>> {
    let thrown = |thrown: &'a (String, String, String)| {
        ObservationOut::new(LogLevel::Error, run.ended_at, None, Some(ThrownOut::new(thrown)))
    };
    lines(&run.logs).chain(run.error.iter().map(thrown)).collect()
}
