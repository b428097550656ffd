//! Preferences of a person in an organization: what the web application keeps for them, such as
//! columns and saved views.

use std::sync::Arc;

use millrace_model::Timestamp;
use millrace_model::tenant::Caller;
use serde_json::{Map, Value};

use crate::EngineError;
use crate::ctx::Ctx;

/// The largest preferences, bytes of JSON.
const BYTES_MAX: usize = 64 << 10;

/// The preferences of all people.
pub struct Preferences {
    ctx: Arc<Ctx>,
}

impl Preferences {
    pub(crate) const fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx }
    }

    /// What the caller's person prefers in the organization, and when it was written; none: never.
    pub async fn get(&self, caller: &Caller) -> Result<(Value, Option<Timestamp>), EngineError> {
        match self.ctx.store.preferences(&caller.user_id, &caller.org_id).await? {
            Some((text, at)) => Ok((
                serde_json::from_str(&text)
                    .map_err(|e| EngineError::damaged("stored preferences", e))?,
                Some(at),
            )),
            None => Ok((Value::Object(Map::new()), None)),
        }
    }

    /// Writes what the caller's person prefers in the organization, in the place of what was there.
    pub async fn set(
        &self,
        caller: &Caller,
        preferences: Map<String, Value>,
    ) -> Result<Timestamp, EngineError> {
        let text = Value::Object(preferences).to_string();
        if text.len() > BYTES_MAX {
            let message = format!(
                "`preferences` have {} bytes as JSON, allowed are {BYTES_MAX}; take away what is not needed",
                text.len()
            );
            return Err(EngineError::invalid("preferences", message));
        }
        let now = self.ctx.now();
        self.ctx.store.put_preferences(&caller.user_id, &caller.org_id, &text, now).await?;
        Ok(now)
    }
}
