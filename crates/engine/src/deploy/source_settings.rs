//! Settings of a source in requests, and their validation.

use millrace_model::source::{CALLS_PER_ISOLATE_MAX, SourceSettings};

use crate::deploy::settings::{Choice, check_calls, chosen};
use crate::{EngineConfig, EngineError};

/// The most runs of one source at the same time that can be asked for.
pub const SOURCE_CONCURRENCY_MAX: u32 = 1000;

/// Settings of a source in a request; None stays, `false` takes one away.
#[derive(Clone, Debug, Default)]
pub struct SettingsOfSource {
    /// Runs that one process serves at the same time.
    pub calls_per_isolate: Option<Choice<u32>>,
    /// Runs at the same time.
    pub concurrency: Option<Choice<u32>>,
}

impl SettingsOfSource {
    /// `operator`: the ceilings of the server hold for what is set anew.
    pub(crate) fn over(
        &self,
        before: SourceSettings,
        operator: &EngineConfig,
    ) -> Result<SourceSettings, EngineError> {
        if let Some(Choice::Value(calls)) = self.calls_per_isolate
            && calls <= CALLS_PER_ISOLATE_MAX
            && before.calls_per_isolate != Some(calls)
        {
            check_calls("calls_per_isolate", Some(calls), operator)?;
        }
        let checked = |name: &str, choice: &Option<Choice<u32>>, before: Option<u32>, max: u32| {
            match chosen(name, choice, before.as_ref(), None)? {
                Some(value) if value == 0 || value > max => Err(EngineError::invalid(
                    name,
                    format!(
                        "`{value}` is not a number of runs; allowed are 1 to {max}, or `false` for what it is by default"
                    ),
                )),
                value => Ok(value),
            }
        };
        Ok(SourceSettings {
            calls_per_isolate: checked(
                "calls_per_isolate",
                &self.calls_per_isolate,
                before.calls_per_isolate,
                CALLS_PER_ISOLATE_MAX,
            )?,
            concurrency: checked(
                "concurrency",
                &self.concurrency,
                before.concurrency,
                SOURCE_CONCURRENCY_MAX,
            )?,
        })
    }
}
