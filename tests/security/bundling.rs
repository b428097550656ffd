//! Bundling of untrusted code and packages: from a registry of the test's, with packages that try
//! to get out, take all memory, or never arrive.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};

use base64::Engine as _;
use millrace_tests::{Answer, Server};
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::support::Field;

/// What a package's archive has: a kind, a path as an attacker writes it, and what it holds or
/// leads to.
pub(crate) type Entry<'a> = (tar::EntryType, &'a str, &'a [u8]);

const FILE: tar::EntryType = tar::EntryType::Regular;

/// A registry of packages, each with one version. What is asked of `held` is answered once it is
/// let go.
pub(crate) struct Registry {
    pub(crate) url: String,
    gate: Arc<(Mutex<Gate>, Condvar)>,
}

#[derive(Default)]
struct Gate {
    is_open: bool,
    /// How many wait before it.
    waiting: usize,
}

impl Registry {
    pub(crate) fn of(packages: &[(&str, &[Entry<'_>])]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let mut answers = BTreeMap::new();
        for (name, entries) in packages {
            let archive = archive(entries);
            let sum =
                base64::engine::general_purpose::STANDARD.encode(sha2::Sha512::digest(&archive));
            let dist = json!({ "tarball": format!("{url}/{name}.tgz"), "integrity": format!("sha512-{sum}") });
            let document = json!({ "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": { "dist": dist } } });
            answers.insert(format!("/{name}"), document.to_string().into_bytes());
            answers.insert(format!("/{name}.tgz"), archive);
        }
        let gate = Arc::new((Mutex::new(Gate::default()), Condvar::new()));
        let (opened, answers) = (gate.clone(), Arc::new(answers));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (opened, answers) = (opened.clone(), answers.clone());
                // A client that went away is no matter.
                std::thread::spawn(move || answer(stream, &answers, &opened));
            }
        });
        Self { url, gate }
    }

    /// Whether somebody waits, who did not before.
    pub(crate) fn is_asked_again(&self) -> bool {
        std::mem::take(&mut self.gate.0.lock().expect("a lock").waiting) > 0
    }

    /// Lets go what was held, and holds nothing more.
    pub(crate) fn let_go(&self) {
        self.gate.0.lock().expect("a lock").is_open = true;
        self.gate.1.notify_all();
    }
}

fn answer(
    mut stream: TcpStream,
    answers: &BTreeMap<String, Vec<u8>>,
    (gate, changed): &(Mutex<Gate>, Condvar),
) -> std::io::Result<()> {
    let (mut head, mut part) = (Vec::new(), [0; 4096]);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut part)? {
            0 => return Ok(()),
            read => head.extend_from_slice(&part[..read]),
        }
    }
    let path = String::from_utf8_lossy(&head).split(' ').nth(1).unwrap_or_default().to_owned();
    if path == "/held" {
        let mut gate = gate.lock().expect("a lock");
        gate.waiting += 1;
        drop(changed.wait_while(gate, |gate| !gate.is_open).expect("a lock"));
    }
    let nothing = Vec::new();
    let (status, body) =
        answers.get(&path).map_or(("404 Not Found", &nothing), |body| ("200 OK", body));
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)
}

pub(crate) fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for (kind, name, held) in entries {
        let mut header = tar::Header::new_ustar();
        // A name that is set as bytes is not looked at.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o6777);
        let body = if kind.is_file() { *held } else { &[] };
        header.set_size(body.len() as u64);
        if !kind.is_file() {
            header.set_link_name(std::str::from_utf8(held).expect("text")).expect("fits");
        }
        header.set_cksum();
        packed.write_all(header.as_bytes()).expect("packs");
        packed.write_all(body).expect("packs");
        packed.write_all(&vec![0; body.len().next_multiple_of(512) - body.len()]).expect("packs");
    }
    packed.write_all(&[0; 1024]).expect("packs");
    packed.finish().expect("packs")
}

fn importing(package: &str) -> Value {
    json!({ "component_code": format!("import x from '{package}'; export default {{ name: 'a', version: '1', run() {{ return x; }} }};") })
}

pub(crate) async fn deploy(server: &Server, package: &str) -> Answer {
    server.post("/sources", &importing(package)).await
}

/// Processes of the server's that bundle or fetch, once there are so many.
pub(crate) async fn workers(server: &Server, count: usize) -> Vec<u32> {
    for _ in 0..3_000 {
        let all = std::fs::read_dir("/proc")
            .expect("reads")
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let mut found: Vec<u32> = all.filter(|pid| is_worker(*pid, server.pid())).collect();
        if found.len() == count {
            // Numbers of processes begin anew once they are used up.
            found.sort_by_key(|pid| (started(*pid), *pid));
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("there were never {count} processes that bundle: {}", server.log());
}

/// When a process was started, in ticks of the kernel's clock: field 22 of its line
/// (proc_pid_stat(5)), counted behind its name, which may hold anything.
fn started(pid: u32) -> u64 {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let behind = line.rsplit_once(") ").map_or("", |(_, behind)| behind);
    behind.split(' ').nth(19).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

fn is_worker(pid: u32, server: u32) -> bool {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.windows(13).any(|part| part == b"bundle-worker")
        && number(pid, "PPid") == Some(u64::from(server))
}

/// A line of /proc/<pid>/status, whose number may be hexadecimal.
fn number(pid: u32, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?.trim();
    u64::from_str_radix(value, if name.starts_with("Cap") { 16 } else { 10 }).ok()
}

fn environment(pid: u32) -> String {
    String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/environ")).expect("reads"))
        .into_owned()
}

fn open(pid: u32) -> Vec<PathBuf> {
    let all = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("reads").flatten();
    all.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect()
}

/// The limit of that name, as the kernel lists it.
fn limit(pid: u32, name: &str) -> String {
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).expect("reads");
    limits
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.split_whitespace().nth(1))
        .expect("a limit")
        .to_owned()
}

/// A deploy under way.
pub(crate) type Deploying<'a> = Pin<Box<dyn Future<Output = Answer> + 'a>>;

/// Starts a deploy that waits for its package; gives it, and the processes that bundle and fetch
/// for it, once these are at work.
async fn begin<'a>(server: &'a Server, registry: &Registry) -> (Deploying<'a>, Vec<u32>) {
    let mut deploying: Deploying<'a> = Box::pin(deploy(server, "held"));
    let found = at_work(server, registry, &mut deploying).await;
    (deploying, found)
}

async fn at_work(server: &Server, registry: &Registry, deploying: &mut Deploying<'_>) -> Vec<u32> {
    let asked = async {
        // The test's own limit of time ends it.
        while !registry.is_asked_again() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        workers(server, 2).await
    };
    tokio::select! {
        found = asked => found,
        early = deploying => panic!("nothing was waited for: {}", early.text),
    }
}

pub(crate) const HELD: &[Entry<'_>] = &[(FILE, "package/index.js", b"module.exports = 7;")];

#[tokio::test]
async fn its_processes_have_walls_limits_and_no_secrets() {
    let registry = Registry::of(&[("held", HELD)]);
    let mut field = Field::at_rest(&["--npm-registry", &registry.url]);
    for (name, value) in [
        ("MILLRACE_LOG", "info"),
        ("SECRET_OF_THE_OPERATOR", "hidden"),
        ("https_proxy", "http://127.0.0.1:9"),
        ("NO_PROXY", "127.0.0.1"),
    ] {
        field.server.set_env(name, value);
    }
    field.launch().await;
    assert!(field.server.log().contains("bundling is walled in"), "{}", field.server.log());
    let (deploying, found) = begin(&field.server, &registry).await;
    for pid in &found {
        let told = ["NoNewPrivs", "Seccomp", "CapEff", "CapPrm"].map(|name| number(*pid, name));
        assert_eq!(told, [Some(1), Some(2), Some(0), Some(0)], "of {pid}");
        assert!(
            !environment(*pid).contains("hidden") && !environment(*pid).contains("MILLRACE"),
            "{}",
            environment(*pid)
        );
        assert_eq!(
            [
                limit(*pid, "Max core file size"),
                limit(*pid, "Max locked memory"),
                limit(*pid, "Max open files")
            ],
            ["0", "0", "1024"]
        );
        assert!(
            limit(*pid, "Max data size").parse::<u64>().is_ok_and(|bytes| bytes <= 4 << 30),
            "{}",
            limit(*pid, "Max data size")
        );
        let files: Vec<PathBuf> =
            open(*pid).into_iter().filter(|path| path.is_absolute()).collect();
        assert!(files.is_empty(), "it has files open: {files:?}");
    }
    let (bundles, fetches) = (found[0], found[1]);
    assert_eq!(
        (environment(bundles).as_str(), limit(bundles, "Max file size").as_str()),
        ("", "0"),
        "it reads strangers' code, and needs nothing"
    );
    assert!(
        open(bundles).iter().all(|path| path.to_string_lossy().starts_with("pipe:")),
        "{:?}",
        open(bundles)
    );
    assert!(
        environment(fetches).contains("https_proxy"),
        "the operator's way to the network: {}",
        environment(fetches)
    );
    registry.let_go();
    assert_eq!(deploying.await.status, 200);
    workers(&field.server, 0).await;
    field.healthy().await;
}

#[tokio::test]
async fn without_walls_it_has_its_limits_all_the_same() {
    let registry = Registry::of(&[("held", HELD)]);
    let mut server =
        Server::unprivileged_at_rest(&["--sandbox", "off", "--npm-registry", &registry.url]);
    server.set_env("SECRET_OF_THE_OPERATOR", "hidden");
    server.launch().await;
    assert!(!server.log().contains("bundling is walled in"), "{}", server.log());
    let (deploying, found) = begin(&server, &registry).await;
    assert_eq!([number(found[0], "NoNewPrivs"), number(found[0], "Seccomp")], [Some(1), Some(0)]);
    assert_eq!(
        (environment(found[0]).as_str(), limit(found[0], "Max core file size").as_str()),
        ("", "0")
    );
    registry.let_go();
    assert_eq!(deploying.await.status, 200);
}

#[tokio::test]
async fn packages_and_sources_reach_nothing_outside() {
    let js = |code: &'static str| (FILE, "package/index.js", code.as_bytes());
    let registry = Registry::of(&[
        ("by-path", &[js("module.exports = require('../../../../../../../../../../../../etc/passwd');")]),
        ("by-root", &[js("import x from '/etc/passwd'; export default x;")]),
        ("by-address", &[js("import x from 'file:///etc/passwd'; export default x;")]),
        ("by-proc", &[js("export { default } from '/proc/self/environ';")]),
        ("by-main", &[(FILE, "package/package.json", br#"{ "name": "by-main", "main": "../../../../../../../../../../etc/passwd" }"#)]),
        ("by-exports", &[(FILE, "package/package.json", br#"{ "name": "by-exports", "exports": "./../../../../../../../../../etc/passwd" }"#)]),
        ("by-link", &[js("export { default } from './link.json';"), (tar::EntryType::Symlink, "package/link.json", b"/etc/passwd")]),
        ("by-hard-link", &[js("export { default } from './link.json';"), (tar::EntryType::Link, "package/link.json", b"/etc/passwd")]),
        (
            "by-folder",
            &[(tar::EntryType::Symlink, "package/etc", b"/etc"), (FILE, "package/etc/millrace-was-here", b"x"), js("export { default } from './etc/passwd';")],
        ),
        ("by-climbing", &[(FILE, "package/../../../../../climbed", b"x"), (FILE, "/climbed", b"x"), js("export { default } from '../../../climbed';")]),
        ("by-another", &[js("export { default } from '../../../by-link@1.0.0/node_modules/by-link/index.js';")]),
    ]);
    let mut field = Field::at_rest(&["--npm-registry", &registry.url]);
    field.launch().await;
    // What lies beside the server's own folder and would be found by whoever looks upwards.
    let above = field.server.data_dir();
    let above = above.parent().expect("a folder");
    std::fs::write(above.join("package.json"), r#"{ "type": "commonjs", "sideEffects": false }"#)
        .expect("writes");
    std::fs::create_dir_all(above.join("node_modules/by-neighbour")).expect("makes");
    std::fs::write(above.join("node_modules/by-neighbour/index.js"), "module.exports = 'root:';")
        .expect("writes");
    for package in [
        "by-path",
        "by-root",
        "by-address",
        "by-proc",
        "by-main",
        "by-exports",
        "by-link",
        "by-hard-link",
        "by-folder",
        "by-climbing",
        "by-neighbour",
        "/etc/passwd",
        "../../../../../../../../etc/passwd",
        "file:///etc/passwd",
        "/proc/self/environ",
        "../packages/by-link@1.0.0/node_modules/by-link/index.js",
    ] {
        let refused = deploy(&field.server, package).await;
        // A `require` of what is not there is a matter of its run, as in Node.
        let code = refused.json["code"].as_str().unwrap_or("none").to_owned();
        assert!(
            refused.status == 422 && !refused.text.contains("root:") && code != "internal",
            "{package}: {}",
            refused.text
        );
    }
    field.server.post("/sources", &importing("by-another")).await;
    let cache = field.server.data_dir().join("cache/packages");
    assert!(
        names(&cache).iter().all(|name| name.ends_with("@1.0.0") || name == "component"),
        "{:?}",
        names(&cache)
    );
    assert!(
        !Path::new("/etc/millrace-was-here").exists()
            && !above.join("climbed").exists()
            && !cache.join("climbed").exists()
    );
    field.healthy().await;
}

fn names(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder)
        .expect("reads")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}

#[tokio::test]
async fn code_that_takes_all_memory_ends_its_own_bundling() {
    // Each small enough to be bundled; one alone that is larger would lie beside the bundle,
    // unread.
    let part = [b"module.exports = [".as_slice(), &vec![b','; 15 << 20], b"];"].concat();
    let names: Vec<String> = (0..6).map(|n| format!("commas-{n}")).collect();
    let all: String =
        names.iter().map(|name| format!("exports['{name}'] = require('{name}');")).collect();
    let all = format!("exports.default = 1; {all}");
    let file = [(FILE, "package/index.js", part.as_slice())];
    let needs: serde_json::Map<String, serde_json::Value> =
        names.iter().map(|name| (name.clone(), json!("1.0.0"))).collect();
    let manifest =
        json!({ "name": "commas", "version": "1.0.0", "dependencies": needs }).to_string();
    let of_all = [
        (FILE, "package/package.json", manifest.as_bytes()),
        (FILE, "package/index.js", all.as_bytes()),
    ];
    let mut packages: Vec<(&str, &[Entry<'_>])> =
        names.iter().map(|name| (name.as_str(), file.as_slice())).collect();
    packages.extend([("commas", of_all.as_slice()), ("good", HELD)]);
    let registry = Registry::of(&packages);
    let mut field = Field::at_rest(&["--npm-registry", &registry.url]);
    field.launch().await;
    let refused = deploy(&field.server, "commas").await;
    assert_eq!(
        (refused.status, &refused.json["code"]),
        (422, &json!("bundle_out_of_memory")),
        "{}",
        refused.text
    );
    let message = refused.json["error"].as_str().unwrap_or("");
    assert!(
        message.contains("2048 MiB") && message.contains("the limit") && message.contains("import"),
        "{message}"
    );
    field.healthy().await;
    assert_eq!(deploy(&field.server, "good").await.status, 200);
    workers(&field.server, 0).await;
}

#[tokio::test]
async fn processes_that_are_killed_leave_the_server_and_the_next_deploy_alone() {
    let registry = Registry::of(&[("held", HELD)]);
    let mut field = Field::at_rest(&["--npm-registry", &registry.url]);
    field.launch().await;
    for nth in [0, 1] {
        let (mut deploying, found) = begin(&field.server, &registry).await;
        kill(found[nth]);
        // It is asked once more, by new ones.
        let again = at_work(&field.server, &registry, &mut deploying).await;
        kill(again[nth]);
        let refused = deploying.await;
        assert_eq!(
            (refused.status, &refused.json["code"]),
            (422, &json!("bundle_failed")),
            "{}",
            refused.text
        );
        assert!(
            refused.text.contains("broke down") && refused.text.contains("signal: 9"),
            "{}",
            refused.text
        );
        field.healthy().await;
    }
    registry.let_go();
    assert_eq!(deploy(&field.server, "held").await.status, 200);
    workers(&field.server, 0).await;
}

pub(crate) fn kill(pid: u32) {
    assert!(
        std::process::Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status()
            .expect("signals")
            .success()
    );
}
