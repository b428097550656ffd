//! Who changed what.

use millrace_model::audit::{AuditFilter, AuditRecord};
use millrace_model::ids::AuditId;
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::Caller;

use crate::{Engine, EngineError};

/// What a caller did.
#[derive(Clone, Debug)]
pub struct Deed {
    /// Method and route.
    pub action: String,
    /// What it was done to.
    pub target: Option<String>,
    /// The names of the fields that were given.
    pub fields: Vec<String>,
    /// The id of the request.
    pub request_id: String,
}

impl Engine {
    /// Keeps a record of what a caller is about to do; it is durable once this answers.
    /// [`Engine::audited`] completes it.
    pub async fn begin_audit(
        &self,
        caller: &Caller,
        deed: Deed,
    ) -> Result<AuditRecord, EngineError> {
        let now = self.now();
        let record = AuditRecord {
            id: AuditId::at(&self.0.ids, now),
            org_id: caller.org_id.clone(),
            created_at: now,
            user_id: caller.user_id.clone(),
            key_id: caller.key_id.to_string(),
            action: deed.action,
            target: deed.target,
            fields: deed.fields,
            request_id: deed.request_id,
            done: false,
        };
        self.0.store.record_audit(record.clone()).await?;
        Ok(record)
    }

    /// It was done.
    pub async fn audited(&self, record: AuditRecord) -> Result<(), EngineError> {
        Ok(self.0.store.record_audit(AuditRecord { done: true, ..record }).await?)
    }

    /// It was refused: nothing was changed.
    pub async fn forget_audit(&self, record: &AuditRecord) -> Result<(), EngineError> {
        Ok(self.0.store.forget_audit(&record.org_id, &record.id).await?)
    }

    /// The organization's records that fit, newest first.
    pub async fn list_audit(
        &self,
        caller: &Caller,
        filter: &AuditFilter,
        page: &Page,
    ) -> Result<Listing<AuditRecord>, EngineError> {
        Ok(self.0.store.list_audit(&caller.org_id, filter, page).await?)
    }
}
