//! Deliveries and mail.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{DeliveryId, MailId, OrgId, RunId};
use millrace_model::page::{Listing, Page};
use millrace_store::{
    Deliveries, Delivery, DeliveryResult, Held, Mail, MailResult, StoreResult, fail_point,
};

use crate::rows::{list, many, one};
use crate::{SqliteStore, deliveries, mail, rows};

#[async_trait]
impl Deliveries for SqliteStore {
    async fn claim_deliveries(
        &self,
        now: Timestamp,
        retry_at: Timestamp,
        limit: u32,
        held: &Held,
    ) -> StoreResult<Vec<Delivery>> {
        if !self.db.read(move |c| deliveries::any_due(c, now)).await? {
            return Ok(Vec::new());
        }
        let held = held.clone();
        write_at!(self, "delivery_claim", |c| deliveries::claim(c, now, retry_at, limit, &held))
    }
    async fn delivery_result(&self, id: &DeliveryId, result: DeliveryResult) -> StoreResult<()> {
        let id = id.clone();
        write_at!(self, "delivery_result", |c| deliveries::result(c, &id, &result))
    }
    async fn run_deliveries(&self, run: &RunId) -> StoreResult<Vec<Delivery>> {
        let run = run.to_string();
        self.db
            .read(move |c| {
                many(
                    c,
                    "SELECT * FROM deliveries WHERE run_id = ?1 ORDER BY position",
                    [run],
                    rows::delivery,
                )
            })
            .await
    }

    async fn queue_mail(&self, mail: Mail) -> StoreResult<bool> {
        write_at!(self, "mail", |c| mail::queue(c, &mail))
    }
    async fn claim_mail(
        &self,
        now: Timestamp,
        retry_at: Timestamp,
        limit: u32,
        after: Option<&OrgId>,
    ) -> StoreResult<Vec<Mail>> {
        let after = after.cloned();
        write_at!(self, "mail_claim", |c| mail::claim(c, now, retry_at, limit, after.as_ref()))
    }
    async fn mail_result(&self, id: &MailId, result: MailResult) -> StoreResult<()> {
        let id = id.clone();
        write_at!(self, "mail_result", |c| mail::result(c, &id, &result))
    }
    async fn mail(&self, org: &OrgId, id: &MailId) -> StoreResult<Option<Mail>> {
        by_id!(self, "mail", org, id, rows::mail)
    }
    async fn resend_mail(&self, org: &OrgId, id: &MailId, now: Timestamp) -> StoreResult<bool> {
        let (org, id) = (org.to_string(), id.to_string());
        let sql = "UPDATE mail SET status = 'queued', attempts = 0, last_error = NULL, next_at = ?3 WHERE id = ?1 AND org_id = ?2";
        self.db
            .write(move |c| Ok(rows::execute(c, sql, rusqlite::params![id, org, now.ms()])? > 0))
            .await
    }
    async fn list_mail(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Mail>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db.read(move |c| list(c, "mail", "org_id = ?1", &[&org], &page, rows::mail)).await
    }
}
