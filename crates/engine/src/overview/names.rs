//! Search by name over an organization's records, and the records that would be deleted with one.

use std::collections::BTreeSet;

use millrace_model::ids::{
    AccountId, DeploymentId, ReplayId, RunId, SourceId, WebhookId, WorkflowId,
};
use millrace_model::names::{AskedName, Named, NamedKind};
use millrace_model::page::Page;
use millrace_model::registry::RegistryComponent;
use millrace_model::run::{Context, RunStatus};
use millrace_model::subscription::SubscriptionFilter;
use millrace_model::tenant::Caller;
use millrace_store::RunFilter;

use crate::deliver::webhook_address::shown_address;
use crate::error::removable;
use crate::{AskedComponents, Engine, EngineError};

/// Records of a kind that a search looks at: the last changed.
const NAMES_MAX: u32 = 5_000;
/// Sources and workflows that are named where a record is used.
const USES_MAX: u32 = 1_000;
/// Runs that wait are counted up to so many.
const WAITING_MAX: u32 = 1_000;

/// What a delete would remove with a record, or break.
#[derive(Clone, Debug, Default)]
pub struct WouldGo {
    /// Records that name it, listen to it, or that it listens to.
    pub uses: Vec<Named>,
    /// Domains that are attached to its endpoints.
    pub domains: Vec<String>,
    /// Its runs that are queued or paused, counted up to 1,000.
    pub waiting_runs: u64,
}

impl Engine {
    /// The records whose names fit best; of these kinds, or none given: of all. An id that is given
    /// whole finds its record.
    pub async fn find_named(
        &self,
        caller: &Caller,
        text: &str,
        kinds: &[NamedKind],
        limit: usize,
    ) -> Result<Vec<Named>, EngineError> {
        let Some(asked) = AskedName::of(text) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for kind in
            NamedKind::ALL.into_iter().filter(|kind| kinds.is_empty() || kinds.contains(kind))
        {
            found.extend(match kind {
                NamedKind::Component => self.named_components(caller, text, limit).await?,
                NamedKind::Member => {
                    self.members().list(caller).await?.into_iter().map(member).collect()
                }
                NamedKind::Run => self.named_run(caller, text).await?.into_iter().collect(),
                NamedKind::Replay => self.named_replay(caller, text).await?.into_iter().collect(),
                NamedKind::Deployment => {
                    self.named_deployment(caller, text).await?.into_iter().collect()
                }
                kind => self.stored_names(caller, kind).await?,
            });
        }
        Ok(asked.best(found, limit))
    }

    async fn stored_names(
        &self,
        caller: &Caller,
        kind: NamedKind,
    ) -> Result<Vec<Named>, EngineError> {
        let mut found = self.0.store.names(&caller.org_id, kind, NAMES_MAX).await?;
        if kind == NamedKind::Webhook {
            for named in &mut found {
                named.name = shown_address(&named.name);
                named.about = shown_address(&named.about);
            }
        }
        Ok(found)
    }

    async fn named_components(
        &self,
        caller: &Caller,
        text: &str,
        limit: usize,
    ) -> Result<Vec<Named>, EngineError> {
        let found = self
            .registries()
            .search(caller, &AskedComponents { words: text, ..AskedComponents::default() }, limit)
            .await?;
        let named = |c: RegistryComponent| Named {
            kind: NamedKind::Component,
            name: if c.name.is_empty() { c.key.clone() } else { c.name },
            about: c.key.clone(),
            id: c.key,
        };
        Ok(found.into_iter().map(|found| named(found.component)).collect())
    }

    async fn named_run(&self, caller: &Caller, text: &str) -> Result<Option<Named>, EngineError> {
        let Ok(id) = text.trim().parse::<RunId>() else { return Ok(None) };
        let filter = RunFilter { ids: Some(vec![id]), ..RunFilter::default() };
        let found = self
            .0
            .store
            .list_runs(&caller.org_id, &filter, false, &Page::default())
            .await?
            .items
            .pop();
        Ok(found.map(|listed| {
            let context: Context =
                millrace_model::json::from_str(&listed.run.context).unwrap_or_default();
            Named {
                kind: NamedKind::Run,
                id: listed.run.id.to_string(),
                name: context.workflow_name,
                about: listed.run.status.as_str().to_owned(),
            }
        }))
    }

    async fn named_replay(
        &self,
        caller: &Caller,
        text: &str,
    ) -> Result<Option<Named>, EngineError> {
        let Ok(id) = text.trim().parse::<ReplayId>() else { return Ok(None) };
        let found = self.0.store.replay(&caller.org_id, &id).await?;
        let name = |replayed| format!("Replay of {replayed} runs");
        Ok(found.map(|r| Named {
            kind: NamedKind::Replay,
            id: r.id.to_string(),
            name: name(r.replayed),
            about: r.status.as_str().to_owned(),
        }))
    }

    async fn named_deployment(
        &self,
        caller: &Caller,
        text: &str,
    ) -> Result<Option<Named>, EngineError> {
        let Ok(id) = text.trim().parse::<DeploymentId>() else { return Ok(None) };
        let found = self.0.store.deployment(&caller.org_id, &id).await?;
        let name = |version| format!("Version {version}");
        Ok(found.map(|d| Named {
            kind: NamedKind::Deployment,
            id: d.id.to_string(),
            name: name(d.version),
            about: d.workflow_id.to_string(),
        }))
    }

    /// What would go with a source.
    pub async fn source_would_go(
        &self,
        caller: &Caller,
        id: &SourceId,
    ) -> Result<WouldGo, EngineError> {
        removable(caller, self.owned_source(caller, id).await)?;
        self.owner_would_go(caller, id.as_str()).await
    }

    /// What would go with a workflow.
    pub async fn workflow_would_go(
        &self,
        caller: &Caller,
        id: &WorkflowId,
    ) -> Result<WouldGo, EngineError> {
        removable(caller, self.owned_workflow(caller, id).await)?;
        self.owner_would_go(caller, id.as_str()).await
    }

    async fn owner_would_go(&self, caller: &Caller, id: &str) -> Result<WouldGo, EngineError> {
        let (store, org) = (&self.0.store, &caller.org_id);
        let mut uses = store.naming(org, id, USES_MAX).await?;
        uses.retain(|named| named.id != id);
        let of =
            SubscriptionFilter { emitter: Some(id.to_owned()), ..SubscriptionFilter::default() };
        let listening = store.list_subscriptions(org, &of).await?;
        let listeners = listening.into_iter().map(|s| s.listener_id);
        let missing: BTreeSet<String> =
            listeners.filter(|listener| uses.iter().all(|named| named.id != *listener)).collect();
        uses.extend(self.named(caller, &missing).await?);
        let endpoints = store.interfaces(id).await?.http;
        let (mut domains, mut page) =
            (Vec::new(), Page { limit: Page::LIMIT_MAX, ..Page::default() });
        while !endpoints.is_empty() {
            let listing = store.list_endpoint_domains(org, &page).await?;
            let Some(next) = listing.next(|domain| domain.id.clone()) else { break };
            page.after = Some(next);
            domains.extend(
                listing
                    .items
                    .into_iter()
                    .filter(|domain| endpoints.iter().any(|http| http.id == domain.endpoint_id))
                    .map(|domain| domain.id),
            );
        }
        let waiting = RunFilter {
            owner: Some(id.to_owned()),
            statuses: vec![RunStatus::Queued, RunStatus::Paused],
            ..RunFilter::default()
        };
        let waiting_runs = store.count_runs(org, &waiting, WAITING_MAX).await?;
        Ok(WouldGo { uses, domains, waiting_runs })
    }

    /// What would miss an account.
    pub async fn account_would_go(
        &self,
        caller: &Caller,
        id: &AccountId,
    ) -> Result<WouldGo, EngineError> {
        removable(caller, self.accounts().get(caller, id, false).await)?;
        Ok(WouldGo {
            uses: self.0.store.naming(&caller.org_id, id.as_str(), USES_MAX).await?,
            ..WouldGo::default()
        })
    }

    /// What would miss a data store.
    pub async fn data_store_would_go(
        &self,
        caller: &Caller,
        which: &str,
    ) -> Result<(String, WouldGo), EngineError> {
        let store = self.data_stores().get(caller, which).await?;
        let uses = self.0.store.naming(&caller.org_id, store.id.as_str(), USES_MAX).await?;
        Ok((store.id.to_string(), WouldGo { uses, ..WouldGo::default() }))
    }

    /// Sources and workflows that were deployed from a registry: they go on when it is deleted.
    pub async fn registry_would_go(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<WouldGo, EngineError> {
        self.registries().get(caller, name).await?;
        let uses = self.0.store.registry_uses(&caller.org_id, name, USES_MAX).await?;
        Ok(WouldGo { uses, ..WouldGo::default() })
    }

    /// What a webhook listens to.
    pub async fn webhook_would_go(
        &self,
        caller: &Caller,
        id: &WebhookId,
    ) -> Result<WouldGo, EngineError> {
        self.webhooks().get(caller, id).await?;
        let of =
            SubscriptionFilter { listener: Some(id.to_string()), ..SubscriptionFilter::default() };
        let subscriptions = self.0.store.list_subscriptions(&caller.org_id, &of).await?;
        let emitters = subscriptions.into_iter().map(|s| s.emitter_id).collect();
        Ok(WouldGo { uses: self.named(caller, &emitters).await?, ..WouldGo::default() })
    }

    /// Workflows, sources and webhooks by their ids.
    async fn named(
        &self,
        caller: &Caller,
        ids: &BTreeSet<String>,
    ) -> Result<Vec<Named>, EngineError> {
        let mut found = Vec::new();
        if ids.is_empty() {
            return Ok(found);
        }
        for kind in [NamedKind::Workflow, NamedKind::Source, NamedKind::Webhook] {
            found.extend(
                self.stored_names(caller, kind)
                    .await?
                    .into_iter()
                    .filter(|named| ids.contains(&named.id)),
            );
        }
        Ok(found)
    }
}

fn member(member: millrace_model::people::Member) -> Named {
    Named {
        kind: NamedKind::Member,
        id: member.user.id.to_string(),
        name: member.user.username,
        about: member.user.email,
    }
}
