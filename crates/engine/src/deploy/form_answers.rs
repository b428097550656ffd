//! Answers to a form in which props are filled in.

use millrace_model::run::LogLine;
use serde::Deserialize;
use serde_json::Value;

/// Options to choose from, or why there are none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct OptionsAnswer {
    /// Each `{label, value}`.
    pub options: Vec<Value>,
    /// To be given back for the next page.
    pub context: Value,
    /// What the code logged.
    #[serde(skip)]
    pub logs: Vec<LogLine>,
    /// What the code threw.
    #[serde(skip)]
    pub errors: Vec<String>,
}

/// Props that depend on the values of others, or why there are none.
#[derive(Clone, Debug, Default)]
pub struct PropsAnswer {
    /// The form's id, to be given back with the next question; none where there are errors.
    pub form: String,
    /// All definitions, those of the component as they are now among them.
    pub props: Vec<Value>,
    /// What the code logged.
    pub logs: Vec<LogLine>,
    /// What the code threw.
    pub errors: Vec<String>,
}
