//! Slots for bundling and uploads, granted to organizations round-robin. A registry of packages
//! that does not answer keeps them occupied here.

use std::io::Write as _;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use millrace_tests::{Answer, Server, answer};
use reqwest::Method;
use serde_json::{Value, json};

use crate::bundling::{Deploying, HELD, Registry, deploy, kill, workers};
use crate::support::Field;

const PLAIN: &str = "export default { name: 'plain', version: '1', run() {} };";

/// A server whose packages come from the registry.
async fn field(registry: &Registry, more: &[&str]) -> Field {
    Field::start_with(&[&["--npm-registry", registry.url.as_str()], more].concat()).await
}

/// Waits until the registry is asked for what it holds back. What is under way meanwhile must not
/// end.
async fn asked(registry: &Registry, under_way: impl Future<Output = Option<Answer>>) {
    let asked = async {
        // The test's own limit of time ends it.
        while !registry.is_asked_again() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = asked => {}
        early = under_way => panic!("nothing was waited for: {:?}", early.map(|answer| answer.text)),
    }
}

/// Takes both places for deploys of one organization, which has them while nobody else waits.
async fn hold<'a>(server: &'a Server, registry: &Registry) -> Vec<Deploying<'a>> {
    let mut held: Vec<Deploying<'a>> = Vec::new();
    for _ in 0..2 {
        let mut deploying: Deploying<'a> = Box::pin(deploy(server, "held"));
        asked(registry, async { Some(deploying.as_mut().await) }).await;
        held.push(deploying);
    }
    held
}

#[tokio::test]
async fn deploys_of_one_organization_leave_places_to_others_and_only_so_many_wait() {
    let registry = Registry::of(&[("held", HELD)]);
    let field = field(&registry, &[]).await;
    let server = &field.server;
    let other = server
        .post("/workspaces", &json!({ "name": "other", "email": "o@example.com" }))
        .await
        .data();
    let key = other["api_key"].as_str().expect("a key");
    let mut held = hold(server, &registry).await;
    let mut waiting: FuturesUnordered<_> = (0..9).map(|_| deploy(server, "held")).collect();
    let refused = waiting.next().await.expect("one of them");
    assert_eq!(
        (refused.refusal(), &refused.json["details"]["waiting_max"]),
        ((429, "deploys_waiting"), &json!(8)),
        "{}",
        refused.text
    );
    let plain = json!({ "component_code": PLAIN });
    let mut neighbours: FuturesUnordered<_> =
        (0..9).map(|_| server.call_as(key, Method::POST, "/sources", Some(&plain))).collect();
    // So all of the others wait now, behind those that came before.
    assert_eq!(neighbours.next().await.expect("one of them").refusal(), (429, "deploys_waiting"));
    // One of those that have a place ends: its process breaks down, and once more when it is asked
    // again.
    let before = workers(server, 4).await;
    kill(before[0]);
    asked(&registry, async { Some(held[0].as_mut().await) }).await;
    let again = workers(server, 4).await;
    kill(*again.iter().find(|pid| !before.contains(pid)).expect("a new one"));
    assert_eq!(held.remove(0).await.refusal(), (422, "bundle_failed"));
    assert_eq!(
        neighbours.next().await.expect("one of them").status,
        200,
        "the organization that has no place is next"
    );
    registry.let_go();
    assert_eq!(held.remove(0).await.status, 200);
    while let Some(deployed) = waiting.next().await {
        assert_eq!(deployed.status, 200, "{}", deployed.text);
    }
    field.healthy().await;
}

#[tokio::test]
async fn addresses_that_do_not_answer_take_one_place_of_an_organization() {
    let registry = Registry::of(&[("held", HELD)]);
    let field =
        field(&registry, &["--egress-allow", registry.url.trim_start_matches("http://")]).await;
    let source = json!({ "component_url": format!("{}/held", registry.url) });
    let mut slow: FuturesUnordered<_> =
        (0..3).map(|_| field.server.post("/sources", &source)).collect();
    asked(&registry, slow.next()).await;
    let deployed = tokio::select! {
        deployed = field.server.source(PLAIN, json!({})) => deployed,
        early = slow.next() => panic!("nothing was waited for: {:?}", early.map(|answer| answer.text)),
    };
    assert_eq!(deployed["active"], true);
    assert!(!registry.is_asked_again(), "the others wait");
    registry.let_go();
    while let Some(refused) = slow.next().await {
        assert_eq!(refused.status, 422, "{}", refused.text);
    }
}

/// An archive of files, with the names before them that long ones need.
fn tree(files: &[(&str, &str)]) -> Vec<u8> {
    let mut packed =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        packed.append_data(&mut header, path, text.as_bytes()).expect("packs");
    }
    packed.into_inner().and_then(flate2::write::GzEncoder::finish).expect("packs")
}

async fn upload(server: &Server, name: &str, archive: &[u8]) -> Answer {
    let request = server
        .raw(Method::POST, &format!("/v1/registries?name={name}"))
        .bearer_auth(&server.api_key);
    answer(request.header("content-type", "application/gzip").body(archive.to_vec())).await
}

fn component(key: &str) -> String {
    format!(
        "export default {{ key: '{key}', name: 'x', version: '0.0.1', type: 'source', run() {{}} }};"
    )
}

#[tokio::test]
async fn uploads_and_looks_at_registries_take_turns_and_what_was_read_is_known() {
    let registry = Registry::of(&[("held", HELD)]);
    let field = field(&registry, &[]).await;
    let server = &field.server;
    let files = [
        ("components/acme/sources/one/one.mjs", component("acme-one")),
        ("components/acme/sources/two/two.mjs", component("acme-two")),
    ];
    let archive = tree(&files.each_ref().map(|(path, text)| (*path, text.as_str())));
    assert_eq!(upload(server, "ours", &archive).await.status, 200);
    let look =
        |key: &'static str| async move { server.get(&format!("/components/registry/{key}")).await };
    let shown = look("acme-one").await;
    let held = hold(server, &registry).await;
    assert_eq!(look("acme-one").await.data(), shown.data(), "no process is needed for it");
    let (server, archive) = (&field.server, &archive);
    let mut uploads: FuturesUnordered<_> =
        (0..6).map(|n| async move { upload(server, &format!("r{n}"), archive).await }).collect();
    // One is at work, and waits for a place to be read in; four wait for it.
    assert_eq!(uploads.next().await.expect("one of them").refusal(), (429, "deploys_waiting"));
    // One more than may wait: however far the upload at work has come, one is refused.
    let mut looks: FuturesUnordered<_> = (0..9).map(|_| look("acme-two")).collect();
    assert_eq!(looks.next().await.expect("one of them").refusal(), (429, "deploys_waiting"));
    registry.let_go();
    let mut shown_count = 0;
    while let Some(shown) = looks.next().await {
        match shown.refusal() {
            (429, "deploys_waiting") => {}
            _ => {
                assert_eq!(
                    (shown.status, &shown.json["data"]["version"]),
                    (200, &json!("0.0.1")),
                    "{}",
                    shown.text
                );
                shown_count += 1;
            }
        }
    }
    assert!(
        (7..=8).contains(&shown_count),
        "{shown_count} of the organization waited, or 7 beside its upload"
    );
    while let Some(stored) = uploads.next().await {
        assert_eq!(stored.status, 200, "{}", stored.text);
    }
    for deployed in held {
        assert_eq!(deployed.await.status, 200);
    }
    field.healthy().await;
}

#[tokio::test]
async fn an_archive_s_long_names_are_read_and_endless_ones_refused_unread() {
    const NAME_BYTES: usize = 64 << 20;
    let field = Field::start().await;
    let (path, code) =
        (format!("components/acme/{}x.mjs", "folder/".repeat(40)), component("acme-one"));
    let stored = upload(
        &field.server,
        "long",
        &tree(&[("components/acme/sources/one/one.mjs", &code), (&path, "")]),
    )
    .await;
    assert_eq!(
        (stored.status, &stored.json["data"]["file_count"]),
        (200, &json!(2)),
        "{}",
        stored.text
    );
    for kind in [
        tar::EntryType::GNULongName,
        tar::EntryType::GNULongLink,
        tar::EntryType::XHeader,
        tar::EntryType::XGlobalHeader,
    ] {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(NAME_BYTES as u64);
        header.set_cksum();
        packed.write_all(header.as_bytes()).expect("packs");
        for _ in 0..NAME_BYTES >> 20 {
            packed.write_all(&[b'a'; 1 << 20]).expect("packs");
        }
        let archive = packed.finish().expect("packs");
        let before = most_memory_kib(field.server.pid());
        let refused = upload(&field.server, "endless", &archive).await;
        assert_eq!(refused.refusal(), (422, "invalid_archive"), "{}", refused.text);
        assert!(
            refused.json["error"]
                .as_str()
                .is_some_and(|said| said.contains("67108864 bytes; allowed are 65536")),
            "{}",
            refused.text
        );
        // The kernel adds up what each CPU counted only now and then: the most may be told as
        // a little less later.
        let taken = most_memory_kib(field.server.pid()).saturating_sub(before);
        assert!(taken < 32 << 10, "{} bytes took {taken} KiB", archive.len());
    }
    field.healthy().await;
}

/// The most memory that a process had.
fn most_memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("reads");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[tokio::test]
async fn packages_that_cannot_be_unpacked_are_refused_by_their_name() {
    let file = tar::EntryType::Regular;
    let registry = Registry::of(&[
        ("file-first", &[(file, "package/a", &b"x"[..]), (file, "package/a/b.js", b"y")]),
        ("folder-first", &[(file, "package/a/b.js", b"y"), (file, "package/a", b"x")]),
    ]);
    let field = field(&registry, &[]).await;
    for (package, says) in [
        ("file-first", "`a/b.js` is a file and a folder"),
        ("folder-first", "`a` is a file and a folder"),
    ] {
        let refused = deploy(&field.server, package).await;
        assert_eq!(refused.refusal(), (422, "package_unpackable"), "{}", refused.text);
        let said = refused.json["error"].as_str().unwrap_or_default();
        assert!(
            said.contains(&format!("`{package}@1.0.0`"))
                && said.contains(says)
                && said.contains("another version"),
            "{said}"
        );
    }
    assert_eq!(names_left(&field), Value::Null);
}

/// Once there was no limit to how deep a package may be, and removing it took a descriptor for each
/// folder.
#[tokio::test]
async fn what_is_left_of_a_package_is_removed_however_deep_it_is() {
    // More than a process that fetches may have descriptors.
    const DEPTH: usize = 1_100;
    let registry = Registry::of(&[("held", HELD)]);
    registry.let_go();
    // Of the test's own user, who made what is left.
    let server = Server::start_with(&["--npm-registry", &registry.url]).await;
    // No process has so large a number.
    let left = server.data_dir().join("cache/packages/.part-4194999-0");
    std::fs::create_dir_all(left.join("d/".repeat(DEPTH))).expect("makes");
    assert_eq!(deploy(&server, "held").await.status, 200);
    assert!(!left.exists(), "{}", server.log());
}

/// What of packages is in the cache that should not be.
fn names_left(field: &Field) -> Value {
    let all =
        std::fs::read_dir(field.server.data_dir().join("cache/packages")).expect("reads").flatten();
    all.map(|entry| entry.file_name().to_string_lossy().into_owned())
        .find(|name| name.contains("first"))
        .map_or(Value::Null, Value::from)
}
