//! Small mail server that keeps its mails, or fails in the ways that a test chooses.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::peer::ENDLESS_MAX;

/// What it does with who comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Takes mails.
    Takes,
    /// Says that it is not available.
    Refuses,
    /// Takes the connection and says nothing.
    Hangs,
    /// Takes each mail once [`MailServer::let_one`] says so.
    Waits,
    /// Greets with a line without an end.
    Endless,
}

/// When a server that encrypts does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encrypts {
    AtOnce,
    /// After STARTTLS.
    WhenAsked,
}

/// What [`MailServer::start_encrypted`] demands, as `AUTH PLAIN` sends it: user `u`, password `p`.
const SIGNED_IN: &str = "AUTH PLAIN AHUAcA==";

/// A mail server on a port of its own.
pub struct MailServer {
    pub url: String,
    pub mails: Arc<Mutex<Vec<String>>>,
    mood: Arc<Mutex<Mood>>,
    came: Arc<Mutex<usize>>,
    may: Arc<Semaphore>,
    sent: Arc<Mutex<usize>>,
}

impl MailServer {
    pub async fn start() -> Self {
        Self::start_with(None).await
    }

    /// One that encrypts and demands user `u` with password `p`, and its certificate as PEM, which
    /// is for 127.0.0.1.
    pub async fn start_encrypted(when: Encrypts) -> (Self, String) {
        let made =
            rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions");
        let config = config
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("fits");
        (Self::start_with(Some((TlsAcceptor::from(Arc::new(config)), when))).await, made.cert.pem())
    }

    async fn start_with(tls: Option<(TlsAcceptor, Encrypts)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("smtp://{}", listener.local_addr().expect("an address"));
        let (mails, mood, came) = (
            Arc::new(Mutex::new(Vec::new())),
            Arc::new(Mutex::new(Mood::Takes)),
            Arc::new(Mutex::new(0)),
        );
        let may = Arc::new(Semaphore::new(0));
        let sent = Arc::new(Mutex::new(0));
        let (kept, now, count, turns, most) =
            (mails.clone(), mood.clone(), came.clone(), may.clone(), sent.clone());
        tokio::spawn(async move {
            let mut hanging = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                *count.lock().expect("not poisoned") += 1;
                let mood = *now.lock().expect("not poisoned");
                match mood {
                    Mood::Takes => match &tls {
                        Some((acceptor, when)) => drop(tokio::spawn(converse_encrypted(
                            stream,
                            acceptor.clone(),
                            *when,
                            kept.clone(),
                        ))),
                        None => drop(tokio::spawn(converse(stream, kept.clone(), None))),
                    },
                    Mood::Endless => drop(tokio::spawn(go_on(stream, most.clone()))),
                    Mood::Waits => {
                        drop(tokio::spawn(converse(stream, kept.clone(), Some(turns.clone()))))
                    }
                    Mood::Refuses => drop(tokio::spawn(async move {
                        stream.write_all(b"421 not available\r\n").await
                    })),
                    Mood::Hangs => hanging.push(stream),
                }
            }
        });
        Self { url, mails, mood, came, may, sent }
    }

    /// From the next connection on.
    pub fn mood(&self, mood: Mood) {
        *self.mood.lock().expect("not poisoned") = mood;
    }

    /// Takes one mail of those that wait; it is in `mails` already.
    pub fn let_one(&self) {
        self.may.add_permits(1);
    }

    /// Waits until so many mails have come.
    pub async fn until(&self, count: usize) -> Vec<String> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let mails = self.mails.lock().expect("not poisoned").clone();
            if mails.len() >= count {
                return mails;
            }
            assert!(Instant::now() < deadline, "{} of {count} mails came: {mails:?}", mails.len());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Connections so far.
    pub fn came(&self) -> usize {
        *self.came.lock().expect("not poisoned")
    }

    /// The most bytes of one line without an end that somebody took.
    pub fn taken(&self) -> usize {
        *self.sent.lock().expect("not poisoned")
    }
}

async fn go_on(mut stream: TcpStream, most: Arc<Mutex<usize>>) {
    let (piece, mut count) = (vec![b'x'; 64 << 10], 0);
    let mut done = stream.write_all(b"220 ").await;
    while done.is_ok() && count < ENDLESS_MAX {
        done = stream.write_all(&piece).await;
        count += piece.len();
        let mut most = most.lock().expect("not poisoned");
        *most = count.max(*most);
    }
}

async fn converse_encrypted(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    when: Encrypts,
    mails: Arc<Mutex<Vec<String>>>,
) -> std::io::Result<()> {
    if when == Encrypts::AtOnce {
        return converse(acceptor.accept(stream).await?, mails, None).await;
    }
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 test\r\n").await?;
    let mut line = String::new();
    while stream.read_line(&mut line).await? > 0 {
        if line.starts_with("STARTTLS") {
            stream.write_all(b"220 go on\r\n").await?;
            return talk(acceptor.accept(stream.into_inner()).await?, mails, None).await;
        }
        let reply: &[u8] = if line.starts_with("EHLO") {
            b"250-test\r\n250 STARTTLS\r\n"
        } else {
            b"530 encrypt first\r\n"
        };
        stream.write_all(reply).await?;
        line.clear();
    }
    Ok(())
}

/// `turns`: what each mail needs one of to be taken.
async fn converse<S: AsyncRead + AsyncWrite>(
    stream: S,
    mails: Arc<Mutex<Vec<String>>>,
    turns: Option<Arc<Semaphore>>,
) -> std::io::Result<()> {
    let mut stream = Box::pin(stream);
    stream.write_all(b"220 test\r\n").await?;
    talk(stream, mails, turns).await
}

/// All after the greeting.
async fn talk<S: AsyncRead + AsyncWrite>(
    stream: S,
    mails: Arc<Mutex<Vec<String>>>,
    turns: Option<Arc<Semaphore>>,
) -> std::io::Result<()> {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        let verb = line.get(..4).unwrap_or("").to_ascii_uppercase();
        let reply: &[u8] = match verb.as_str() {
            "DATA" => {
                write.write_all(b"354 go on\r\n").await?;
                let mut mail = String::new();
                while let Some(line) = lines.next_line().await? {
                    if line == "." {
                        break;
                    }
                    mail.push_str(&line);
                    mail.push('\n');
                }
                mails.lock().expect("not poisoned").push(mail);
                if let Some(turns) = &turns {
                    turns.acquire().await.expect("is never closed").forget();
                }
                b"250 taken\r\n"
            }
            "EHLO" => b"250-test\r\n250 AUTH PLAIN\r\n",
            "AUTH" if line != SIGNED_IN => b"535 no\r\n",
            "QUIT" => return write.write_all(b"221 bye\r\n").await,
            _ => b"250 ok\r\n",
        };
        write.write_all(reply).await?;
    }
    Ok(())
}
