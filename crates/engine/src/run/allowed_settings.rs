//! Settings of workflows within what the operator allows.

use millrace_model::workflow::Settings;

use crate::config::EngineConfig;

/// The settings that a version has on this server: what it was deployed with, and no more than the
/// operator allows by now.
pub(crate) fn within(settings: &Settings, operator: &EngineConfig) -> Settings {
    Settings {
        timeout_ms: settings.timeout_ms.map(|ms| ms.min(timeout_ms_max(operator))),
        memory_mb: settings.memory_mb.map(|mb| mb.min(operator.memory_mb_max)),
        calls_per_isolate: settings
            .calls_per_isolate
            .map(|calls| calls.min(operator.calls_per_isolate_max)),
        queue_max: settings.queue_max.map(|runs| runs.min(operator.waiting_runs_max)),
        ..settings.clone()
    }
}

/// The longest wall-clock limit that a workflow may have on this server.
pub(crate) fn timeout_ms_max(operator: &EngineConfig) -> u64 {
    u64::try_from(operator.timeout_max.as_millis()).unwrap_or(u64::MAX)
}
