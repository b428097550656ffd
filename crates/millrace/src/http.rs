//! Connections: bounds on their number, and on the time that a client may take to send a request.
//!
//! Clients that send a head slowly or do not read their answer are disconnected, so that
//! connections are free for others. Bodies are bounded where they are read (`millrace_api`).

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use millrace_api::Cut;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::front::{Front, Peer, Stream};
use crate::sips::Sips;

/// Header lines of a request.
const HEADERS_MAX: usize = 1_000;
/// Its head in all, the address included, bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Connections that may wait to be accepted; the system has a bound of its own
/// (`net.core.somaxconn`).
const BACKLOG: u32 = 4096;
/// How long accepting rests where the system has no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long a client may leave what was sent to it unacknowledged.
const UNREAD_MAX: Duration = Duration::from_secs(60);
/// Descriptors that are kept for the database, hosts and what is sent.
const DESCRIPTORS_KEPT: u64 = 512;
/// Refusals under way at once; more connections than that are closed without a word.
const REFUSALS_MAX: usize = 64;
/// How long one that is refused may take for its request.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);

/// Bounds of connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once.
    pub connections_max: usize,
    /// How long a client may take for the head of a request, or say nothing between two.
    pub head_timeout: Duration,
}

/// Listens on a host and port. A burst of clients waits to be accepted, where the library's own
/// choice would have them refused.
///
/// # Errors
/// Where the host is not known, or nobody may listen there.
pub async fn listen(place: &str) -> io::Result<TcpListener> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name leads to no address");
    for address in lookup_host(place).await? {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        match socket.bind(address).and_then(|()| socket.listen(BACKLOG)) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Serves connections until told to stop; then those under way are answered, and idle ones closed.
pub async fn serve(
    listener: TcpListener,
    front: Front,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
) {
    let front = Arc::new(front);
    let places = Arc::new(Semaphore::new(limits.connections_max.min(Semaphore::MAX_PERMITS)));
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if !is_of_one_connection(&error) {
                    tracing::error!(%error, "could not accept connections; trying again");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
                continue;
            }
        };
        match places.clone().try_acquire_owned() {
            Ok(place) => {
                let (front, router, stop) = (front.clone(), router.clone(), stop.clone());
                connections.spawn(async move {
                    if let Some((stream, peer)) =
                        opened(&front, stream, address, limits, &stop).await
                    {
                        connection(stream, peer, front, router, limits, stop, place).await;
                    }
                });
            }
            Err(_) => {
                if let Ok(place) = refusals.clone().try_acquire_owned() {
                    let (front, stop) = (front.clone(), stop.clone());
                    let limits =
                        Limits { head_timeout: limits.head_timeout.min(REFUSAL_TIMEOUT), ..limits };
                    connections.spawn(async move {
                        if let Some((stream, _)) =
                            opened(&front, stream, address, limits, &stop).await
                        {
                            refuse(stream, limits, place).await;
                        }
                    });
                }
            }
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// The client went away before it was accepted: that is no fault of ours.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}

/// A connection where HTTP begins, within the time of a head.
async fn opened(
    front: &Front,
    stream: TcpStream,
    address: SocketAddr,
    limits: Limits,
    stop: &CancellationToken,
) -> Option<(Stream, Peer)> {
    if let Err(error) = set_options(&stream) {
        tracing::debug!(%error, "could not set a connection's options");
    }
    let opened = tokio::select! {
        biased;
        () = stop.cancelled() => return None,
        opened = tokio::time::timeout(limits.head_timeout, front.open(stream, address)) => opened,
    };
    match opened {
        Ok(Ok(opened)) => Some(opened),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a connection ended before a request");
            None
        }
        Err(_) => None,
    }
}

async fn connection(
    stream: Stream,
    peer: Peer,
    front: Arc<Front>,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
    place: OwnedSemaphorePermit,
) {
    let place = Arc::new(place);
    let cut = CancellationToken::new();
    let to_cut = cut.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        millrace_api::normalize_path(&mut request);
        front.mark(&mut request, peer);
        request.extensions_mut().insert(Cut(to_cut.clone()));
        let only_reads = matches!(*request.method(), Method::GET | Method::HEAD)
            && request.uri().path().starts_with("/v1/");
        let (answer, place) = (router.clone().oneshot(request), place.clone());
        async move {
            if only_reads {
                return answer.await;
            }
            // What changes something goes on to its end, however its connection ends: else it would
            // stop between two of its steps, such as after a run was stored and before it is begun.
            // It counts as a connection until then.
            let whole = tokio::spawn(async move {
                let answer = answer.await;
                drop(place);
                answer
            });
            whole.await.unwrap_or_else(|_| Ok(StatusCode::INTERNAL_SERVER_ERROR.into_response()))
        }
    });
    run(stream, service, limits, Some(stop), cut).await;
}

/// Says that there are too many connections, to one who asks something within its time.
async fn refuse(stream: Stream, limits: Limits, place: OwnedSemaphorePermit) {
    let service = service_fn(|_: Request<Incoming>| async {
        let mut response = millrace_api::too_many_connections();
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        Ok::<_, Infallible>(response)
    });
    run(stream, service, limits, None, CancellationToken::new()).await;
    drop(place);
}

async fn run<S>(
    stream: Stream,
    service: S,
    limits: Limits,
    stop: Option<CancellationToken>,
    cut: CancellationToken,
) where
    S: hyper::service::Service<Request<Incoming>, Response = Response, Error = Infallible>,
{
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // Old devices and `nc -N` end their sending side behind the request, and read the answer.
        .half_close(true)
        .header_read_timeout(limits.head_timeout)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX);
    let sips = Sips::of(stream);
    let lines = sips.lines();
    let service = service_fn(|request: Request<Incoming>| {
        lines.begins(request.body().size_hint().exact());
        let (answer, lines) = (service.call(request), lines.clone());
        async move {
            let answer = answer.await?;
            if is_event_stream(&answer) {
                lines.streams();
            }
            Ok::<_, Infallible>(answer)
        }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(sips), service));
    let stop = stop.unwrap_or_default();
    let served = async {
        tokio::select! {
            biased;
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            ended = connection.as_mut() => ended,
        }
    };
    let ended = tokio::select! {
        biased;
        ended = served => ended,
        () = cut.cancelled() => return,
    };
    if let Err(error) = ended {
        // What strangers send is no event for the log of a healthy server.
        tracing::debug!(%error, "a connection ended early");
    }
}

/// An answer that may say nothing for long, and never ends by itself.
fn is_event_stream(answer: &Response) -> bool {
    let kind = answer.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Small answers go out at once; a client that takes none of what is sent to it is given up.
#[expect(unsafe_code, reason = "a system call without a safe wrapper")]
fn set_options(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let millis = libc::c_uint::try_from(UNREAD_MAX.as_millis()).unwrap_or(libc::c_uint::MAX);
    // SAFETY: the option's value is a number of our own, of the length that is said.
    let set = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_USER_TIMEOUT,
            (&raw const millis).cast(),
            libc::socklen_t::try_from(size_of_val(&millis)).unwrap_or(0),
        )
    };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Files that a server needs to have open at once: its database, the trial of its walls, a few
/// connections and hosts.
pub const DESCRIPTORS_MIN: u64 = 64;

/// Descriptors that this process may have.
pub struct Descriptors {
    pub all: u64,
    /// Those that connections may take.
    pub for_connections: u64,
}

/// Lets this process have as many descriptors as it may.
///
/// # Errors
/// Where the system does not tell.
#[expect(unsafe_code, reason = "system calls without a safe wrapper")]
pub fn raise_descriptors() -> Result<Descriptors> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain system calls on values of our own.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut now) < 0 {
            return Err(io::Error::last_os_error().into());
        }
        let wanted = libc::rlimit { rlim_cur: now.rlim_max, rlim_max: now.rlim_max };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wanted) == 0 {
            now = wanted;
        }
    }
    let all = now.rlim_cur;
    Ok(Descriptors { all, for_connections: all.saturating_sub(DESCRIPTORS_KEPT).max(all / 2) })
}

#[cfg(test)]
mod tests {
    use axum::Extension;
    use axum::routing::get;
    use tokio::io::AsyncWriteExt as _;
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_connection_that_is_cut_ends_though_its_client_reads_nothing() {
        let (tell, mut told) = mpsc::channel(1);
        // More than the system takes for a client that reads nothing.
        let large = move |Extension(cut): Extension<Cut>| async move {
            tell.try_send(cut).expect("is awaited");
            vec![b'x'; 64 << 20]
        };
        let listener = listen("127.0.0.1:0").await.expect("listens");
        let address = listener.local_addr().expect("an address");
        let limits = Limits { connections_max: 1, head_timeout: Duration::from_secs(60) };
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve(
            listener,
            Front::default(),
            Router::new().route("/", get(large)),
            limits,
            stop.clone(),
        ));
        let mut client = TcpStream::connect(address).await.expect("connects");
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("asks");
        let Cut(cut) = told.recv().await.expect("is asked");
        stop.cancel();
        cut.cancel();
        // Before the system gives up a client that acknowledges nothing.
        tokio::time::timeout(UNREAD_MAX / 2, serving).await.expect("ends").expect("ends well");
    }
}
