//! Servers that share the database: `LISTEN` and `NOTIFY`.
//!
//! Triggers notify of changes, in the transaction of the change (see the schema). Servers publish
//! settled runs and events beside their transactions: those that notify commit one after the other,
//! which runs and events must not.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use deadpool_postgres::Client;
use millrace_store::{Changed, NodeMessage, Notification, StoreError, StoreResult};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Config, Connection, NoTls};

use crate::db::{away, database, unwritable};
use crate::rows::{execute, many, number};

const CHANGED: &str = "millrace_changed";
/// Channel name of all versions: servers of two versions notify each other during an upgrade.
const MESSAGES: &str = "millrace_news";
/// How often a listening connection is asked whether it is there.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// How long it may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Bytes of a notification; Postgres takes fewer than 8,000.
const PAYLOAD_MAX: usize = 7_500;
/// Notifications that arrived and are not taken yet, beyond which the connection waits.
const WAITING_MAX: usize = 1_024;

/// A connection of its own: one of the pool is read only while it is in use.
pub(crate) async fn listen(config: &Config) -> StoreResult<mpsc::Receiver<Notification>> {
    let mut config = config.clone();
    config.application_name("millrace-listener");
    let (client, connection) =
        config.connect(NoTls).await.map_err(|error| away(database(error)))?;
    let (notifications, received) = mpsc::channel(WAITING_MAX);
    let mut reading = Box::pin(forward(connection, notifications.clone()));
    let channels = format!("LISTEN {CHANGED}; LISTEN {MESSAGES}");
    tokio::select! {
        biased;
        listens = client.batch_execute(&channels) => listens.map_err(database)?,
        () = &mut reading => return Err(StoreError::Unavailable("the connection ended".into())),
    }
    // Either end closes the channel.
    tokio::spawn(async move {
        tokio::select! {
            () = reading => {}
            () = probe(client, notifications) => {}
        }
    });
    Ok(received)
}

/// Forwards notifications until the connection or the receiver ends.
async fn forward<S, T>(mut connection: Connection<S, T>, notifications: mpsc::Sender<Notification>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
        match message {
            Ok(AsyncMessage::Notification(notification)) => {
                for one in read(notification.channel(), notification.payload()) {
                    if notifications.send(one).await.is_err() {
                        return;
                    }
                }
            }
            Ok(_) => {}
            Err(error) => return tracing::debug!(%error, "the listening connection ended"),
        }
    }
}

/// Probes the connection every second, until it does not answer.
async fn probe(client: tokio_postgres::Client, notifications: mpsc::Sender<Notification>) {
    loop {
        let asked = Instant::now();
        // What was notified before is sent before the answer.
        match tokio::time::timeout(ANSWER_MAX, client.batch_execute("SELECT 1")).await {
            Ok(Ok(())) if notifications.send(Notification::CompleteUntil(asked)).await.is_ok() => {
                tokio::time::sleep(ASK_EVERY).await
            }
            _ => return,
        }
    }
}

/// Reads a notification. Messages of a newer server that this one does not know are left out.
fn read(channel: &str, payload: &str) -> Vec<Notification> {
    if channel == MESSAGES {
        let mut lines = payload.lines();
        let node = lines.next().unwrap_or_default();
        return lines
            .filter_map(|line| millrace_model::json::from_str::<NodeMessage>(line).ok())
            .map(|message| Notification::Message(node.to_owned(), message))
            .collect();
    }
    let changed = match payload.split_once(' ').unwrap_or((payload, "")) {
        ("owner", id) => Changed::Owner(id.to_owned()),
        ("listeners", _) => Changed::Listeners,
        ("callers", _) => Changed::Callers,
        ("domains", _) => Changed::Domains,
        ("nodes", _) => Changed::Nodes,
        _ => return Vec::new(),
    };
    vec![Notification::Changed(changed)]
}

/// Payloads of messages, a line for each.
fn written(node: &str, messages: &[NodeMessage]) -> StoreResult<Vec<String>> {
    let mut payloads = Vec::new();
    let mut payload = node.to_owned();
    for one in messages {
        let line = serde_json::to_string(one).map_err(unwritable)?;
        if payload.len() + 1 + line.len() > PAYLOAD_MAX && payload.len() > node.len() {
            payloads.push(std::mem::replace(&mut payload, node.to_owned()));
        }
        payload.push('\n');
        payload.push_str(&line);
    }
    payloads.push(payload);
    Ok(payloads)
}

/// Not durable: a server that does not listen at that time never gets it.
pub(crate) async fn publish(
    client: &mut Client,
    node: &str,
    messages: &[NodeMessage],
) -> StoreResult<()> {
    let payloads = written(node, messages)?;
    let t = client.transaction().await.map_err(database)?;
    t.batch_execute("SET LOCAL synchronous_commit = off").await.map_err(database)?;
    many(
        &t,
        "SELECT pg_notify($1, p) FROM UNNEST($2::text[]) AS p",
        &[&MESSAGES, &payloads],
        |_| Ok(()),
    )
    .await?;
    t.commit().await.map_err(database)
}

/// By the database's clock, so that servers need not agree on the time. Servers whose entry expired
/// an hour ago are removed. Where that clock went back, an entry would stay valid until the clock
/// has caught up, and its runs with it: entries that reach further than twice this one are cut to
/// it, and servers that are there renew theirs before it expires.
pub(crate) async fn check_in(c: &Client, node: &str, for_ms: i64) -> StoreResult<u64> {
    let sql = "WITH here AS (
           INSERT INTO nodes (id, alive_until) VALUES ($1, now() + $2::bigint * interval '1 millisecond')
           ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until),
         ahead AS (UPDATE nodes SET alive_until = now() + $2::bigint * interval '1 millisecond'
           WHERE id IN (SELECT id FROM nodes WHERE id <> $1 AND alive_until > now() + 2 * $2::bigint * interval '1 millisecond' FOR UPDATE SKIP LOCKED)),
         gone AS (DELETE FROM nodes WHERE id IN (SELECT id FROM nodes WHERE alive_until < now() - interval '1 hour' FOR UPDATE SKIP LOCKED))
         SELECT count(*) FROM nodes WHERE id <> $1 AND alive_until > now()";
    Ok(u64::try_from(number(c, sql, &[&node, &for_ms]).await?).unwrap_or(0))
}

pub(crate) async fn check_out(c: &Client, node: &str) -> StoreResult<()> {
    execute(c, "DELETE FROM nodes WHERE id = $1", &[&node]).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use millrace_model::ids::{IdSource, OrgId};
    use millrace_store::EventAt;

    use super::*;

    #[test]
    fn many_messages_are_few_notifications_that_postgres_takes() {
        let org = OrgId::generate(&IdSource::default());
        let messages: Vec<NodeMessage> = (0..500)
            .map(|n| NodeMessage::Event(org.clone(), "dc_a".into(), EventAt(n)))
            .chain([NodeMessage::Queued])
            .collect();
        let payloads = written("node_a", &messages).expect("writes");
        assert!(
            (2..10).contains(&payloads.len()) && payloads.iter().all(|p| p.len() < 8_000),
            "{}",
            payloads.len()
        );
        let received: Vec<NodeMessage> = payloads
            .iter()
            .flat_map(|payload| read(MESSAGES, payload))
            .map(|notification| match notification {
                Notification::Message(node, message) if node == "node_a" => message,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(received, messages);
    }

    #[test]
    fn messages_of_a_newer_server_are_left_out() {
        assert!(read(CHANGED, "weather fine").is_empty());
        assert!(matches!(
            &read(MESSAGES, "node_a\n[\"x\"]\n\"q\"")[..],
            [Notification::Message(_, NodeMessage::Queued)]
        ));
    }
}
