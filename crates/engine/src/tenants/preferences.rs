//! Preferences of a person in an organization: what the web application keeps for them, such as
//! columns and saved views.

use std::sync::Arc;

use millrace_model::Timestamp;
use millrace_model::record_tag::RecordTag;
use millrace_model::tenant::{Caller, Scope};
use serde_json::{Map, Value};

use crate::ctx::Ctx;
use crate::edit_conflict::{Changed, EditConflict};
use crate::{EngineError, check_scope};

/// The preferences of somebody who has written none.
const NONE: &str = "{}";
/// The largest preferences, bytes of JSON.
const BYTES_MAX: usize = 64 << 10;

/// What a person prefers in an organization.
#[derive(Clone, Debug)]
pub struct PreferencesView {
    /// An object.
    pub value: Value,
    /// When it was written; none: never.
    pub at: Option<Timestamp>,
    /// The entity tag of `value`.
    pub tag: RecordTag,
}

/// The preferences of all people.
pub struct Preferences {
    ctx: Arc<Ctx>,
}

impl Preferences {
    pub(crate) const fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx }
    }

    /// What the caller's person prefers in the organization.
    pub async fn get(&self, caller: &Caller) -> Result<PreferencesView, EngineError> {
        let stored = self.ctx.store.preferences(&caller.user_id, &caller.org_id).await?;
        let (text, at) = stored.map_or((NONE.to_owned(), None), |(text, at)| (text, Some(at)));
        let value: Value = millrace_model::json::from_str(&text)
            .map_err(|e| EngineError::damaged("stored preferences", e))?;
        Ok(PreferencesView { tag: RecordTag::of(value.clone()), value, at })
    }

    /// Writes what the caller's person prefers in the organization, in the place of what was there.
    /// A key that was given to a program changes what a person is shown only where it may do
    /// everything. `ScopeMissing`.
    /// `over`: entity tags, one of which is that of what is there; none: whatever it is.
    pub async fn set(
        &self,
        caller: &Caller,
        preferences: Map<String, Value>,
        over: Option<&[RecordTag]>,
    ) -> Result<PreferencesView, EngineError> {
        if caller.session.is_none() {
            check_scope(caller, Scope::Full)?;
        }
        let value = Value::Object(preferences);
        let text = value.to_string();
        if text.len() > BYTES_MAX {
            let message = format!(
                "`preferences` have {} bytes as JSON, allowed are {BYTES_MAX}; take away what is not needed",
                text.len()
            );
            return Err(EngineError::invalid("preferences", message));
        }
        let (store, now) = (&self.ctx.store, self.ctx.now());
        let (user, org) = (&caller.user_id, &caller.org_id);
        let is_written = match over {
            None => store.put_preferences(user, org, &text, None, now).await?,
            Some(over) => {
                let stored = store.preferences(user, org).await?;
                let stored = stored.map_or_else(|| NONE.to_owned(), |(text, _)| text);
                let there = millrace_model::json::from_str(&stored)
                    .map_err(|e| EngineError::damaged("stored preferences", e))?;
                over.contains(&RecordTag::of(there))
                    && store.put_preferences(user, org, &text, Some(&stored), now).await?
            }
        };
        if !is_written {
            return Err(EngineError::Changed(Box::new(EditConflict {
                id: "the record of preferences".into(),
                what: Changed::Record("GET /v1/users/me/preferences".into()),
            })));
        }
        // As it is read again: a number may differ in its last digit from the one that was given.
        let stored = millrace_model::json::from_str(&text)
            .map_err(|e| EngineError::damaged("stored preferences", e))?;
        Ok(PreferencesView { tag: RecordTag::of(stored), value, at: Some(now) })
    }
}
