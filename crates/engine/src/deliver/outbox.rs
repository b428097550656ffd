//! Outbox: mails that wait, were sent, or failed.

use std::sync::Arc;

use millrace_model::ids::MailId;
use millrace_model::page::{Listing, Page};
use millrace_model::tenant::Caller;
use millrace_store::Mail;

use crate::EngineError;
use crate::background::Task;
use crate::ctx::Ctx;

/// The outboxes of all organizations.
pub struct Outbox {
    ctx: Arc<Ctx>,
}

impl Outbox {
    pub(crate) const fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx }
    }

    /// A mail of the outbox.
    pub async fn get(&self, caller: &Caller, id: &MailId) -> Result<Mail, EngineError> {
        self.ctx
            .store
            .mail(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("mail", id))
    }

    /// Lets a mail be sent again, or at once: its tries begin anew.
    pub async fn resend(&self, caller: &Caller, id: &MailId) -> Result<Mail, EngineError> {
        if !self.ctx.store.resend_mail(&caller.org_id, id, self.ctx.now()).await? {
            return Err(EngineError::not_found("mail", id));
        }
        self.ctx.tasks.wake(Task::Mailer);
        self.get(caller, id).await
    }

    /// The outbox, newest first.
    pub async fn list(&self, caller: &Caller, page: &Page) -> Result<Listing<Mail>, EngineError> {
        Ok(self.ctx.store.list_mail(&caller.org_id, page).await?)
    }
}

/// As many mails of the organization wait as may.
#[derive(Debug, thiserror::Error)]
#[error(
    "the outbox is full: {} mails of the organization wait, or {} MiB of them; see `millrace mail`",
    Mail::WAITING_MAX,
    Mail::WAITING_BYTES_MAX >> 20
)]
pub(super) struct OutboxFull;
