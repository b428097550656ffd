//! A server that starts while its Postgres does: it waits for what will come, and for nothing else.
//! Starts a Postgres of its own; passes, and says so, where there is none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use millrace_tests::cluster::{Cluster, Database, cluster};
use millrace_tests::{Server, answer, endpoint};
use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

use crate::postgres::refused;

const SOURCE: &str = "export default { name: 'orders', version: '1', props: { http: '$.interface.http' }, run(event) { this.$emit(event.body); } };";

/// Stands before a Postgres, and refuses in its words until it is told to let through.
struct Door {
    port: u16,
    /// What it refuses with: SQLSTATE and words; `None` lets through.
    refusal: watch::Sender<Option<(&'static str, &'static str)>>,
    refused: Arc<AtomicUsize>,
}

impl Door {
    async fn open(database: Option<&Database>, code: &'static str, words: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let port = listener.local_addr().expect("an address").port();
        let (refusal, state) = watch::channel(Some((code, words)));
        let count = Arc::new(AtomicUsize::new(0));
        let door = Self { port, refusal, refused: Arc::clone(&count) };
        let socket = database.map(Database::socket);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let refusal = *state.borrow();
                match (refusal, &socket) {
                    (Some((code, words)), _) => {
                        count.fetch_add(1, Ordering::Relaxed);
                        tokio::spawn(refuse(client, code, words));
                    }
                    (None, Some(socket)) => {
                        let mut server = UnixStream::connect(socket).await.expect("Postgres runs");
                        tokio::spawn(
                            async move { copy_bidirectional(&mut client, &mut server).await },
                        );
                    }
                    (None, None) => panic!("nothing is behind this door"),
                }
            }
        });
        door
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://postgres:hunter2@127.0.0.1:{}/{database}", self.port)
    }
}

/// An answer to a startup message: that it is refused; to the question for TLS: that there is none.
async fn refuse(mut client: TcpStream, code: &str, words: &str) -> std::io::Result<()> {
    let length = client.read_u32().await?;
    let mut message = vec![0; length as usize - 4];
    client.read_exact(&mut message).await?;
    if message == 80_877_103_u32.to_be_bytes() {
        return client.write_all(b"N").await;
    }
    let fields = format!("SFATAL\0VFATAL\0C{code}\0M{words}\0\0");
    client.write_u8(b'E').await?;
    client.write_u32(u32::try_from(fields.len() + 4).expect("short")).await?;
    client.write_all(fields.as_bytes()).await?;
    client.shutdown().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_waits_for_a_database_that_is_down_and_comes_back() {
    let Some(cluster) = Cluster::own() else { return };
    let database = cluster.database().await;
    cluster.kill();
    let mut server =
        Server::new_at_rest(&["--database-url", &database.url(), "--database-wait-seconds", "600"]);
    server.begin();
    server.until_log("waiting for Postgres, which takes no connections yet; check that it runs and that --database-url is right").await;
    assert!(server.log().contains("Connection refused"), "{}", server.log());
    // It was killed: it recovers first.
    cluster.start_again();
    assert!(server.until_ready().await, "{}", server.log());
    let source = server.source(SOURCE, json!({})).await;
    assert_eq!(
        answer(server.raw(Method::POST, &endpoint(&source)).json(&json!({ "n": 1 }))).await.status,
        200
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_waits_for_a_database_that_is_starting_up() {
    waits_while_refused("57P03", "the database system is starting up").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_waits_for_a_database_whose_connections_others_have() {
    waits_while_refused("53300", "sorry, too many clients already").await;
}

async fn waits_while_refused(code: &'static str, words: &'static str) {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let door = Door::open(Some(&database), code, words).await;
    let mut server = Server::new_at_rest(&[
        "--database-url",
        &door.url(database.name()),
        "--database-wait-seconds",
        "600",
    ]);
    server.begin();
    server.until_log("waiting for Postgres").await;
    assert!(server.log().contains(words) && !server.log().contains("hunter2"), "{}", server.log());
    door.refusal.send_replace(None);
    assert!(server.until_ready().await, "{}", server.log());
    assert_eq!(server.get("/sources").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_does_not_come_ends_the_wait() {
    let door = Door::open(None, "57P03", "the database system is starting up").await;
    let said = refused(&door.url("app"), &["--database-wait-seconds", "3"]);
    assert!(
        said.contains("waiting for Postgres")
            && said.contains("the database system is starting up\""),
        "{said}"
    );
    let last = said.lines().last().expect("its last words");
    assert!(
        last.starts_with("error: could not use the Postgres database `app` on")
            && last.contains("for more than 3 s with --database-wait-seconds"),
        "{last}"
    );
    assert!(last.ends_with("the database system is starting up"), "{last}");
    assert!(door.refused.load(Ordering::Relaxed) > 1, "it tried once only");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_time_mends_fails_at_the_first_try() {
    let refusals = [
        ("28P01", "password authentication failed for user \"postgres\""),
        ("28000", "no pg_hba.conf entry for host \"127.0.0.1\", user \"postgres\""),
        ("3D000", "database \"app\" does not exist"),
    ];
    for (code, words) in refusals {
        let door = Door::open(None, code, words).await;
        let said = refused(&door.url("app"), &[]);
        assert!(
            said.contains(words)
                && said.contains("check that it runs, that --database-url is right"),
            "{said}"
        );
        assert!(!said.contains("waiting for"), "{said}");
        assert_eq!(door.refused.load(Ordering::Relaxed), 1, "{said}");
    }
    // There is no TLS, and it was asked for.
    let door = Door::open(None, "57P03", "never said").await;
    let said = refused(&format!("{}?sslmode=require", door.url("app")), &[]);
    assert!(said.contains("TLS") && !said.contains("waiting for"), "{said}");
    assert_eq!(door.refused.load(Ordering::Relaxed), 1, "{said}");
}
