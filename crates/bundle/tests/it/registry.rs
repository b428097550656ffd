//! An npm registry of the test's own, that keeps what it was asked.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};

use crate::{NO_REGISTRY, config, exported, files};
use millrace_bundle::{Bundle, BundleError, BundleRequest, Bundler, BundlerConfig};
use millrace_model::npm_registry::NpmRegistry;

/// A registry that answers until the test ends.
pub(crate) struct Registry {
    pub(crate) url: String,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    documents: BTreeMap<String, Value>,
    archives: BTreeMap<String, Vec<u8>>,
    /// Where paths lead on to.
    moved: BTreeMap<String, String>,
    /// Path and credentials of each request.
    asked: Vec<(String, Option<String>)>,
}

impl Registry {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Mutex::new(Shared::default()));
        let answers = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that went away is no matter.
                let _ = answer(&stream, &answers);
            }
        });
        Self { url, shared }
    }

    /// Publishes a version, whose `dist` the test may change.
    pub(crate) fn add(&self, manifest: &Value, held: &[(&str, &str)], dist: &Value) {
        let archive = archive(manifest, held);
        let text = |field: &str| manifest[field].as_str().expect("a text").to_owned();
        let (name, version) = (text("name"), text("version"));
        let path = format!("/-/{}-{version}.tgz", name.replace('/', "+"));
        let sum = STANDARD.encode(Sha512::digest(&archive));
        let mut release = json!({ "dist": { "tarball": format!("{}{path}", self.url), "integrity": format!("sha512-{sum}") } });
        for (field, value) in dist.as_object().into_iter().flatten() {
            release["dist"][field] = value.clone();
        }
        let mut shared = self.shared.lock().expect("a lock");
        shared.archives.insert(path, archive);
        let document = shared
            .documents
            .entry(name)
            .or_insert_with(|| json!({ "dist-tags": {}, "versions": {} }));
        document["dist-tags"]["latest"] = version.clone().into();
        document["versions"][version] = release;
    }

    /// Sends on what asks for a path.
    pub(crate) fn moves(&self, path: &str, to: &str) {
        self.shared.lock().expect("a lock").moved.insert(path.into(), to.into());
    }

    pub(crate) fn change_archive(&self, path: &str, change: impl FnOnce(&[u8]) -> Vec<u8>) {
        let mut shared = self.shared.lock().expect("a lock");
        let archive = shared.archives.get_mut(path).expect("an archive");
        *archive = change(archive);
    }

    /// Path and credentials of each request since this was asked last.
    pub(crate) fn asked(&self) -> Vec<(String, Option<String>)> {
        std::mem::take(&mut self.shared.lock().expect("a lock").asked)
    }

    /// Bundles code with nothing in the cache.
    pub(crate) async fn bundle(&self, code: &str) -> Result<Bundle, BundleError> {
        let cache = tempfile::tempdir().expect("a folder");
        bundle_at(cache.path(), NpmRegistry::new(&self.url, None), code).await
    }

    /// The default export of code that imports packages.
    pub(crate) async fn exported(&self, code: &str) -> Value {
        exported(&self.bundle(code).await.expect("bundles"))
    }
}

pub(crate) async fn bundle_at(
    cache: &Path,
    registry: NpmRegistry,
    code: &str,
) -> Result<Bundle, BundleError> {
    Bundler::here(BundlerConfig { registry, ..config(cache.into(), NO_REGISTRY) })
        .expect("a bundler")
        .bundle(BundleRequest { entry: files(&[("a.mjs", code)]), lock: None })
        .await
}

fn answer(stream: &TcpStream, shared: &Mutex<Shared>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut credentials = None;
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("authorization")
        {
            credentials = Some(value.to_owned());
        }
    }
    let mut shared = shared.lock().expect("a lock");
    shared.asked.push((path.clone(), credentials));
    let name = path.trim_start_matches('/').replace("%2f", "/");
    let document = || shared.documents.get(&name).map(|document| document.to_string().into_bytes());
    let (head, body) = match (shared.moved.get(&path), shared.archives.get(&path).cloned()) {
        (Some(to), _) => (format!("302 Found\r\nlocation: {to}"), Vec::new()),
        (None, found) => match found.or_else(document) {
            Some(body) => ("200 OK".to_owned(), body),
            None => ("404 Not Found".to_owned(), Vec::new()),
        },
    };
    drop(shared);
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)?;
    stream.flush()?;
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.read_to_end(&mut Vec::new()).map(drop)
}

fn archive(manifest: &Value, held: &[(&str, &str)]) -> Vec<u8> {
    let mut packed =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let manifest = manifest.to_string();
    for (path, text) in std::iter::once(&("package.json", &*manifest)).chain(held) {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        packed.append_data(&mut header, format!("package/{path}"), text.as_bytes()).expect("packs");
    }
    packed.into_inner().and_then(flate2::write::GzEncoder::finish).expect("packs")
}
