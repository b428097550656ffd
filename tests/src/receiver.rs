//! Receiver of webhooks that answers as the test says.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What it does with a request.
#[derive(Clone, Debug)]
pub enum Does {
    /// Answers with a status line and head, such as `200 OK` and `location: /elsewhere`.
    Says(&'static str, String),
    /// Takes the request and never answers.
    Hangs,
    /// Breaks the connection.
    Resets,
    /// Says 200 and sends bytes without end.
    Floods,
}

impl Does {
    pub fn says(status: &'static str) -> Self {
        Self::Says(status, String::new())
    }
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Got {
    pub head: String,
    pub body: String,
}

impl Got {
    /// A header's value.
    pub fn header(&self, name: &str) -> String {
        let line = self
            .head
            .lines()
            .find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")));
        line.and_then(|line| line.split_once(':'))
            .map_or_else(String::new, |(_, value)| value.trim().to_owned())
    }
}

/// The receiver; gone with this value's process.
pub struct Receiver {
    pub url: String,
    got: Arc<Mutex<Vec<Got>>>,
    does: Arc<Mutex<Does>>,
    sent: Arc<Mutex<usize>>,
}

impl Receiver {
    pub async fn start(does: Does) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let receiver = Self {
            url,
            got: Arc::default(),
            does: Arc::new(Mutex::new(does)),
            sent: Arc::default(),
        };
        let (got, does, sent) =
            (receiver.got.clone(), receiver.does.clone(), receiver.sent.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (got, does, sent) = (got.clone(), does.clone(), sent.clone());
                tokio::spawn(async move {
                    if let Some(request) = read(stream, &got).await {
                        let now = does.lock().expect("no test panicked").clone();
                        act(request, now, &sent).await;
                    }
                });
            }
        });
        receiver
    }

    /// What it does from now on.
    pub fn does(&self, does: Does) {
        *self.does.lock().expect("no test panicked") = does;
    }

    /// Requests that came so far.
    pub fn got(&self) -> Vec<Got> {
        self.got.lock().expect("no test panicked").clone()
    }

    /// Bytes that were sent by flooding, until the other side had enough.
    pub fn flooded(&self) -> usize {
        *self.sent.lock().expect("no test panicked")
    }

    /// Waits for so many requests.
    pub async fn until(&self, count: usize) -> Vec<Got> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let got = self.got();
            if got.len() >= count {
                return got;
            }
            assert!(Instant::now() < deadline, "{} of {count} requests came: {got:?}", got.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// One request of a connection, which is then closed.
async fn read(mut stream: TcpStream, got: &Mutex<Vec<Got>>) -> Option<TcpStream> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let request =
                Got { head, body: String::from_utf8_lossy(&bytes[end + 4..]).into_owned() };
            if request.body.len() >= request.header("content-length").parse().unwrap_or(0) {
                got.lock().expect("no test panicked").push(request);
                return Some(stream);
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

async fn act(mut stream: TcpStream, does: Does, sent: &Mutex<usize>) {
    match does {
        Does::Says(status, head) => {
            let head = if head.is_empty() { head } else { format!("{head}\r\n") };
            // A sender that went away is what some tests are about.
            let _ = stream.write_all(format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 2\r\n{head}\r\nok").as_bytes()).await;
        }
        Does::Hangs => tokio::time::sleep(Duration::from_secs(300)).await,
        Does::Resets => drop(stream),
        Does::Floods => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10485760\r\n\r\n").await;
            for _ in 0..1280 {
                if stream.write_all(&[b'x'; 8192]).await.is_err() {
                    return;
                }
                *sent.lock().expect("no test panicked") += 8192;
            }
        }
    }
}
