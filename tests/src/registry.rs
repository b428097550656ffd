//! An npm registry of the test's own: packages of a few files each, in the versions that the test
//! names.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Map, Value, json};
use sha2::Digest as _;

use crate::DEADLINE;

/// A version of a package: its `package.json` (with its name and version), and its other files.
pub struct Release<'a> {
    /// The manifest.
    pub manifest: Value,
    /// Contents by path.
    pub files: &'a [(&'a str, &'a [u8])],
}

/// The registry; it answers until the test ends.
pub struct Registry {
    /// Its address, for `--npm-registry`.
    pub url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
enum State {
    #[default]
    Answers,
    /// Connections are taken, and get no answer.
    Holds(Vec<TcpStream>),
    /// Connections are closed without an answer.
    Away,
}

impl Registry {
    /// A registry of these releases; of each package, the last one is `latest`.
    pub fn of(releases: &[Release<'_>]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let mut documents: BTreeMap<String, Value> = BTreeMap::new();
        let mut answers = BTreeMap::new();
        for Release { manifest, files } in releases {
            let text = |field: &str| {
                manifest[field].as_str().unwrap_or_else(|| panic!("a {field}")).to_owned()
            };
            let (name, version) = (text("name"), text("version"));
            let archive = archive(manifest, files);
            let sum =
                base64::engine::general_purpose::STANDARD.encode(sha2::Sha512::digest(&archive));
            let path = format!("/-/{}-{version}.tgz", name.replace('/', "+"));
            let mut release = json!({ "dist": { "tarball": format!("{url}{path}"), "integrity": format!("sha512-{sum}") } });
            for field in ["engines", "os", "cpu", "deprecated"] {
                release[field] = manifest[field].clone();
            }
            let document = documents
                .entry(name)
                .or_insert_with(|| json!({ "dist-tags": {}, "versions": Map::new() }));
            document["dist-tags"]["latest"] = version.clone().into();
            document["versions"][version] = release;
            answers.insert(path, archive);
        }
        for (name, document) in documents {
            answers.insert(
                format!("/{}", name.replace('/', "%2f")),
                document.to_string().into_bytes(),
            );
        }
        let answers = Arc::new(answers);
        let state = Arc::new(Mutex::new(State::default()));
        let asked = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                match &mut *asked.lock().expect("a lock") {
                    State::Answers => {}
                    State::Holds(held) => {
                        held.push(stream);
                        continue;
                    }
                    State::Away => continue,
                }
                let answers = answers.clone();
                // A client that went away is no matter.
                std::thread::spawn(move || answer(stream, &answers));
            }
        });
        Self { url, state }
    }

    /// Takes connections and answers none, until it goes away or comes back.
    pub fn holds(&self) {
        self.becomes(State::Holds(Vec::new()));
    }

    /// Waits until a connection waits for an answer.
    pub async fn until_held(&self) {
        let deadline = Instant::now() + DEADLINE;
        while self.held() == 0 {
            assert!(Instant::now() < deadline, "the registry was not asked");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn held(&self) -> usize {
        match &*self.state.lock().expect("a lock") {
            State::Holds(held) => held.len(),
            State::Answers | State::Away => 0,
        }
    }

    /// Closes every connection without an answer, until it comes back.
    pub fn goes_away(&self) {
        self.becomes(State::Away);
    }

    /// Answers again.
    pub fn comes_back(&self) {
        self.becomes(State::Answers);
    }

    fn becomes(&self, state: State) {
        *self.state.lock().expect("a lock") = state;
    }
}

fn answer(mut stream: TcpStream, answers: &BTreeMap<String, Vec<u8>>) -> std::io::Result<()> {
    let (mut head, mut part) = (Vec::new(), [0; 4096]);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut part)? {
            0 => return Ok(()),
            read => head.extend_from_slice(&part[..read]),
        }
    }
    let path = String::from_utf8_lossy(&head).split(' ').nth(1).unwrap_or_default().to_owned();
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

fn archive(manifest: &Value, files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut packed =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let manifest = manifest.to_string();
    for (path, bytes) in std::iter::once(&("package.json", manifest.as_bytes())).chain(files) {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        packed.append_data(&mut header, format!("package/{path}"), *bytes).expect("packs");
    }
    packed.into_inner().and_then(flate2::write::GzEncoder::finish).expect("packs")
}
