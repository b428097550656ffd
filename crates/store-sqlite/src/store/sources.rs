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
use millrace_store::{ClockMark, Fired, Interfaces, SourceState, Sources, StoreResult, fail_point};
use rusqlite::params;

use crate::db::database;
use crate::rows::{list, one};
use crate::{SqliteStore, clock, forms, interfaces, rows, sources};

#[async_trait]
impl Sources for SqliteStore {
    async fn app_hook_owners(
        &self,
        org: &OrgId,
        app: &str,
        event_names: &[String],
    ) -> StoreResult<Vec<Owner>> {
        let (org, app, names) = (org.clone(), app.to_owned(), event_names.to_vec());
        self.db.read(move |c| interfaces::app_hook_owners(c, &org, &app, &names)).await
    }

    async fn keep_form(&self, form: Form, most: u32) -> StoreResult<()> {
        self.db.write(move |c| forms::keep(c, &form, most)).await
    }
    async fn form(&self, org: &OrgId, id: &FormId) -> StoreResult<Option<Form>> {
        by_id!(self, "forms", org, id, forms::read)
    }

    async fn create_source(&self, source: Source, interfaces: Interfaces) -> StoreResult<()> {
        write_at!(self, "deploy", |c| sources::create(c, &source, &interfaces))
    }
    async fn update_source(&self, source: Source, interfaces: Interfaces) -> StoreResult<()> {
        write_at!(self, "deploy", |c| sources::update(c, &source, &interfaces))
    }
    async fn deploy_source(
        &self,
        source: Source,
        interfaces: Interfaces,
        deployment: SourceDeployment,
    ) -> StoreResult<i64> {
        write_at!(self, "deploy", |c| sources::deploy(c, &source, &interfaces, &deployment))
    }
    async fn source_deployment(
        &self,
        org: &OrgId,
        id: &DeploymentId,
    ) -> StoreResult<Option<SourceDeployment>> {
        let (sql, of) = (
            format!(
                "SELECT {} FROM source_deployments WHERE id = ?1 AND org_id = ?2",
                rows::DEPLOYMENT
            ),
            [id.to_string(), org.to_string()],
        );
        self.db.read(move |c| one(c, &sql, of, rows::source_deployment)).await
    }
    async fn list_source_deployments(
        &self,
        org: &OrgId,
        id: &SourceId,
        page: &Page,
    ) -> StoreResult<Listing<SourceDeployment>> {
        let (org, id, page) = (org.to_string(), id.to_string(), page.clone());
        self.db
            .read(move |c| {
                list(
                    c,
                    "source_deployments",
                    "org_id = ?1 AND source_id = ?2",
                    &[&org, &id],
                    &page,
                    rows::source_deployment,
                )
            })
            .await
    }
    async fn delete_source(&self, org: &OrgId, id: &SourceId) -> StoreResult<()> {
        self.cancel_in_steps(org, id.as_str()).await?;
        let (org, id) = (org.clone(), id.clone());
        write_at!(self, "delete", |c| sources::delete(c, &org, &id))
    }
    async fn source(&self, org: &OrgId, id: &SourceId) -> StoreResult<Option<Source>> {
        let (sql, of) = (
            format!("SELECT {} FROM sources WHERE id = ?1 AND org_id = ?2", rows::SOURCE),
            [id.to_string(), org.to_string()],
        );
        self.db.read(move |c| one(c, &sql, of, rows::source)).await
    }
    async fn list_sources(
        &self,
        org: &OrgId,
        external_user: Option<&str>,
        page: &Page,
    ) -> StoreResult<Listing<Source>> {
        let (org, user, page) = (org.to_string(), external_user.map(str::to_owned), page.clone());
        self.db
            .read(move |c| match user {
                Some(user) => list(
                    c,
                    "sources",
                    "org_id = ?1 AND external_user_id = ?2",
                    &[&org, &user],
                    &page,
                    rows::source,
                ),
                None => list(c, "sources", "org_id = ?1", &[&org], &page, rows::source),
            })
            .await
    }
    async fn source_slugs(&self, org: &OrgId, base: &str) -> StoreResult<Vec<String>> {
        let (org, base) = (org.clone(), base.to_owned());
        self.db.read(move |c| rows::slugs(c, "sources", &org, &base)).await
    }
    async fn interfaces(&self, owner: &str) -> StoreResult<Interfaces> {
        let owner = owner.to_owned();
        self.db.read(move |c| interfaces::of(c, &owner)).await
    }
    async fn interfaces_of(&self, owners: &[&str]) -> StoreResult<HashMap<String, Interfaces>> {
        let owners: Vec<String> = owners.iter().map(|&owner| owner.to_owned()).collect();
        self.db.read(move |c| interfaces::of_all(c, owners)).await
    }
    async fn source_state(&self, id: &SourceId) -> StoreResult<SourceState> {
        let id = id.clone();
        self.db.read(move |c| sources::state(c, &id)).await
    }
    async fn source_db(&self, id: &SourceId) -> StoreResult<Vec<(String, String)>> {
        let id = id.clone();
        self.db.read(move |c| sources::entries(c, &id)).await
    }

    async fn endpoint(&self, key: &str) -> StoreResult<Option<HttpInterface>> {
        let key = key.to_owned();
        self.db
            .read(move |c| {
                one(c, "SELECT * FROM http_interfaces WHERE key = ?1", [key], rows::http_interface)
            })
            .await
    }
    async fn http_interface(
        &self,
        org: &OrgId,
        id: &HttpInterfaceId,
    ) -> StoreResult<Option<HttpInterface>> {
        by_id!(self, "http_interfaces", org, id, rows::http_interface)
    }
    async fn create_endpoint_domain(&self, domain: EndpointDomain) -> StoreResult<()> {
        self.db.write(move |c| interfaces::create_domain(c, &domain)).await
    }
    async fn list_endpoint_domains(
        &self,
        org: &OrgId,
        page: &Page,
    ) -> StoreResult<Listing<EndpointDomain>> {
        let (org, page) = (org.to_string(), page.clone());
        self.db
            .read(move |c| {
                list(c, "endpoint_domains", "org_id = ?1", &[&org], &page, rows::endpoint_domain)
            })
            .await
    }
    async fn delete_endpoint_domain(&self, org: &OrgId, domain: &str) -> StoreResult<bool> {
        let (org, domain) = (org.to_string(), domain.to_owned());
        self.db
            .write(move |c| {
                Ok(rows::execute(
                    c,
                    "DELETE FROM endpoint_domains WHERE id = ?1 AND org_id = ?2",
                    [domain, org],
                )? > 0)
            })
            .await
    }
    async fn endpoint_domains(&self) -> StoreResult<Vec<(String, String)>> {
        self.db.read(interfaces::domains).await
    }
    async fn due_timers(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<Timer>> {
        let sql =
            "SELECT * FROM timers WHERE active = 1 AND next_at <= ?1 ORDER BY next_at LIMIT ?2";
        self.db
            .queued("timers", move |c| {
                rows::readable(c, "timers", sql, params![now.ms(), limit], rows::timer)
            })
            .await
    }
    async fn late_timers(&self, after: Timestamp, limit: u32) -> StoreResult<Vec<Timer>> {
        let sql =
            "SELECT * FROM timers WHERE active = 1 AND next_at > ?1 ORDER BY next_at DESC LIMIT ?2";
        self.db
            .queued("timers", move |c| {
                rows::readable(c, "timers", sql, params![after.ms(), limit], rows::timer)
            })
            .await
    }
    async fn move_timer(&self, id: &TimerId, from: Timestamp, to: Timestamp) -> StoreResult<bool> {
        let id = id.clone();
        self.db.write(move |c| clock::move_timer(c, &id, from, to)).await
    }
    async fn clock_went_back(
        &self,
        now: Timestamp,
        by_ms: i64,
        _before: Option<&ClockMark>,
    ) -> StoreResult<()> {
        self.db.write(move |c| clock::went_back(c, now, by_ms)).await
    }
    async fn next_timer_at(&self) -> StoreResult<Option<Timestamp>> {
        self.db
            .read(|c| {
                one(
                    c,
                    "SELECT next_at FROM timers WHERE active = 1 ORDER BY next_at LIMIT 1",
                    [],
                    |row| row.get(0).map(Timestamp).map_err(database),
                )
            })
            .await
    }
    async fn fire_timer(
        &self,
        id: &TimerId,
        due_at: Timestamp,
        next_at: Timestamp,
        run: NewRun,
    ) -> StoreResult<Fired> {
        let id = id.clone();
        write_at!(self, "tick", |c| interfaces::fire(c, &id, due_at, next_at, &run))
    }
}
