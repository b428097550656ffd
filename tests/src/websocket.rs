//! WebSocket server (RFC 6455) that echoes each message and counts its connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What a server adds to a client's key (RFC 6455, 1.3).
const KEY_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Opcode of a frame that closes the connection.
const CLOSE: u8 = 8;

/// The server; gone with this value's process.
pub struct EchoServer {
    pub port: u16,
    connections: Arc<AtomicUsize>,
}

impl EchoServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let port = listener.local_addr().expect("an address").port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(echo(stream));
            }
        });
        Self { port, connections }
    }

    /// Connections that were accepted so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn echo(mut stream: TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let header = |name: &str| {
        head.lines().find_map(|line| {
            line.split_once(": ")
                .filter(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value)
        })
    };
    let key = header("sec-websocket-key").unwrap_or_default();
    let accept =
        BASE64.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{KEY_SUFFIX}").as_bytes()));
    let protocol = header("sec-websocket-protocol")
        .map_or_else(String::new, |offered| format!("sec-websocket-protocol: {offered}\r\n"));
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n{protocol}sec-websocket-accept: {accept}\r\n\r\n"
    );
    stream.write_all(answer.as_bytes()).await?;
    loop {
        let opcode = stream.read_u8().await?;
        let length = stream.read_u8().await? & 0x7f;
        let size = if length == 126 { stream.read_u16().await? } else { u16::from(length) };
        let mut mask = [0; 4];
        stream.read_exact(&mut mask).await?;
        let mut bytes = vec![0; usize::from(size)];
        stream.read_exact(&mut bytes).await?;
        bytes.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        let mut frame = vec![opcode];
        if length == 126 {
            frame.push(126);
            frame.extend(size.to_be_bytes());
        } else {
            frame.push(length);
        }
        frame.extend(bytes);
        stream.write_all(&frame).await?;
        if opcode & 0xf == CLOSE {
            return Ok(());
        }
    }
}
