//! Sources and interfaces.

use std::collections::HashMap;

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::domain::EndpointDomain;
use millrace_model::form::Form;
use millrace_model::ids::{DeploymentId, FormId, HttpInterfaceId, OrgId, SourceId, TimerId};
use millrace_model::page::{Listing, Page};
use millrace_model::run::NewRun;
use millrace_model::source::{HttpInterface, Owner, Source, SourceDeployment, Timer};
use millrace_store::{ClockMark, Fired, Interfaces, SourceState, Sources, StoreResult};

use crate::db::{database, text, transaction};
use crate::rows::{Table, list, many, one};
use crate::{PostgresStore, clock, forms, interfaces, rows, sources};

#[async_trait]
impl Sources for PostgresStore {
    async fn app_hook_owners(
        &self,
        org: &OrgId,
        app: &str,
        event_names: &[String],
    ) -> StoreResult<Vec<Owner>> {
        interfaces::app_hook_owners(&self.db.client().await?, org, app, event_names).await
    }

    async fn keep_form(&self, form: Form, most: u32) -> StoreResult<()> {
        transaction!(self.db, |t| forms::keep(&t, &form, most))
    }
    async fn form(&self, org: &OrgId, id: &FormId) -> StoreResult<Option<Form>> {
        by_id!(self, "forms", forms::COLUMNS, org, id, forms::read)
    }

    async fn create_source(&self, source: Source, interfaces: Interfaces) -> StoreResult<()> {
        transaction!(self.db, "deploy", |t| sources::create(&t, &source, &interfaces))
    }
    async fn update_source(&self, source: Source, interfaces: Interfaces) -> StoreResult<()> {
        transaction!(self.db, "deploy", |t| sources::update(&t, &source, &interfaces))
    }
    async fn deploy_source(
        &self,
        source: Source,
        interfaces: Interfaces,
        deployment: SourceDeployment,
    ) -> StoreResult<i64> {
        transaction!(self.db, "deploy", |t| sources::deploy(&t, &source, &interfaces, &deployment))
    }
    async fn source_deployment(
        &self,
        org: &OrgId,
        id: &DeploymentId,
    ) -> StoreResult<Option<SourceDeployment>> {
        by_id!(
            self,
            "source_deployments",
            rows::SOURCE_DEPLOYMENT,
            org,
            id,
            rows::source_deployment
        )
    }
    async fn list_source_deployments(
        &self,
        org: &OrgId,
        id: &SourceId,
        page: &Page,
    ) -> StoreResult<Listing<SourceDeployment>> {
        let table = Table {
            name: "source_deployments",
            columns: rows::SOURCE_DEPLOYMENT,
            filter: "org_id = $1 AND source_id = $2",
        };
        list(
            &self.db.client().await?,
            &table,
            &[&org.as_str(), &id.as_str()],
            page,
            rows::source_deployment,
        )
        .await
    }
    async fn delete_source(&self, org: &OrgId, id: &SourceId) -> StoreResult<()> {
        transaction!(self.db, "delete", |t| sources::delete(&t, org, id))
    }
    async fn source(&self, org: &OrgId, id: &SourceId) -> StoreResult<Option<Source>> {
        by_id!(self, "sources", rows::SOURCE, org, id, rows::source)
    }
    async fn list_sources(
        &self,
        org: &OrgId,
        external_user: Option<&str>,
        page: &Page,
    ) -> StoreResult<Listing<Source>> {
        let table = Table {
            name: "sources",
            columns: rows::SOURCE,
            filter: "org_id = $1 AND ($2::text IS NULL OR external_user_id = $2)",
        };
        list(
            &self.db.client().await?,
            &table,
            &[&org.as_str(), &external_user.map(text)],
            page,
            rows::source,
        )
        .await
    }
    async fn source_slugs(&self, org: &OrgId, base: &str) -> StoreResult<Vec<String>> {
        slugs!(self, "sources", org, base)
    }
    async fn interfaces(&self, owner: &str) -> StoreResult<Interfaces> {
        interfaces::of(&self.db.client().await?, owner).await
    }
    async fn interfaces_of(&self, owners: &[&str]) -> StoreResult<HashMap<String, Interfaces>> {
        interfaces::of_all(&self.db.client().await?, owners).await
    }
    async fn source_state(&self, id: &SourceId) -> StoreResult<SourceState> {
        sources::state(&self.db.client().await?, id).await
    }
    async fn source_db(&self, id: &SourceId) -> StoreResult<Vec<(String, String)>> {
        sources::entries(&self.db.client().await?, id).await
    }

    async fn endpoint(&self, key: &str) -> StoreResult<Option<HttpInterface>> {
        by_unique!(
            self,
            "http_interfaces",
            rows::HTTP_INTERFACE,
            "key",
            text(key),
            rows::http_interface
        )
    }
    async fn http_interface(
        &self,
        org: &OrgId,
        id: &HttpInterfaceId,
    ) -> StoreResult<Option<HttpInterface>> {
        by_id!(self, "http_interfaces", rows::HTTP_INTERFACE, org, id, rows::http_interface)
    }
    async fn create_endpoint_domain(&self, domain: EndpointDomain) -> StoreResult<()> {
        interfaces::create_domain(&self.db.client().await?, &domain).await
    }
    async fn list_endpoint_domains(
        &self,
        org: &OrgId,
        page: &Page,
    ) -> StoreResult<Listing<EndpointDomain>> {
        let table = Table {
            name: "endpoint_domains",
            columns: rows::ENDPOINT_DOMAIN,
            filter: "org_id = $1",
        };
        list(&self.db.client().await?, &table, &[&org.as_str()], page, rows::endpoint_domain).await
    }
    async fn delete_endpoint_domain(&self, org: &OrgId, domain: &str) -> StoreResult<bool> {
        let sql = "DELETE FROM endpoint_domains WHERE id = $1 AND org_id = $2";
        Ok(rows::execute(&self.db.client().await?, sql, &[&text(domain), &org.as_str()]).await? > 0)
    }
    async fn endpoint_domains(&self) -> StoreResult<Vec<(String, String)>> {
        interfaces::domains(&self.db.client().await?).await
    }
    async fn due_timers(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Timer>> {
        let sql = format!(
            "SELECT {} FROM timers WHERE active AND next_at <= $1 ORDER BY next_at LIMIT $2",
            rows::TIMER
        );
        rows::claimed(
            &self.db.client().await?,
            "timers",
            &sql,
            &[&now.ms(), &i64::from(limit)],
            rows::timer,
        )
        .await
    }
    async fn late_timers(&self, after: Timestamp, limit: u32) -> StoreResult<Vec<Timer>> {
        let sql = format!(
            "SELECT {} FROM timers WHERE active AND next_at > $1 ORDER BY next_at DESC LIMIT $2",
            rows::TIMER
        );
        rows::claimed(
            &self.db.client().await?,
            "timers",
            &sql,
            &[&after.ms(), &i64::from(limit)],
            rows::timer,
        )
        .await
    }
    async fn move_timer(&self, id: &TimerId, from: Timestamp, to: Timestamp) -> StoreResult<bool> {
        clock::move_timer(&self.db.client().await?, id, from, to).await
    }
    async fn clock_went_back(
        &self,
        now: Timestamp,
        by_ms: i64,
        before: Option<&ClockMark>,
    ) -> StoreResult<()> {
        transaction!(self.db, |t| clock::went_back(&t, now, by_ms, before))
    }
    async fn clock_mark(&self) -> StoreResult<ClockMark> {
        clock::mark(&self.db.client().await?).await
    }
    async fn next_timer_at(&self) -> StoreResult<Option<Timestamp>> {
        interfaces::next_timer_at(&self.db.client().await?).await
    }
    async fn fire_timer(
        &self,
        id: &TimerId,
        due_at: Timestamp,
        next_at: Timestamp,
        run: NewRun,
    ) -> StoreResult<Fired> {
        transaction!(self.db, "tick", |t| interfaces::fire(&t, id, due_at, next_at, &run))
    }
}
