//! Settings of a workflow in requests, and their validation.

use std::fmt;
use std::marker::PhantomData;

use millrace_model::limits::{RETRIES_MAX, RETRY_FIRST_MS, Retry, Throttle};
use millrace_model::source::CALLS_PER_ISOLATE_MAX;
use millrace_model::workflow::Settings;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::checks::recipients;
use crate::read_value::read_value;
use crate::run::allowed_settings::timeout_ms_max;
use crate::{EngineConfig, EngineError};

/// The largest heap that a workflow may ask for, MiB.
const MEMORY_MB_MAX: u32 = 10_240;

/// The largest number of runs that a limit may name.
const LIMIT_MAX: u32 = 10_000;
/// The longest interval of a throttle, milliseconds: 10,000 hours.
const INTERVAL_MS_MAX: u64 = 10_000 * 3_600_000;
/// The longest wait before a first retry, milliseconds.
const RETRY_WAIT_MS_MAX: u64 = RETRY_FIRST_MS;

/// Settings in a request.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SettingsRequest {
    /// The workflow's name.
    pub name: Option<String>,
    /// Whether it is deployed at once; default true.
    pub auto_deploy: Option<bool>,
    /// Wall-clock limit of a run.
    pub timeout_ms: Option<Choice<u64>>,
    /// Heap limit in MiB.
    pub memory_mb: Option<Choice<u32>>,
    /// Whether errors are mailed; default true.
    pub error_notification: Option<bool>,
    /// Who gets those mails; an empty list: the owner.
    pub error_recipients: Option<Vec<String>>,
    /// Whether events, results and logs are kept after a run has ended; default true.
    pub keep_data: Option<bool>,
    /// Whether a failed step is run again: `true`, or `{max, first_ms}`.
    pub auto_retry: Option<Choice<Retry>>,
    /// Runs at once.
    pub concurrency: Option<Choice<u32>>,
    /// Runs that one process serves at the same time, 1 to 64; default 1. They share variables of
    /// modules, `process.env` and `/tmp`: data of one customer may reach the run of another.
    pub calls_per_isolate: Option<Choice<u32>>,
    /// `{runs, interval_ms}`: how many start in each interval.
    pub throttle: Option<Choice<Throttle>>,
    /// Runs that may wait in the queue.
    pub queue_max: Option<Choice<u32>>,
}

impl SettingsRequest {
    /// Reads what a request gives as `settings`; what is refused is named by its own field. A name
    /// that is none is refused too: a limit that is written wrongly would otherwise be missed only
    /// when it was needed.
    pub fn read(settings: &Value) -> Result<Self, EngineError> {
        // A list would be read as the fields in their order.
        if !settings.is_object() {
            let shown = millrace_model::shown(&settings.to_string());
            let message = format!("`settings` is `{shown}`, allowed is an object");
            return Err(EngineError::invalid("settings", message));
        }
        read_value("settings", settings)
    }
}

/// A setting that can be taken away with `false`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Choice<T> {
    /// `false`: none. `true`: the usual value, where there is one.
    Flag(bool),
    /// A value.
    Value(T),
}

/// By hand, as serde's own does not say what is wrong with either form.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChoiceVisitor(PhantomData))
    }
}

struct ChoiceVisitor<T>(PhantomData<T>);

/// What is no flag is read as the value, whose errors say what is expected and where.
impl<'de, T: Deserialize<'de>> Visitor<'de> for ChoiceVisitor<T> {
    type Value = Choice<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or a boolean")
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Choice<T>, E> {
        Ok(Choice::Flag(flag))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Choice<T>, E> {
        T::deserialize(number.into_deserializer()).map(Choice::Value)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Choice<T>, E> {
        T::deserialize(number.into_deserializer()).map(Choice::Value)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Choice<T>, E> {
        T::deserialize(number.into_deserializer()).map(Choice::Value)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Choice<T>, E> {
        T::deserialize(text.into_deserializer()).map(Choice::Value)
    }

    /// No value is a list, which a struct would take for its fields in their order.
    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Choice<T>, A::Error> {
        T::deserialize(().into_deserializer()).map(Choice::Value)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Choice<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Choice::Value)
    }
}

/// `operator`: the ceilings of the server hold for what is set anew. A record that was above them
/// before can be written back; its runs have no more than they allow ([`within`]).
pub(crate) fn settings_of(
    request: &SettingsRequest,
    before: &Settings,
    operator: &EngineConfig,
) -> Result<Settings, EngineError> {
    let timeout_ms = chosen("timeout_ms", &request.timeout_ms, before.timeout_ms.as_ref(), None)?;
    let memory_mb = chosen("memory_mb", &request.memory_mb, before.memory_mb.as_ref(), None)?;
    let timeout_ms_max = timeout_ms_max(operator);
    if timeout_ms != before.timeout_ms
        && let Some(ms) = timeout_ms.filter(|ms| !(1..=timeout_ms_max).contains(ms))
    {
        let message = format!(
            "`{ms}` is not a wall-clock limit on this server; its operator allows 1 to {timeout_ms_max} milliseconds (--timeout-max-seconds)"
        );
        return Err(EngineError::invalid("settings.timeout_ms", message));
    }
    if let Some(mb) = memory_mb.filter(|mb| !(64..=MEMORY_MB_MAX).contains(mb)) {
        let max = operator.memory_mb_max.min(MEMORY_MB_MAX);
        return Err(EngineError::invalid(
            "settings.memory_mb",
            format!("`{mb}` is not a memory limit; allowed are 64 to {max} MiB"),
        ));
    }
    if memory_mb != before.memory_mb
        && let Some(mb) = memory_mb.filter(|mb| *mb > operator.memory_mb_max)
    {
        let max = operator.memory_mb_max;
        let message = format!(
            "`{mb}` MiB is more than a workflow may have on this server; its operator allows {max} MiB (--memory-max-mb)"
        );
        return Err(EngineError::invalid("settings.memory_mb", message));
    }
    let auto_retry = chosen(
        "auto_retry",
        &request.auto_retry,
        before.auto_retry.as_ref(),
        Some(Retry::default()),
    )?;
    if let Some(retry) = auto_retry.as_ref().filter(|r| {
        !(1..=RETRIES_MAX).contains(&r.max) || !(1..=RETRY_WAIT_MS_MAX).contains(&r.first_ms)
    }) {
        let message = format!(
            "`{{max: {}, first_ms: {}}}` are no retries; allowed are 1 to {RETRIES_MAX} of them, the first after 1 to {RETRY_WAIT_MS_MAX} milliseconds",
            retry.max, retry.first_ms
        );
        return Err(EngineError::invalid("settings.auto_retry", message));
    }
    let concurrency =
        chosen("concurrency", &request.concurrency, before.concurrency.as_ref(), None)?;
    let calls_per_isolate = chosen(
        "calls_per_isolate",
        &request.calls_per_isolate,
        before.calls_per_isolate.as_ref(),
        None,
    )?;
    if let Some(calls) =
        calls_per_isolate.filter(|calls| !(1..=CALLS_PER_ISOLATE_MAX).contains(calls))
    {
        let max = operator.calls_per_isolate_max.min(CALLS_PER_ISOLATE_MAX);
        let message = format!(
            "`{calls}` runs cannot share a process; allowed are 1 to {max}, or `false` for 1"
        );
        return Err(EngineError::invalid("settings.calls_per_isolate", message));
    }
    if calls_per_isolate != before.calls_per_isolate {
        check_calls("settings.calls_per_isolate", calls_per_isolate, operator)?;
    }
    let throttle = chosen("throttle", &request.throttle, before.throttle.as_ref(), None)?;
    let queue_max = chosen("queue_max", &request.queue_max, before.queue_max.as_ref(), None)?;
    let waiting_max = operator.waiting_runs_max;
    for (name, value, max) in [
        ("concurrency", concurrency, LIMIT_MAX),
        ("queue_max", queue_max, LIMIT_MAX.min(waiting_max)),
    ] {
        if let Some(value) = value.filter(|v| !(1..=LIMIT_MAX).contains(v)) {
            let message =
                format!("`{value}` is not a limit; allowed are 1 to {max}, or `false` for none");
            return Err(EngineError::invalid(&format!("settings.{name}"), message));
        }
    }
    if queue_max != before.queue_max
        && let Some(runs) = queue_max.filter(|runs| *runs > waiting_max)
    {
        let message = format!(
            "`{runs}` runs are more than may wait on this server; its operator allows {waiting_max} (--waiting-runs-max)"
        );
        return Err(EngineError::invalid("settings.queue_max", message));
    }
    if let Some(t) =
        throttle.filter(|t| t.runs > LIMIT_MAX || !(1..=INTERVAL_MS_MAX).contains(&t.interval_ms))
    {
        let message = format!(
            "`{{runs: {}, interval_ms: {}}}` is not a throttle; allowed are 0 to {LIMIT_MAX} runs in 1 to {INTERVAL_MS_MAX} milliseconds, or `false` for none",
            t.runs, t.interval_ms
        );
        return Err(EngineError::invalid("settings.throttle", message));
    }
    Ok(Settings {
        auto_retry,
        concurrency,
        calls_per_isolate,
        throttle,
        queue_max,
        timeout_ms,
        memory_mb,
        error_notification: request.error_notification.unwrap_or(before.error_notification),
        error_recipients: match &request.error_recipients {
            Some(given) => recipients("settings.error_recipients", given)?,
            None => before.error_recipients.clone(),
        },
        keep_data: request.keep_data.unwrap_or(before.keep_data),
    })
}

/// Holds the runs that one process is to serve at once to the operator's ceiling.
pub(crate) fn check_calls(
    field: &str,
    calls: Option<u32>,
    operator: &EngineConfig,
) -> Result<(), EngineError> {
    let max = operator.calls_per_isolate_max;
    match calls.filter(|calls| *calls > max) {
        Some(calls) => Err(EngineError::invalid(
            field,
            format!(
                "`{calls}` runs are more than may share a process on this server; its operator allows {max} (--calls-per-isolate-max)"
            ),
        )),
        None => Ok(()),
    }
}

/// A setting from now on; not given, it stays. `usual`: what `true` stands for.
pub(crate) fn chosen<T: Clone>(
    name: &str,
    given: &Option<Choice<T>>,
    before: Option<&T>,
    usual: Option<T>,
) -> Result<Option<T>, EngineError> {
    match given {
        None => Ok(before.cloned()),
        Some(Choice::Flag(false)) => Ok(None),
        Some(Choice::Flag(true)) => match usual {
            Some(usual) => Ok(Some(usual)),
            None => Err(EngineError::invalid(
                &format!("settings.{name}"),
                format!("`{name}` needs a value, or `false` for none"),
            )),
        },
        Some(Choice::Value(value)) => Ok(Some(value.clone())),
    }
}
