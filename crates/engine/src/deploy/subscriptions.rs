//! Subscriptions (spec 4.1), and who listens.

use std::sync::Arc;

use millrace_model::ids::{AutoSubscriptionId, OrgId, SourceId, SubscriptionId, WebhookId, WorkflowId};
use millrace_model::subscription::{ALL_SOURCES, ALL_WORKFLOWS, AutoSubscription, ERRORS, LOGS, Subscription};
use millrace_model::tenant::Caller;
use millrace_store::SubscriptionKey;

use crate::{Engine, EngineError};

impl Engine {
    /// Connects an emitter's stream to a listener; the same triple again gives the one that exists.
    pub async fn subscribe(&self, caller: &Caller, key: SubscriptionKey) -> Result<Subscription, EngineError> {
        self.check_emitter(caller, &key.emitter_id).await?;
        self.check_listener(caller, &key.listener_id).await?;
        if key.event_name.len() > 256 || key.event_name.chars().any(char::is_control) {
            return Err(EngineError::invalid("event_name", "an event name has at most 256 characters on one line"));
        }
        let subscription = Subscription {
            id: SubscriptionId::generate(&self.0.ids),
            org_id: caller.org_id.clone(),
            emitter_id: key.emitter_id,
            listener_id: key.listener_id,
            event_name: key.event_name,
            from_trigger: false,
            created_at: self.now(),
        };
        let stored = self.0.store.subscribe(subscription).await?;
        self.0.cache.forget_listeners();
        Ok(stored)
    }

    /// Ends a subscription.
    pub async fn unsubscribe(&self, caller: &Caller, key: SubscriptionKey) -> Result<(), EngineError> {
        let there = self.0.store.unsubscribe(&caller.org_id, &key).await?;
        self.0.cache.forget_listeners();
        if there { Ok(()) } else { Err(EngineError::not_found("subscription", format!("{} → {} ({})", key.emitter_id, key.listener_id, key.event_name))) }
    }

    /// All subscriptions of the organization.
    pub async fn list_subscriptions(&self, caller: &Caller) -> Result<Vec<Subscription>, EngineError> {
        Ok(self.0.store.list_subscriptions(&caller.org_id).await?)
    }

    /// Subscribes a listener to a stream of each workflow and source that is made from now on; the same again gives the one that exists.
    pub async fn auto_subscribe(&self, caller: &Caller, listener_id: String, event_name: String) -> Result<AutoSubscription, EngineError> {
        self.check_listener(caller, &listener_id).await?;
        if ![ERRORS, LOGS].contains(&event_name.as_str()) {
            let shown: String = event_name.chars().take(80).collect();
            return Err(EngineError::invalid("event_name", format!("`event_name` is `{shown}`, allowed are `{ERRORS}` and `{LOGS}`")));
        }
        let id = AutoSubscriptionId::generate(&self.0.ids);
        let subscription = AutoSubscription { id, org_id: caller.org_id.clone(), listener_id, event_name, created_at: self.now() };
        Ok(self.0.store.auto_subscribe(subscription).await?)
    }

    /// Ends an auto-subscription; what it subscribed to before stays.
    pub async fn delete_auto_subscription(&self, caller: &Caller, id: &AutoSubscriptionId) -> Result<(), EngineError> {
        let there = self.0.store.delete_auto_subscription(&caller.org_id, id).await?;
        if there { Ok(()) } else { Err(EngineError::not_found("auto-subscription", id)) }
    }

    /// All auto-subscriptions of the organization.
    pub async fn list_auto_subscriptions(&self, caller: &Caller) -> Result<Vec<AutoSubscription>, EngineError> {
        Ok(self.0.store.list_auto_subscriptions(&caller.org_id).await?)
    }

    async fn check_listener(&self, caller: &Caller, listener: &str) -> Result<(), EngineError> {
        if listener.is_empty() {
            return Err(EngineError::missing("listener_id", "`listener_id` is required: the id of a workflow, source or webhook"));
        }
        if listener.starts_with(WebhookId::PREFIX) {
            let id = listener.parse().map_err(|_| EngineError::not_found("webhook", listener))?;
            return self.webhook(caller, &id).await.map(|_| ());
        }
        self.check_owner(caller, listener).await
    }

    async fn check_emitter(&self, caller: &Caller, emitter: &str) -> Result<(), EngineError> {
        match emitter {
            "" => Err(EngineError::missing("emitter_id", "`emitter_id` is required: the id of an organization, workflow or source, or `p_*` or `dc_*`")),
            ALL_WORKFLOWS | ALL_SOURCES => Ok(()),
            org if org == caller.org_id.as_str() => Ok(()),
            id if id.starts_with(SourceId::PREFIX) || id.starts_with(WorkflowId::PREFIX) => self.check_owner(caller, id).await,
            other => Err(EngineError::not_found("emitter", other)),
        }
    }

    /// Listeners of an emitter's stream: those of itself, of its glob and of the organization.
    pub(crate) async fn listeners_of(&self, org: &OrgId, emitter: &str, event_name: &str) -> Result<Arc<Vec<String>>, EngineError> {
        let key = (org.clone(), emitter.to_owned(), event_name.to_owned());
        if let Some(listeners) = self.0.cache.listeners(&key) {
            return Ok(listeners);
        }
        let read_at = self.0.cache.generation();
        let glob = if emitter.starts_with(SourceId::PREFIX) { ALL_SOURCES } else { ALL_WORKFLOWS };
        let listeners = Arc::new(self.0.store.listeners(org, &[emitter, glob, org.as_str()], event_name).await?);
        self.0.cache.put_listeners(read_at, key, listeners.clone());
        Ok(listeners)
    }
}
