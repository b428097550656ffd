//! A server of the test's own that answers as the test says, also without an end.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a peer answers to a request line and head.
pub enum Says {
    /// JSON, with 200.
    Json(String),
    /// Events of a stream, with 200, and then the end of the connection.
    Events(String),
    /// A status, with no body.
    Status(&'static str),
    /// All of an answer, with its status line.
    Raw(Vec<u8>),
    /// A status, and JSON.
    Refuses(&'static str, String),
    /// A status, a media type, and what is called so.
    As(&'static str, &'static str, String),
    /// A status, the beginning of a body, and blanks without an end.
    Endless(&'static str, &'static str),
    /// A status, and header lines without an end.
    EndlessHead(&'static str),
}

/// The most that is sent without an end, bytes: whoever took so much has no bound.
pub const ENDLESS_MAX: usize = 1 << 30;

/// The peer; it answers until the test ends.
pub struct Peer {
    /// Its address, without a slash at the end.
    pub url: String,
    sent: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

impl Peer {
    pub fn start(says: impl Fn(&str) -> Says + Send + Sync + 'static) -> Self {
        Self::with_bodies(move |head, _| says(head))
    }

    /// Answers by the head and the body of a request.
    pub fn with_bodies(says: impl Fn(&str, &str) -> Says + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let peer = Self { url, sent: Arc::default(), requests: Arc::default() };
        let (says, sent, requests) = (Arc::new(says), peer.sent.clone(), peer.requests.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (says, sent, requests) = (says.clone(), sent.clone(), requests.clone());
                std::thread::spawn(move || answer(stream, &*says, &sent, &requests));
            }
        });
        peer
    }

    /// The most bytes that one answer without an end came to before the other side had enough. It
    /// starts again from 0.
    pub fn taken(&self) -> usize {
        self.sent.swap(0, Ordering::SeqCst)
    }

    /// Requests so far.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn answer(
    mut stream: TcpStream,
    says: &(dyn Fn(&str, &str) -> Says + Sync),
    sent: &AtomicUsize,
    requests: &AtomicUsize,
) {
    let mut bytes = Vec::new();
    let mut piece = [0; 64 << 10];
    let (head, body) = loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|l| {
                l.to_ascii_lowercase().strip_prefix("content-length:").map(str::to_owned)
            });
            if bytes.len() >= end + 4 + length.and_then(|l| l.trim().parse().ok()).unwrap_or(0) {
                break (head, String::from_utf8_lossy(&bytes[end + 4..]).into_owned());
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    };
    requests.fetch_add(1, Ordering::SeqCst);
    let whole = |status: &str, kind: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    // A client that went away is what some tests are about.
    let _ = match says(&head, &body) {
        Says::Json(body) => stream.write_all(whole("200 OK", "application/json", &body).as_bytes()),
        Says::Raw(bytes) => stream.write_all(&bytes),
        Says::Events(body) => {
            stream.write_all(whole("200 OK", "text/event-stream", &body).as_bytes())
        }
        Says::Refuses(status, body) => {
            stream.write_all(whole(status, "application/json", &body).as_bytes())
        }
        Says::As(status, kind, body) => stream.write_all(whole(status, kind, &body).as_bytes()),
        Says::Status(status) => stream.write_all(whole(status, "application/json", "").as_bytes()),
        Says::Endless(status, start) => {
            // Who asks for a stream gets one.
            let stream_kind = "text/event-stream";
            let kind = if head.contains(stream_kind) { stream_kind } else { "application/json" };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{start}"
            );
            without_end(&mut stream, &head, b" ", sent)
        }
        Says::EndlessHead(status) => without_end(
            &mut stream,
            &format!("HTTP/1.1 {status}\r\n"),
            b"x-more: 0123456789\r\n",
            sent,
        ),
    };
}

/// The start, and then the piece again and again.
fn without_end(
    stream: &mut TcpStream,
    start: &str,
    piece: &[u8],
    sent: &AtomicUsize,
) -> std::io::Result<()> {
    stream.write_all(start.as_bytes())?;
    let pieces = piece.repeat((64 << 10) / piece.len());
    let mut count = 0;
    while count < ENDLESS_MAX {
        stream.write_all(&pieces)?;
        count += pieces.len();
        sent.fetch_max(count, Ordering::SeqCst);
    }
    Ok(())
}
