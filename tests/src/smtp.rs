//! A small mail server that keeps what it gets, or does worse.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

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
}

/// A mail server on a port of its own.
pub struct MailServer {
    pub url: String,
    pub mails: Arc<Mutex<Vec<String>>>,
    mood: Arc<Mutex<Mood>>,
    came: Arc<Mutex<usize>>,
    may: Arc<Semaphore>,
}

impl MailServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("smtp://{}", listener.local_addr().expect("an address"));
        let (mails, mood, came) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Mood::Takes)), Arc::new(Mutex::new(0)));
        let may = Arc::new(Semaphore::new(0));
        let (kept, now, count, turns) = (mails.clone(), mood.clone(), came.clone(), may.clone());
        tokio::spawn(async move {
            let mut hanging = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                *count.lock().expect("not poisoned") += 1;
                let mood = *now.lock().expect("not poisoned");
                match mood {
                    Mood::Takes => drop(tokio::spawn(converse(stream, kept.clone(), None))),
                    Mood::Waits => drop(tokio::spawn(converse(stream, kept.clone(), Some(turns.clone())))),
                    Mood::Refuses => drop(tokio::spawn(async move { stream.write_all(b"421 not available\r\n").await })),
                    Mood::Hangs => hanging.push(stream),
                }
            }
        });
        Self { url, mails, mood, came, may }
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
}

/// `turns`: what each mail needs one of to be taken.
async fn converse(stream: TcpStream, mails: Arc<Mutex<Vec<String>>>, turns: Option<Arc<Semaphore>>) -> std::io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    write.write_all(b"220 test\r\n").await?;
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
            "QUIT" => return write.write_all(b"221 bye\r\n").await,
            _ => b"250 ok\r\n",
        };
        write.write_all(reply).await?;
    }
    Ok(())
}
