//! Load over keep-alive connections: each sends its next request when it has the answer to the
//! last. A client of a few lines on a bare socket, so that the client costs little beside what it
//! measures.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What one cell measured.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub connections: usize,
    pub requests: usize,
    pub seconds: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub cpu_seconds: f64,
}

struct Target {
    address: String,
    request: Vec<u8>,
}

fn target(url: &str) -> Result<Target> {
    let rest = url.strip_prefix("http://").context("an http address")?;
    let (address, path) = rest.split_once('/').context("a path")?;
    let body = "{\"n\":1}";
    let request = format!(
        "POST /{path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    Ok(Target { address: address.to_owned(), request: request.into_bytes() })
}

/// Sends one request and reads its answer whole; gives the body.
async fn exchange(stream: &mut TcpStream, request: &[u8], buffer: &mut Vec<u8>) -> Result<Vec<u8>> {
    stream.write_all(request).await?;
    buffer.clear();
    loop {
        let read = stream.read_buf(buffer).await?;
        ensure!(read > 0, "the connection was closed");
        let Some(end) = buffer.windows(4).position(|w| w == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(&buffer[..end])?;
        ensure!(
            head.starts_with("HTTP/1.1 200"),
            "the server answered {}",
            head.lines().next().unwrap_or("")
        );
        let length: usize = head
            .lines()
            .find_map(|l| {
                l.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            })
            .and_then(|(_, v)| v.trim().parse().ok())
            .context("a length")?;
        if buffer.len() >= end + 4 + length {
            return Ok(buffer[end + 4..end + 4 + length].to_vec());
        }
    }
}

/// That the answer is the right one.
pub async fn check(url: &str) -> Result<()> {
    let target = target(url)?;
    let mut stream = TcpStream::connect(&target.address).await?;
    let body = exchange(&mut stream, &target.request, &mut Vec::new()).await?;
    if body != b"{\"n\":2}" {
        bail!("the workflow answered {}", String::from_utf8_lossy(&body));
    }
    Ok(())
}

/// Milliseconds of one request on a new connection.
pub async fn once(url: &str) -> Result<f64> {
    let target = target(url)?;
    let started = Instant::now();
    let mut stream = TcpStream::connect(&target.address).await?;
    exchange(&mut stream, &target.request, &mut Vec::new()).await?;
    Ok(started.elapsed().as_secs_f64() * 1000.0)
}

/// Runs `connections` for `length`.
pub async fn run(url: &str, connections: usize, length: Duration) -> Result<Cell> {
    let until = Instant::now() + length;
    let started = Instant::now();
    let clients: Vec<_> =
        (0..connections).map(|_| tokio::spawn(client(url.to_owned(), until))).collect();
    let mut times = Vec::new();
    for client in clients {
        times.extend(client.await??);
    }
    let seconds = started.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    let at = |part: f64| {
        times
            .get(((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1)))
            .copied()
            .unwrap_or_default()
    };
    Ok(Cell {
        connections,
        requests: times.len(),
        seconds,
        p50_ms: at(0.5),
        p99_ms: at(0.99),
        cpu_seconds: 0.0,
    })
}

async fn client(url: String, until: Instant) -> Result<Vec<f64>> {
    let target = target(&url)?;
    let mut stream = TcpStream::connect(&target.address).await?;
    stream.set_nodelay(true)?;
    let (mut times, mut buffer) = (Vec::new(), Vec::new());
    while Instant::now() < until {
        let started = Instant::now();
        exchange(&mut stream, &target.request, &mut buffer).await?;
        times.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(times)
}
