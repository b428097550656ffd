//! Deliveries and mail.

use std::collections::HashMap;

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{DeliveryId, MailId, OrgId, RunId};
use millrace_model::page::{Listing, Page};
use millrace_model::webhook::DeliveryStatus;

use crate::StoreResult;

/// A mail in the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Its id.
    pub id: MailId,
    /// The organization.
    pub org_id: OrgId,
    /// The recipient.
    pub recipient: String,
    /// The subject.
    pub subject: String,
    /// The body.
    pub text: String,
    /// A link that works once, sealed; [`Mail::LINK`] stands for it in `text`. Only the mail that
    /// is sent has it: members read the outbox.
    pub link: Option<String>,
    /// The body as HTML, beside the text or in its place where that is empty.
    pub html: Option<String>,
    /// `queued`, `sent` or `failed`.
    pub status: MailStatus,
    /// How often it was tried.
    pub attempts: i64,
    /// Why the last try failed.
    pub last_error: Option<String>,
    /// When it was queued.
    pub created_at: Timestamp,
}

impl Mail {
    /// Stands for the link in the text of a mail that has one.
    pub const LINK: &str = "(a link that only the recipient gets)";
    /// Mails of one organization that may wait in the outbox, and the bytes of their texts. One
    /// with a link is let in beyond.
    pub const WAITING_MAX: i64 = 10_000;
    /// See [`Mail::WAITING_MAX`].
    pub const WAITING_BYTES_MAX: i64 = 64 << 20;
}

/// The states of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MailStatus {
    /// Waits for its next try.
    Queued,
    /// The server took it.
    Sent,
    /// Given up.
    Failed,
}

impl MailStatus {
    /// As stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Failed => "failed",
        }
    }

    /// Reads back [`MailStatus::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Queued, Self::Sent, Self::Failed].into_iter().find(|s| s.as_str() == text)
    }
}

/// How a try to send a mail ended.
#[derive(Clone, Debug)]
pub enum MailResult {
    /// The server took it.
    Sent,
    /// To be tried again.
    Retry {
        /// When.
        at: Timestamp,
        /// Why it failed.
        error: String,
    },
    /// Given up.
    Failed {
        /// Why.
        error: String,
    },
}

/// Something that code sent to the outside: delivered after its run, tried again until it is taken
/// or given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its id.
    pub id: DeliveryId,
    /// The organization.
    pub org_id: OrgId,
    /// The workflow, as text.
    pub owner: String,
    /// The run that sent it.
    pub run_id: RunId,
    /// Its place among what the run sent.
    pub position: i64,
    /// Where to.
    pub kind: DeliveryKind,
    /// What is sent, JSON text.
    pub payload: String,
    /// The step that sent it.
    pub step: Option<String>,
    /// `queued`, `delivered` or `failed`.
    pub status: DeliveryStatus,
    /// How often it was tried.
    pub attempts: i64,
    /// The HTTP status of the last answer.
    pub response_status: Option<i64>,
    /// Why the last try failed.
    pub last_error: Option<String>,
    /// When its run was settled.
    pub created_at: Timestamp,
    /// When it was taken or given up.
    pub finished_at: Option<Timestamp>,
}

/// Where a delivery goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryKind {
    /// An HTTP request.
    Http,
    /// The outbox.
    Email,
    /// An object store.
    S3,
}

impl DeliveryKind {
    /// As stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Email => "email",
            Self::S3 => "s3",
        }
    }

    /// Reads back [`DeliveryKind::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Http, Self::Email, Self::S3].into_iter().find(|k| k.as_str() == text)
    }
}

/// How a try to deliver ended.
#[derive(Clone, Debug)]
pub struct DeliveryResult {
    /// The HTTP status of the answer, where there was one.
    pub response_status: Option<i64>,
    /// Why it failed; none: it was taken.
    pub error: Option<String>,
    /// When it is tried again; none: never.
    pub retry_at: Option<Timestamp>,
    /// When the try ended.
    pub at: Timestamp,
}

impl DeliveryResult {
    /// What an engine stores: the status, when it is over, when it is due again.
    pub fn columns(&self) -> (DeliveryStatus, Option<Timestamp>, Option<Timestamp>) {
        match (&self.error, self.retry_at) {
            (None, _) => (DeliveryStatus::Delivered, Some(self.at), None),
            (Some(_), Some(at)) => (DeliveryStatus::Queued, None, Some(at)),
            (Some(_), None) => (DeliveryStatus::Failed, Some(self.at), None),
        }
    }
}

/// Deliveries under way.
#[derive(Clone, Debug)]
pub struct Held {
    /// How many one organization may have under way at once.
    pub share: u32,
    /// How many each has; none where it is missing.
    pub by: HashMap<OrgId, u32>,
}

/// What runs send: deliveries, and the outbox of mail.
#[async_trait]
pub trait Deliveries: Send + Sync + 'static {
    /// Takes up to `limit` deliveries due at `now`, hiding them from others until `retry_at`. Of a
    /// run, one is first tried after all before it were. Organizations take turns, those that hold
    /// the fewest places first; of each its longest due.
    async fn claim_deliveries(
        &self,
        now: Timestamp,
        retry_at: Timestamp,
        limit: u32,
        held: &Held,
    ) -> StoreResult<Vec<Delivery>>;
    /// Records a try. One that is over stays as it is, except that one which was taken was
    /// delivered, whatever somebody else found before.
    async fn delivery_result(&self, id: &DeliveryId, result: DeliveryResult) -> StoreResult<()>;
    /// What a run sent, in order.
    async fn run_deliveries(&self, run: &RunId) -> StoreResult<Vec<Delivery>>;

    /// Puts a mail into the outbox; the same id again is no change. False: as many wait as may, and
    /// it was not put there.
    async fn queue_mail(&self, mail: Mail) -> StoreResult<bool>;
    /// Takes up to `limit` mails due at `now`, hiding them from others until `retry_at`; in no
    /// order. Organizations take turns, in the order of their ids from the one that follows
    /// `after`, which had the turn before; of each its longest due.
    async fn claim_mail(
        &self,
        now: Timestamp,
        retry_at: Timestamp,
        limit: u32,
        after: Option<&OrgId>,
    ) -> StoreResult<Vec<Mail>>;
    /// Marks a mail sent, or failed for good, or to be tried again; one that is over stays as it
    /// is, unless it was sent.
    async fn mail_result(&self, id: &MailId, result: MailResult) -> StoreResult<()>;
    /// Mails of the organization, newest first. Cursor: id.
    async fn list_mail(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Mail>>;
    /// A mail of the organization.
    async fn mail(&self, org: &OrgId, id: &MailId) -> StoreResult<Option<Mail>>;
    /// Lets a mail be sent again, or at once: its tries begin anew. False: there is none.
    async fn resend_mail(&self, org: &OrgId, id: &MailId, now: Timestamp) -> StoreResult<bool>;
}
