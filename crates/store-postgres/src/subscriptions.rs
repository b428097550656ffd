//! Subscriptions and listeners.

use deadpool_postgres::{Client, GenericClient, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::ids::OrgId;
use millrace_model::page::{Listing, Page};
use millrace_model::subscription::{
    AutoSubscription, ListedSubscription, Subscription, SubscriptionFilter,
};
use millrace_store::{
    ListenerChange, NAMED_SUBSCRIPTION, StoreError, StoreResult, SubscriptionKey,
};

use crate::db::{database, text};
use crate::rows::{self, Table, execute, list, many, number, one};
use crate::webhooks;

/// Locks the rows of the emitter and the listener against deletion until the subscription is
/// committed. A deletion that came first is committed before the insert, so a look after the insert
/// finds the record gone; one that comes later sees the subscription and removes it.
async fn lock_ends(t: &Transaction<'_>, s: &Subscription) -> StoreResult<()> {
    let sql = "SELECT (SELECT count(*) FROM (SELECT 1 FROM sources WHERE id = ANY ($1::text[]) ORDER BY id FOR KEY SHARE) AS held)
            + (SELECT count(*) FROM (SELECT 1 FROM workflows WHERE id = ANY ($1::text[]) ORDER BY id FOR KEY SHARE) AS held)
            + (SELECT count(*) FROM (SELECT 1 FROM webhooks WHERE id = ANY ($1::text[]) ORDER BY id FOR KEY SHARE) AS held)";
    number(t, sql, &[&vec![text(&s.emitter_id), text(&s.listener_id)]]).await.map(|_| ())
}

pub(crate) async fn subscribe(c: &Transaction<'_>, s: &Subscription) -> StoreResult<Subscription> {
    lock_ends(c, s).await?;
    // An update that changes nothing, because DO NOTHING returns no row; SQLite reads the row in a
    // second statement.
    let sql = format!(
        "INSERT INTO subscriptions (id, org_id, emitter_id, listener_id, event_name, from_trigger, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (org_id, emitter_id, listener_id, event_name) DO UPDATE SET id = subscriptions.id RETURNING {}",
        rows::SUBSCRIPTION
    );
    one(
        c,
        &sql,
        &[
            &s.id.as_str(),
            &s.org_id.as_str(),
            &text(&s.emitter_id),
            &text(&s.listener_id),
            &text(&s.event_name),
            &s.from_trigger,
            &s.created_at.ms(),
        ],
        rows::subscription,
    )
    .await?
    .ok_or_else(|| StoreError::Corrupt { what: "a subscription that was just written".into() })
}

/// Of the organization `$1`, the emitter `$2` and the listener `$3`; an empty one is any.
const FITTING: &str =
    "org_id = $1 AND $2::text IN ('', emitter_id) AND $3::text IN ('', listener_id)";

fn keys<'a>(org: &'a OrgId, of: &'a SubscriptionFilter) -> [&'a str; 3] {
    let [emitter, listener] = [&of.emitter, &of.listener].map(|id| id.as_deref().unwrap_or(""));
    [org.as_str(), emitter, listener]
}

pub(crate) async fn all(
    c: &Client,
    org: &OrgId,
    of: &SubscriptionFilter,
) -> StoreResult<Vec<Subscription>> {
    let sql = format!(
        "SELECT {} FROM subscriptions WHERE {FITTING} ORDER BY created_at DESC, id DESC LIMIT 10000",
        rows::SUBSCRIPTION
    );
    let [org, emitter, listener] = keys(org, of).map(text);
    many(c, &sql, &[&org, &emitter, &listener], rows::subscription).await
}

pub(crate) async fn page(
    c: &Client,
    org: &OrgId,
    of: &SubscriptionFilter,
    page: &Page,
) -> StoreResult<Listing<ListedSubscription>> {
    let table = Table { name: "subscriptions", columns: NAMED_SUBSCRIPTION, filter: FITTING };
    let [org, emitter, listener] = keys(org, of).map(text);
    list(c, &table, &[&org, &emitter, &listener], page, rows::listed_subscription).await
}

pub(crate) async fn unsubscribe(
    c: &impl GenericClient,
    org: &OrgId,
    key: &SubscriptionKey,
) -> StoreResult<bool> {
    let removed = execute(
        c,
        "DELETE FROM subscriptions WHERE org_id = $1 AND emitter_id = $2 AND listener_id = $3 AND event_name = $4",
        &[&org.as_str(), &text(&key.emitter_id), &text(&key.listener_id), &text(&key.event_name)],
    )
    .await?;
    Ok(removed > 0)
}

pub(crate) async fn change(t: &Transaction<'_>, change: &ListenerChange) -> StoreResult<()> {
    for webhook in &change.webhooks {
        webhooks::create(t, webhook).await?;
    }
    for subscription in &change.add {
        subscribe(t, subscription).await?;
    }
    for key in &change.remove {
        unsubscribe(t, &change.org_id, key).await?;
    }
    Ok(())
}

pub(crate) async fn remove_all(t: &Transaction<'_>, id: &str) -> StoreResult<()> {
    execute(t, "DELETE FROM subscriptions WHERE emitter_id = $1 OR listener_id = $1", &[&id])
        .await?;
    execute(t, "DELETE FROM auto_subscriptions WHERE listener_id = $1", &[&id]).await?;
    Ok(())
}

pub(crate) async fn auto_subscribe(
    c: &Client,
    s: &AutoSubscription,
) -> StoreResult<AutoSubscription> {
    let sql = format!(
        "INSERT INTO auto_subscriptions (id, org_id, listener_id, event_name, created_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (org_id, listener_id, event_name) DO UPDATE SET id = auto_subscriptions.id RETURNING {}",
        rows::AUTO_SUBSCRIPTION
    );
    one(
        c,
        &sql,
        &[
            &s.id.as_str(),
            &s.org_id.as_str(),
            &text(&s.listener_id),
            &text(&s.event_name),
            &s.created_at.ms(),
        ],
        rows::auto_subscription,
    )
    .await?
    .ok_or_else(|| StoreError::Corrupt {
        what: "an auto-subscription that was just written".into(),
    })
}

/// Subscribes whoever auto-subscribed to an emitter that is being made. The ids are made of those
/// of both.
pub(crate) async fn follow(
    t: &Transaction<'_>,
    org: &OrgId,
    emitter: &str,
    now: Timestamp,
) -> StoreResult<()> {
    execute(
        t,
        "INSERT INTO subscriptions (id, org_id, emitter_id, listener_id, event_name, from_trigger, created_at)
         SELECT 'sub_' || split_part(id, '_', 2) || split_part($2::text, '_', 2), org_id, $2::text, listener_id, event_name, false, $3
         FROM auto_subscriptions WHERE org_id = $1",
        &[&org.as_str(), &emitter, &now.ms()],
    )
    .await?;
    Ok(())
}

/// Active listeners of any of the emitters: the emitter itself, its glob, the organization.
pub(crate) async fn listeners(
    c: &Client,
    org: &OrgId,
    emitters: &[&str],
    event_name: &str,
) -> StoreResult<Vec<String>> {
    let emitters: Vec<_> = emitters.iter().map(|e| text(e)).collect();
    many(
        c,
        "SELECT DISTINCT s.listener_id FROM subscriptions s
         WHERE s.org_id = $1 AND s.event_name = $2 AND s.emitter_id = ANY ($3::text[])
           AND (EXISTS (SELECT 1 FROM workflows w WHERE w.id = s.listener_id AND w.org_id = s.org_id AND w.active)
             OR EXISTS (SELECT 1 FROM sources d WHERE d.id = s.listener_id AND d.org_id = s.org_id AND d.active)
             OR EXISTS (SELECT 1 FROM webhooks h WHERE h.id = s.listener_id AND h.org_id = s.org_id AND h.active))
         ORDER BY s.listener_id",
        &[&org.as_str(), &text(event_name), &emitters],
        |row| row.try_get(0).map_err(database),
    )
    .await
}
