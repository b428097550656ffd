//! Servers that share the database: `LISTEN` and `NOTIFY`.
//!
//! Triggers notify of changes, in the transaction of the change (see the schema). Servers publish
//! settled runs and events beside their transactions: those that notify commit one after the other,
//! which runs and events must not.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use deadpool_postgres::Client;
use millrace_store::{Changed, Heard, News, StoreError, StoreResult};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Config, Connection, NoTls};

use crate::db::{away, database, unwritable};
use crate::rows::{execute, many, number};

const CHANGED: &str = "millrace_changed";
const NEWS: &str = "millrace_news";
/// How often a listening connection is asked whether it is there.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// How long it may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Bytes of a notification; Postgres takes fewer than 8,000.
const PAYLOAD_MAX: usize = 7_500;
/// What was heard and is not taken yet, beyond which the connection waits.
const WAITING_MAX: usize = 1_024;

/// A connection of its own: one of the pool is heard only while somebody uses it.
pub(crate) async fn listen(config: &Config) -> StoreResult<mpsc::Receiver<Heard>> {
    let mut config = config.clone();
    config.application_name("millrace-listener");
    let (client, connection) =
        config.connect(NoTls).await.map_err(|error| away(database(error)))?;
    let (heard, hearing) = mpsc::channel(WAITING_MAX);
    let mut hears = Box::pin(hear(connection, heard.clone()));
    let channels = format!("LISTEN {CHANGED}; LISTEN {NEWS}");
    tokio::select! {
        biased;
        listens = client.batch_execute(&channels) => listens.map_err(database)?,
        () = &mut hears => return Err(StoreError::Unavailable("the connection ended".into())),
    }
    // Either end closes the channel.
    tokio::spawn(async move {
        tokio::select! {
            () = hears => {}
            () = ask(client, heard) => {}
        }
    });
    Ok(hearing)
}

/// Hands on what comes, until the connection ends or nobody takes it.
async fn hear<S, T>(mut connection: Connection<S, T>, heard: mpsc::Sender<Heard>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
        match message {
            Ok(AsyncMessage::Notification(notification)) => {
                for one in read(notification.channel(), notification.payload()) {
                    if heard.send(one).await.is_err() {
                        return;
                    }
                }
            }
            Ok(_) => {}
            Err(error) => return tracing::debug!(%error, "the listening connection ended"),
        }
    }
}

/// Asks again and again whether the connection is there, until it does not answer.
async fn ask(client: tokio_postgres::Client, heard: mpsc::Sender<Heard>) {
    loop {
        let asked = Instant::now();
        // What was notified before is sent before the answer.
        match tokio::time::timeout(ANSWER_MAX, client.batch_execute("SELECT 1")).await {
            Ok(Ok(())) if heard.send(Heard::UpTo(asked)).await.is_ok() => {
                tokio::time::sleep(ASK_EVERY).await
            }
            _ => return,
        }
    }
}

/// What a notification says; what a newer server tells and this one does not know is left out.
fn read(channel: &str, payload: &str) -> Vec<Heard> {
    if channel == NEWS {
        let mut lines = payload.lines();
        let node = lines.next().unwrap_or_default();
        return lines
            .filter_map(|line| serde_json::from_str::<News>(line).ok())
            .map(|news| Heard::News(node.to_owned(), news))
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
    vec![Heard::Changed(changed)]
}

/// News as notifications, a line for each.
fn written(node: &str, news: &[News]) -> StoreResult<Vec<String>> {
    let mut payloads = Vec::new();
    let mut payload = node.to_owned();
    for one in news {
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

/// Not durable: who is not there to hear it has nothing of it.
pub(crate) async fn publish(client: &mut Client, node: &str, news: &[News]) -> StoreResult<()> {
    let payloads = written(node, news)?;
    let t = client.transaction().await.map_err(database)?;
    t.batch_execute("SET LOCAL synchronous_commit = off").await.map_err(database)?;
    many(&t, "SELECT pg_notify($1, p) FROM UNNEST($2::text[]) AS p", &[&NEWS, &payloads], |_| {
        Ok(())
    })
    .await?;
    t.commit().await.map_err(database)
}

/// By the database's clock, so that servers need not agree on the time. Who ended without a word is
/// taken out. Where that clock went back, who did so would count as there until it has caught up,
/// and keep its runs: none is left longer than whoever checks in now, by when those that are there
/// have said so again.
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
    fn many_news_are_few_notifications_that_postgres_takes() {
        let org = OrgId::generate(&IdSource::default());
        let news: Vec<News> = (0..500)
            .map(|n| News::Event(org.clone(), "dc_a".into(), EventAt(n)))
            .chain([News::Queued])
            .collect();
        let payloads = written("node_a", &news).expect("writes");
        assert!(
            (2..10).contains(&payloads.len()) && payloads.iter().all(|p| p.len() < 8_000),
            "{}",
            payloads.len()
        );
        let heard: Vec<News> = payloads
            .iter()
            .flat_map(|payload| read(NEWS, payload))
            .map(|heard| match heard {
                Heard::News(node, news) if node == "node_a" => news,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(heard, news);
    }

    #[test]
    fn what_a_newer_server_tells_is_left_out() {
        assert!(read(CHANGED, "weather fine").is_empty());
        assert!(matches!(
            &read(NEWS, "node_a\n[\"x\"]\n\"q\"")[..],
            [Heard::News(_, News::Queued)]
        ));
    }
}
