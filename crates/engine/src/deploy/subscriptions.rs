//! Subscriptions (spec 4.1), and the listeners of an emitter.

use std::sync::Arc;

use millrace_model::ids::{
    AutoSubscriptionId, OrgId, SourceId, SubscriptionId, WebhookId, WorkflowId,
};
use millrace_model::page::{Listing, Page};
use millrace_model::subscription::{
    ALL_SOURCES, ALL_WORKFLOWS, AutoSubscription, ERRORS, LOGS, ListedSubscription, Subscription,
    SubscriptionFilter, check_stream,
};
use millrace_model::tenant::Caller;
use millrace_model::webhook::Webhook;
use millrace_store::{ListenerChange, SubscriptionKey};

use crate::ctx::Ctx;
use crate::deliver::webhook_address::shown_address;
use crate::deliver::webhooks::Webhooks;
use crate::owners::check_owner;
use crate::{EngineError, NewWebhook};

/// Listeners that one request may name: as many as there may be webhooks.
const LISTENERS_MAX: u32 = 1_000;

/// Clients of the hosted platform name the caller's own id where they mean all that is the caller's
/// (facts 1.8): here that is the organization's.
fn of_user(caller: &Caller, key: SubscriptionKey) -> SubscriptionKey {
    if key.emitter_id == caller.user_id.as_str() {
        SubscriptionKey { emitter_id: caller.org_id.to_string(), ..key }
    } else {
        key
    }
}

/// Subscriptions of all organizations.
pub struct Subscriptions {
    ctx: Arc<Ctx>,
    webhooks: Arc<Webhooks>,
}

impl Subscriptions {
    pub(crate) const fn new(ctx: Arc<Ctx>, webhooks: Arc<Webhooks>) -> Self {
        Self { ctx, webhooks }
    }

    /// Connects an emitter's stream to a listener; the same triple again gives the one that exists.
    pub async fn subscribe(
        &self,
        caller: &Caller,
        key: SubscriptionKey,
    ) -> Result<Subscription, EngineError> {
        let key = of_user(caller, key);
        self.check_emitter(caller, &key.emitter_id).await?;
        self.check_listener(caller, &key.listener_id).await?;
        check_stream(&key.emitter_id, &key.event_name)
            .map_err(|refused| EngineError::invalid("event_name", refused))?;
        let stored = self.ctx.store.subscribe(self.subscription(caller, key.clone())).await?;
        self.ctx.cache.listeners.forget_all();
        self.remove_orphan(caller, &key).await.map(|()| stored)
    }

    /// Removes a subscription of which the emitter or the listener was deleted after it was looked
    /// at: the deletion did not see the subscription.
    async fn remove_orphan(
        &self,
        caller: &Caller,
        key: &SubscriptionKey,
    ) -> Result<(), EngineError> {
        let there = match self.check_emitter(caller, &key.emitter_id).await {
            Ok(()) => self.check_listener(caller, &key.listener_id).await,
            gone => gone,
        };
        if let Err(EngineError::NotFound { .. }) = there {
            self.ctx.store.unsubscribe(&caller.org_id, key).await?;
            self.ctx.cache.listeners.forget_all();
        }
        there
    }

    /// Lets these workflows run on what a source emits on its default channel, and no others. One
    /// that is unknown leaves all as it was.
    pub async fn set_trigger_workflows(
        &self,
        caller: &Caller,
        source: &SourceId,
        workflows: &[String],
    ) -> Result<(), EngineError> {
        check_owner(&self.ctx, caller, source.as_str()).await?;
        let _turn = self.ctx.changes.turn(source.as_str()).await;
        let wanted = distinct("workflow_ids", workflows)?;
        for workflow in &wanted {
            let id: WorkflowId =
                workflow.parse().map_err(|_| EngineError::not_found("workflow", workflow))?;
            check_owner(&self.ctx, caller, id.as_str()).await?;
        }
        let listening = self.trigger_listeners(caller, source, WorkflowId::PREFIX).await?;
        self.change_trigger_listeners(caller, source, Vec::new(), &wanted, listening).await
    }

    /// Lets what a source emits on its default channel be posted to these addresses, and no others.
    /// One that cannot be a webhook's leaves all as it was. An address that a webhook of the
    /// organization has already keeps that webhook, also where it is given as it is shown, with
    /// `***` for user and password; of those that are made, the secrets are shown this once.
    pub async fn set_trigger_webhooks(
        &self,
        caller: &Caller,
        source: &SourceId,
        urls: &[String],
    ) -> Result<Vec<(WebhookId, String)>, EngineError> {
        check_owner(&self.ctx, caller, source.as_str()).await?;
        let _turn = self.ctx.changes.turn(source.as_str()).await;
        let listening = self.trigger_listeners(caller, source, WebhookId::PREFIX).await?;
        let all = self
            .ctx
            .store
            .list_webhooks(&caller.org_id, &Page { limit: LISTENERS_MAX, ..Page::default() })
            .await?;
        // Those that listen already stand first.
        let (mut known, others): (Vec<_>, Vec<_>) = all
            .items
            .into_iter()
            .partition(|webhook| listening.iter().any(|id| id == webhook.id.as_str()));
        known.extend(others.into_iter().filter(|webhook| webhook.active));
        let (mut wanted, mut made) = (Vec::new(), Vec::new());
        for url in distinct("webhook_urls", urls)? {
            let at_it: Vec<&str> = known
                .iter()
                .filter(|known| self.webhooks.is_at(known, &url))
                .map(|known| known.id.as_str())
                .collect();
            // One shown address may stand for several webhooks: those that listen already stay.
            let stay = at_it.iter().filter(|id| listening.iter().any(|other| other == **id));
            let stay: Vec<String> = match stay.clone().next() {
                Some(_) => stay.map(ToString::to_string).collect(),
                None => at_it.first().map(ToString::to_string).into_iter().collect(),
            };
            if stay.is_empty() {
                let new = NewWebhook { url, name: None, description: None };
                let (webhook, secret) = self.webhooks.prepare(caller, new)?;
                wanted.push(webhook.id.to_string());
                known.push(webhook.clone());
                made.push((webhook, secret));
            } else {
                wanted.extend(stay);
            }
        }
        self.webhooks.check_count(all.total_count + made.len() as u64)?;
        let secrets =
            made.iter().map(|(webhook, secret)| (webhook.id.clone(), secret.clone())).collect();
        self.change_trigger_listeners(
            caller,
            source,
            made.into_iter().map(|(webhook, _)| webhook).collect(),
            &wanted,
            listening,
        )
        .await?;
        Ok(secrets)
    }

    /// Who listens to a source's default channel, of one kind.
    pub async fn trigger_listeners(
        &self,
        caller: &Caller,
        source: &SourceId,
        prefix: &str,
    ) -> Result<Vec<String>, EngineError> {
        let of = SubscriptionFilter {
            emitter: Some(source.to_string()),
            ..SubscriptionFilter::default()
        };
        let all = self.ctx.store.list_subscriptions(&caller.org_id, &of).await?;
        let of_it = all
            .into_iter()
            .filter(|s| s.event_name.is_empty() && s.listener_id.starts_with(prefix));
        Ok(of_it.map(|s| s.listener_id).collect())
    }

    async fn change_trigger_listeners(
        &self,
        caller: &Caller,
        source: &SourceId,
        webhooks: Vec<Webhook>,
        wanted: &[String],
        listening: Vec<String>,
    ) -> Result<(), EngineError> {
        let key = |listener_id: &String| SubscriptionKey {
            emitter_id: source.to_string(),
            listener_id: listener_id.clone(),
            event_name: String::new(),
        };
        let change = ListenerChange {
            org_id: caller.org_id.clone(),
            webhooks,
            add: wanted.iter().map(|listener| self.subscription(caller, key(listener))).collect(),
            remove: listening
                .iter()
                .filter(|listener| !wanted.contains(listener))
                .map(key)
                .collect(),
        };
        self.ctx.store.change_listeners(change).await?;
        self.ctx.cache.listeners.forget_all();
        for listener in wanted {
            self.remove_orphan(caller, &key(listener)).await?;
        }
        Ok(())
    }

    fn subscription(&self, caller: &Caller, key: SubscriptionKey) -> Subscription {
        Subscription {
            id: SubscriptionId::generate(&self.ctx.ids),
            org_id: caller.org_id.clone(),
            emitter_id: key.emitter_id,
            listener_id: key.listener_id,
            event_name: key.event_name,
            from_trigger: false,
            created_at: self.ctx.now(),
        }
    }

    /// Ends a subscription.
    pub async fn unsubscribe(
        &self,
        caller: &Caller,
        key: SubscriptionKey,
    ) -> Result<(), EngineError> {
        let key = of_user(caller, key);
        let there = self.ctx.store.unsubscribe(&caller.org_id, &key).await?;
        self.ctx.cache.listeners.forget_all();
        if there {
            Ok(())
        } else {
            Err(EngineError::not_found(
                "subscription",
                format!("{} → {} ({})", key.emitter_id, key.listener_id, key.event_name),
            ))
        }
    }

    /// Subscriptions of the organization that fit, the newest 10,000.
    pub async fn list(
        &self,
        caller: &Caller,
        of: &SubscriptionFilter,
    ) -> Result<Vec<Subscription>, EngineError> {
        Ok(self.ctx.store.list_subscriptions(&caller.org_id, of).await?)
    }

    /// A page of them with names, newest first.
    pub async fn page(
        &self,
        caller: &Caller,
        of: &SubscriptionFilter,
        page: &Page,
    ) -> Result<Listing<ListedSubscription>, EngineError> {
        let mut listing = self.ctx.store.page_of_subscriptions(&caller.org_id, of, page).await?;
        for listed in &mut listing.items {
            if listed.subscription.listener_id.starts_with(WebhookId::PREFIX) {
                listed.listener_name = listed.listener_name.as_deref().map(shown_address);
            }
        }
        Ok(listing)
    }

    /// Subscribes a listener to a stream of each workflow and source that is made from now on; the
    /// same again gives the one that exists.
    pub async fn auto_subscribe(
        &self,
        caller: &Caller,
        listener_id: String,
        event_name: String,
    ) -> Result<AutoSubscription, EngineError> {
        self.check_listener(caller, &listener_id).await?;
        if ![ERRORS, LOGS].contains(&event_name.as_str()) {
            let shown = millrace_model::shown(&event_name);
            return Err(EngineError::invalid(
                "event_name",
                format!("`event_name` is `{shown}`, allowed are `{ERRORS}` and `{LOGS}`"),
            ));
        }
        let id = AutoSubscriptionId::generate(&self.ctx.ids);
        let subscription = AutoSubscription {
            id,
            org_id: caller.org_id.clone(),
            listener_id,
            event_name,
            created_at: self.ctx.now(),
        };
        let stored = self.ctx.store.auto_subscribe(subscription).await?;
        let there = self.check_listener(caller, &stored.listener_id).await;
        if let Err(EngineError::NotFound { .. }) = there {
            self.ctx.store.delete_auto_subscription(&caller.org_id, &stored.id).await?;
        }
        there.map(|()| stored)
    }

    /// Ends an auto-subscription; what it subscribed to before stays.
    pub async fn delete_auto(
        &self,
        caller: &Caller,
        id: &AutoSubscriptionId,
    ) -> Result<(), EngineError> {
        let there = self.ctx.store.delete_auto_subscription(&caller.org_id, id).await?;
        if there { Ok(()) } else { Err(EngineError::not_found("auto-subscription", id)) }
    }

    /// All auto-subscriptions of the organization.
    pub async fn list_auto(&self, caller: &Caller) -> Result<Vec<AutoSubscription>, EngineError> {
        Ok(self.ctx.store.list_auto_subscriptions(&caller.org_id).await?)
    }

    /// That such a listener is there.
    pub async fn check_listener(&self, caller: &Caller, listener: &str) -> Result<(), EngineError> {
        if listener.is_empty() {
            return Err(EngineError::missing(
                "listener_id",
                "`listener_id` is required: the id of a workflow, source or webhook",
            ));
        }
        if listener.starts_with(WebhookId::PREFIX) {
            let id = listener.parse().map_err(|_| EngineError::not_found("webhook", listener))?;
            return self.webhooks.get(caller, &id).await.map(|_| ());
        }
        check_owner(&self.ctx, caller, listener).await
    }

    async fn check_emitter(&self, caller: &Caller, emitter: &str) -> Result<(), EngineError> {
        match emitter {
            "" => Err(EngineError::missing(
                "emitter_id",
                "`emitter_id` is required: the id of an organization, workflow or source, or `p_*` or `dc_*`",
            )),
            ALL_WORKFLOWS | ALL_SOURCES => Ok(()),
            org if org == caller.org_id.as_str() => Ok(()),
            id if id.starts_with(SourceId::PREFIX) || id.starts_with(WorkflowId::PREFIX) => {
                check_owner(&self.ctx, caller, id).await
            }
            other => Err(EngineError::not_found("emitter", other)),
        }
    }

    /// Listeners of an emitter's stream: those of itself, of its glob and of the organization.
    pub(crate) async fn listeners_of(
        &self,
        org: &OrgId,
        emitter: &str,
        event_name: &str,
    ) -> Result<Arc<Vec<String>>, EngineError> {
        let key = (org.clone(), emitter.to_owned(), event_name.to_owned());
        if let Some(listeners) = self.ctx.cache.listeners.get(&key) {
            return Ok(listeners);
        }
        let read_at = self.ctx.cache.generation();
        let glob = if emitter.starts_with(SourceId::PREFIX) { ALL_SOURCES } else { ALL_WORKFLOWS };
        let listeners = Arc::new(
            self.ctx.store.listeners(org, &[emitter, glob, org.as_str()], event_name).await?,
        );
        self.ctx.cache.listeners.put(read_at, key, listeners.clone());
        Ok(listeners)
    }
}

/// Each once, in their order.
fn distinct(field: &str, listeners: &[String]) -> Result<Vec<String>, EngineError> {
    let mut seen = std::collections::HashSet::new();
    let distinct: Vec<String> =
        listeners.iter().filter(|listener| seen.insert(*listener)).cloned().collect();
    if distinct.len() <= LISTENERS_MAX as usize {
        return Ok(distinct);
    }
    Err(EngineError::invalid(
        field,
        format!(
            "`{field}` names {} listeners, at most {LISTENERS_MAX} are allowed",
            distinct.len()
        ),
    ))
}
