//! Subscriptions and listeners.

use millrace_model::clock::Timestamp;
use millrace_model::ids::OrgId;
use millrace_model::page::{Listing, Page};
use millrace_model::subscription::{
    AutoSubscription, ListedSubscription, Subscription, SubscriptionFilter,
};
use millrace_store::{ListenerChange, StoreError, StoreResult, SubscriptionKey};
use rusqlite::{Connection, params};

use crate::db::database;
use crate::rows::{self, execute, list, many, one};
use crate::webhooks;

pub(crate) fn subscribe(c: &Connection, s: &Subscription) -> StoreResult<Subscription> {
    execute(
        c,
        "INSERT INTO subscriptions (id, org_id, emitter_id, listener_id, event_name, from_trigger, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (org_id, emitter_id, listener_id, event_name) DO NOTHING",
        params![s.id.as_str(), s.org_id.as_str(), s.emitter_id, s.listener_id, s.event_name, s.from_trigger, s.created_at.ms()],
    )?;
    one(
        c,
        "SELECT * FROM subscriptions WHERE org_id = ?1 AND emitter_id = ?2 AND listener_id = ?3 AND event_name = ?4",
        params![s.org_id.as_str(), s.emitter_id, s.listener_id, s.event_name],
        rows::subscription,
    )?
    .ok_or_else(|| StoreError::Corrupt { what: "a subscription that was just written".into() })
}

/// Of the organization `?1`, the emitter `?2` and the listener `?3`; an empty one is any.
const FITTING: &str = "org_id = ?1 AND ?2 IN ('', emitter_id) AND ?3 IN ('', listener_id)";

fn keys<'a>(org: &'a OrgId, of: &'a SubscriptionFilter) -> [&'a str; 3] {
    let [emitter, listener] = [&of.emitter, &of.listener].map(|id| id.as_deref().unwrap_or(""));
    [org.as_str(), emitter, listener]
}

pub(crate) fn all(
    c: &Connection,
    org: &OrgId,
    of: &SubscriptionFilter,
) -> StoreResult<Vec<Subscription>> {
    let sql = format!(
        "SELECT * FROM subscriptions WHERE {FITTING} ORDER BY created_at DESC, id DESC LIMIT 10000"
    );
    many(c, &sql, keys(org, of), rows::subscription)
}

pub(crate) fn page(
    c: &Connection,
    org: &OrgId,
    of: &SubscriptionFilter,
    page: &Page,
) -> StoreResult<Listing<ListedSubscription>> {
    list(c, "subscriptions", FITTING, &keys(org, of), page, rows::listed_subscription)
}

pub(crate) fn unsubscribe(c: &Connection, org: &OrgId, key: &SubscriptionKey) -> StoreResult<bool> {
    let removed = execute(
        c,
        "DELETE FROM subscriptions WHERE org_id = ?1 AND emitter_id = ?2 AND listener_id = ?3 AND event_name = ?4",
        params![org.as_str(), key.emitter_id, key.listener_id, key.event_name],
    )?;
    Ok(removed > 0)
}

pub(crate) fn change(c: &Connection, change: &ListenerChange) -> StoreResult<()> {
    for webhook in &change.webhooks {
        webhooks::create(c, webhook)?;
    }
    for subscription in &change.add {
        subscribe(c, subscription)?;
    }
    for key in &change.remove {
        unsubscribe(c, &change.org_id, key)?;
    }
    Ok(())
}

pub(crate) fn remove_all(c: &Connection, id: &str) -> StoreResult<()> {
    execute(c, "DELETE FROM subscriptions WHERE emitter_id = ?1 OR listener_id = ?1", [id])?;
    execute(c, "DELETE FROM auto_subscriptions WHERE listener_id = ?1", [id])?;
    Ok(())
}

pub(crate) fn auto_subscribe(
    c: &Connection,
    s: &AutoSubscription,
) -> StoreResult<AutoSubscription> {
    execute(
        c,
        "INSERT INTO auto_subscriptions (id, org_id, listener_id, event_name, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (org_id, listener_id, event_name) DO NOTHING",
        params![s.id.as_str(), s.org_id.as_str(), s.listener_id, s.event_name, s.created_at.ms()],
    )?;
    one(
        c,
        "SELECT * FROM auto_subscriptions WHERE org_id = ?1 AND listener_id = ?2 AND event_name = ?3",
        params![s.org_id.as_str(), s.listener_id, s.event_name],
        rows::auto_subscription,
    )?
    .ok_or_else(|| StoreError::Corrupt { what: "an auto-subscription that was just written".into() })
}

/// Subscribes whoever auto-subscribed to an emitter that is being made. The ids are made of those
/// of both.
pub(crate) fn follow(
    c: &Connection,
    org: &OrgId,
    emitter: &str,
    now: Timestamp,
) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO subscriptions (id, org_id, emitter_id, listener_id, event_name, from_trigger, created_at)
         SELECT 'sub_' || substr(id, instr(id, '_') + 1) || substr(?2, instr(?2, '_') + 1), org_id, ?2, listener_id, event_name, 0, ?3
         FROM auto_subscriptions WHERE org_id = ?1",
        params![org.as_str(), emitter, now.ms()],
    )?;
    Ok(())
}

/// The three emitters an event can be listened to by: itself, its glob, the organization. Fewer are
/// repeated.
pub(crate) fn listeners(
    c: &Connection,
    org: &OrgId,
    emitters: &[String],
    event_name: &str,
) -> StoreResult<Vec<String>> {
    let emitters =
        rusqlite::types::Value::from(serde_json::Value::from(emitters.to_vec()).to_string());
    many(
        c,
        "SELECT DISTINCT s.listener_id FROM subscriptions s
         WHERE s.org_id = ?1 AND s.event_name = ?2 AND s.emitter_id IN (SELECT value FROM json_each(?3))
           AND (EXISTS (SELECT 1 FROM workflows w WHERE w.id = s.listener_id AND w.org_id = s.org_id AND w.active = 1)
             OR EXISTS (SELECT 1 FROM sources d WHERE d.id = s.listener_id AND d.org_id = s.org_id AND d.active = 1)
             OR EXISTS (SELECT 1 FROM webhooks h WHERE h.id = s.listener_id AND h.org_id = s.org_id AND h.active = 1))
         ORDER BY s.listener_id",
        params![org.as_str(), event_name, emitters],
        |row| row.get(0).map_err(database),
    )
}
