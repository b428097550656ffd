//! Deliveries and mail.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{DeliveryId, MailId, OrgId, RunId};
use millrace_model::page::{Listing, Page};
use millrace_store::{Deliveries, Delivery, DeliveryResult, Held, Mail, MailResult, StoreResult};

use crate::db::statement;
use crate::rows::{Table, list};
use crate::{PostgresStore, deliveries, mail, rows};

#[async_trait]
impl Deliveries for PostgresStore {
    async fn claim_deliveries(
        &self,
        now: Timestamp,
        retry_at: Timestamp,
        limit: u32,
        held: &Held,
    ) -> StoreResult<Vec<Delivery>> {
        statement!(self.db, "delivery_claim", |c| deliveries::claim(&c, now, retry_at, limit, held))
    }
    async fn delivery_result(&self, id: &DeliveryId, result: DeliveryResult) -> StoreResult<()> {
        statement!(self.db, "delivery_result", |c| deliveries::result(&c, id, &result))
    }
    async fn run_deliveries(&self, run: &RunId) -> StoreResult<Vec<Delivery>> {
        deliveries::of_run(&self.db.client().await?, run).await
    }

    async fn queue_mail(&self, mail: Mail) -> StoreResult<bool> {
        statement!(self.db, "mail", |c| mail::queue(&c, &mail))
    }
    async fn claim_mail(
        &self,
        now: Timestamp,
        retry_at: Timestamp,
        limit: u32,
        after: Option<&OrgId>,
    ) -> StoreResult<Vec<Mail>> {
        statement!(self.db, "mail_claim", |c| mail::claim(&c, now, retry_at, limit, after))
    }
    async fn mail_result(&self, id: &MailId, result: MailResult) -> StoreResult<()> {
        statement!(self.db, "mail_result", |c| mail::result(&c, id, &result))
    }
    async fn mail(&self, org: &OrgId, id: &MailId) -> StoreResult<Option<Mail>> {
        let sql = format!("SELECT {} FROM mail WHERE id = $1 AND org_id = $2", rows::MAIL);
        rows::one(&self.db.client().await?, &sql, &[&id.as_str(), &org.as_str()], rows::mail).await
    }
    async fn resend_mail(&self, org: &OrgId, id: &MailId, now: Timestamp) -> StoreResult<bool> {
        let sql = "UPDATE mail SET status = 'queued', attempts = 0, last_error = NULL, next_at = $3 WHERE id = $1 AND org_id = $2";
        Ok(rows::execute(&self.db.client().await?, sql, &[&id.as_str(), &org.as_str(), &now.ms()])
            .await?
            > 0)
    }
    async fn list_mail(&self, org: &OrgId, page: &Page) -> StoreResult<Listing<Mail>> {
        let table = Table { name: "mail", columns: rows::MAIL, filter: "org_id = $1" };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::mail).await
    }
}
