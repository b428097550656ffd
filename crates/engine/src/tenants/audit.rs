//! Audit records of an organization: actions, and the callers that took them.

use std::collections::HashMap;
use std::sync::Arc;

use millrace_model::audit::{AuditFilter, AuditRecord};
use millrace_model::ids::AuditId;
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::Caller;

use crate::EngineError;
use crate::ctx::Ctx;

/// What a caller does.
#[derive(Clone, Debug)]
pub struct AuditAction {
    /// Method and route.
    pub route: String,
    /// What it was done to.
    pub target: Option<String>,
    /// The names of the fields that were given.
    pub fields: Vec<String>,
    /// The id of the request.
    pub request_id: String,
}

/// The audit records of all organizations.
pub struct Audit {
    ctx: Arc<Ctx>,
}

impl Audit {
    pub(crate) const fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx }
    }

    /// Keeps a record of what a caller is about to do; it is durable once this answers.
    /// [`Audit::complete`] completes it.
    pub async fn begin(
        &self,
        caller: &Caller,
        action: AuditAction,
    ) -> Result<AuditRecord, EngineError> {
        let now = self.ctx.now();
        let record = AuditRecord {
            id: AuditId::at(&self.ctx.ids, now),
            org_id: caller.org_id.clone(),
            created_at: now,
            user_id: caller.user_id.clone(),
            user_name: None,
            key_id: caller.key_id.to_string(),
            action: action.route,
            target: action.target,
            fields: action.fields,
            request_id: action.request_id,
            done: false,
        };
        self.ctx.store.record_audit(record.clone()).await?;
        Ok(record)
    }

    /// It was done.
    pub async fn complete(&self, record: AuditRecord) -> Result<(), EngineError> {
        Ok(self.ctx.store.record_audit(AuditRecord { done: true, ..record }).await?)
    }

    /// It was refused: nothing was changed.
    pub async fn forget(&self, record: &AuditRecord) -> Result<(), EngineError> {
        Ok(self.ctx.store.forget_audit(&record.org_id, &record.id).await?)
    }

    /// The organization's records that fit, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        filter: &AuditFilter,
        page: &Page,
    ) -> Result<Listing<AuditRecord>, EngineError> {
        let mut listing = self.ctx.store.list_audit(&caller.org_id, filter, page).await?;
        let mut names = HashMap::new();
        for record in &mut listing.items {
            let id = &record.user_id;
            if !names.contains_key(id) {
                let name = self.ctx.store.user(id).await?.map(|user| user.username);
                names.insert(id.clone(), name);
            }
            record.user_name = names.get(id).cloned().flatten();
        }
        Ok(listing)
    }
}
