//! Bounds and headers of every request, whatever its route: time and memory of bodies, headers for
//! browsers, no decompression.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use http_body::{Frame, SizeHint};
use millrace_model::upload::PART_BYTES;
use tokio::time::{Instant, Sleep};

use crate::error::ApiError;
use crate::room::{Memory, Share, Use, Whose};
use crate::{App, V1_BODY_BYTES_MAX};

/// Beyond its grace a body has to come at this rate at least, bytes a second: who sends one byte at
/// a time gets no further.
const BODY_RATE_MIN: u64 = 8 << 10;

/// Answers and events of streams up to this are not counted, bytes.
const SMALL_BYTES: usize = 16 << 10;
/// No more is counted of a body: what is larger is not kept in memory as a whole, but in the parts
/// in which it is stored.
const COUNTED_BYTES_MAX: usize = V1_BODY_BYTES_MAX;
/// The same of one that is stored as it comes: the part that is being stored, and the one that is
/// being filled.
const STORED_BYTES_MAX: usize = 2 * PART_BYTES;

/// How much at least is read of a body that was refused, or that nobody asked for: a client that
/// writes all before it reads would find the connection broken in the place of its answer. As much
/// as a body may have that is taken costs no more.
const DISCARDED_BYTES_MIN: u64 = 64 << 20;

/// One body's part of the memory, until its request is answered: until then what came is in memory,
/// in one form or another. And what it was refused for.
pub(crate) struct Part {
    share: Share,
    came: AtomicUsize,
    /// How many of its bytes count.
    counted_max: AtomicUsize,
    /// What reading it made of it beside its bytes.
    unfolded: OnceLock<Share>,
    is_late: AtomicBool,
    is_too_much: AtomicBool,
    /// What was not read of it.
    rest: Mutex<Option<Body>>,
}

impl Part {
    fn of(memory: &Arc<Memory>, whose: Whose) -> Self {
        let (share, came, unfolded) =
            (Share::of(memory, Use::Body, whose), AtomicUsize::new(0), OnceLock::new());
        let (is_late, is_too_much) = (AtomicBool::new(false), AtomicBool::new(false));
        let counted_max = AtomicUsize::new(COUNTED_BYTES_MAX);
        Self { share, came, counted_max, unfolded, is_late, is_too_much, rest: Mutex::new(None) }
    }

    /// More of the body has come; false where there is no room for it.
    fn add(&self, bytes: usize) -> bool {
        let before = self.came.fetch_add(bytes, Ordering::Relaxed);
        let max = self.counted_max.load(Ordering::Relaxed);
        self.share.grow((before + bytes).min(max) - before.min(max))
    }

    /// What the body, all of which has come, takes as it is read: until its request is answered.
    pub(crate) fn unfolds_to(&self, share: Share) {
        // A body is read once.
        let _ = self.unfolded.set(share);
    }
}

/// The rest of this request's body is stored as it comes. What was read of it before counts as it
/// did.
pub(crate) fn stored_in_parts(request: &Extensions) {
    if let Some(part) = request.get::<Arc<Part>>() {
        part.counted_max.store(STORED_BYTES_MAX, Ordering::Relaxed);
    }
}

/// A request whose body is given up where it takes too long, or where there is no memory for it.
pub(crate) fn bounded(app: &App, request: Request) -> (Request, Option<Arc<Part>>) {
    if request.body().is_end_stream() {
        return (request, None);
    }
    let part = Arc::new(Part::of(&app.bodies, Whose::of(request.extensions())));
    let (grace, told) = (app.config.body_timeout, part.clone());
    // Who expects to be told whether to send the body sends none before.
    let comes = !request.headers().contains_key(header::EXPECT);
    let mut bounded = request.map(|body| {
        Body::new(Bounded {
            body,
            started: Instant::now(),
            grace,
            timer: None,
            waiting: None,
            comes,
            part: told,
        })
    });
    bounded.extensions_mut().insert(part.clone());
    (bounded, Some(part))
}

/// The answer, or what is said to a client whose body was given up.
pub(crate) fn unless_given_up(app: &App, part: Option<Arc<Part>>, response: Response) -> Response {
    let Some(part) = part else { return response };
    if let Some(rest) = part.rest.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let max = (app.engine.upload_max_bytes() as u64)
            .saturating_add(app.config.http_body_max_bytes as u64)
            .max(DISCARDED_BYTES_MIN);
        tokio::spawn(discard(rest, max, app.config.body_timeout));
    }
    let refused =
        match (part.is_late.load(Ordering::Relaxed), part.is_too_much.load(Ordering::Relaxed)) {
            (true, _) => ApiError::body_too_slow(app.config.body_timeout),
            (_, true) => ApiError::no_memory_for_body(),
            _ => return response,
        };
    let mut response = refused.into_response();
    // The rest of the body would be taken for the next request.
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// A piece of an answer, which the library keeps until it is written: longer than the body that it
/// came of.
struct Piece {
    bytes: Bytes,
    /// Until all of it was handed to the system, or its connection ended.
    _held: Arc<Share>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// An answer that has its room.
struct Counted {
    body: Body,
    held: Arc<Share>,
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let held = &self.held;
        Poll::Ready(frame.map(|frame| {
            frame.map(|frame| {
                frame.map_data(|bytes| Bytes::from_owner(Piece { bytes, _held: held.clone() }))
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream of events, each of which has its room once it is made. Where there is none the stream
/// ends behind the one before: its client connects again and goes on from there.
struct CountedStream {
    body: Body,
    memory: Arc<Memory>,
    whose: Whose,
    is_over: bool,
}

impl http_body::Body for CountedStream {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let bytes = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
            _ => 0,
        };
        if bytes <= SMALL_BYTES {
            return Poll::Ready(frame);
        }
        let held = Arc::new(Share::of(&self.memory, Use::Answer, self.whose.clone()));
        if !held.grow(bytes) {
            self.is_over = true;
            return Poll::Ready(None);
        }
        Poll::Ready(frame.map(|frame| {
            frame.map(|frame| {
                frame.map_data(|bytes| Bytes::from_owner(Piece { bytes, _held: held }))
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The answer with its part of the memory, or what is said where there is none: else clients that
/// read nothing would fill it with what they asked for. Answers that are made piece by piece are
/// never in memory as a whole, and not counted, but for the events of a stream, which may be large.
/// `changes`: whether something was changed, the answer of which is not kept back.
pub(crate) fn counted(
    memory: &Arc<Memory>,
    whose: Whose,
    changes: bool,
    response: Response,
) -> Response {
    if response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream")
        && response.body().size_hint().exact().is_none()
    {
        return response.map(|body| {
            Body::new(CountedStream { body, memory: memory.clone(), whose, is_over: false })
        });
    }
    let bytes = response
        .body()
        .size_hint()
        .exact()
        .and_then(|bytes| usize::try_from(bytes).ok())
        .unwrap_or(0);
    if bytes <= SMALL_BYTES {
        return response;
    }
    let held = Share::of(memory, Use::Answer, whose);
    if !held.take(bytes, changes) {
        return ApiError::no_memory_for_answer().into_response();
    }
    response.map(|body| Body::new(Counted { body, held: Arc::new(held) }))
}

/// Reads what is left of a body while its client gets the answer. It takes no memory, and no longer
/// than a client may say nothing.
async fn discard(rest: Body, max: u64, within: Duration) {
    let read = async {
        let mut room = max;
        let mut chunks = rest.into_data_stream();
        while let Some(Ok(chunk)) = chunks.next().await {
            match room.checked_sub(chunk.len() as u64) {
                Some(less) => room = less,
                None => return,
            }
        }
    };
    // One that takes longer, or goes away, is left to itself.
    let _ = tokio::time::timeout(within, read).await;
}

/// A body with a time limit that grows with what has come, and its part of the memory for bodies.
struct Bounded {
    body: Body,
    started: Instant,
    grace: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    /// Since when its next piece is waited for.
    waiting: Option<Instant>,
    /// Whether the client sends it, whoever reads it or not.
    comes: bool,
    part: Arc<Part>,
}

impl Drop for Bounded {
    fn drop(&mut self) {
        if self.comes && !self.body.is_end_stream() && !self.part.is_late.load(Ordering::Relaxed) {
            *self.part.rest.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(std::mem::take(&mut self.body));
        }
    }
}

impl http_body::Body for Bounded {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let this = &mut *self;
        this.comes = true;
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            this.waiting = None;
            if let Some(Ok(frame)) = &frame
                && !this.part.add(frame.data_ref().map_or(0, Bytes::len))
            {
                this.part.is_too_much.store(true, Ordering::Relaxed);
                return Poll::Ready(Some(Err("there is no memory for the body".into())));
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let came = this.part.came.load(Ordering::Relaxed) as u64;
        let in_all = this.started
            + this.grace
            + Duration::from_millis(came.saturating_mul(1000) / BODY_RATE_MIN);
        // What came fast buys no silence afterwards.
        let until = in_all.min(*this.waiting.get_or_insert_with(Instant::now) + this.grace);
        let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if timer.deadline() != until {
            timer.as_mut().reset(until);
        }
        ready!(timer.as_mut().poll(context));
        this.part.is_late.store(true, Ordering::Relaxed);
        Poll::Ready(Some(Err("the body came too slowly".into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body that is to be unpacked first: a small one could become a large one, and no client of ours
/// sends any.
pub(crate) async fn as_it_is(request: Request, next: Next) -> Response {
    let packed = request
        .headers()
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .find(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    match packed {
        Some(encoding) => {
            ApiError::packed(&String::from_utf8_lossy(encoding.as_bytes())).into_response()
        }
        None => next.run(request).await,
    }
}

/// What is no page is nothing to a browser: it is not drawn, framed or run, and leads nowhere.
const NOTHING: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Tells browsers what they may do with an answer. What a handler says itself stays. Answers of
/// endpoints are their code's own: only that their kind is not guessed at is said for them, and
/// their pages have a sandbox (`endpoints`).
pub(crate) fn add_security_headers(headers: &mut HeaderMap, path: &str, is_https: bool) {
    let mut say = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    say(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    if is_https {
        say(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
    if path.starts_with("/e/") {
        return;
    }
    say(header::CONTENT_SECURITY_POLICY, NOTHING);
    say(header::X_FRAME_OPTIONS, "DENY");
    say(header::REFERRER_POLICY, "no-referrer");
    say(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    say(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    say(HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()");
    if path.starts_with("/v1/") {
        say(header::CACHE_CONTROL, "no-store");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of pieces, each so many milliseconds after the one before; what is read of it.
    async fn read(pieces: &[(u64, usize)]) -> Result<usize, bool> {
        let pieces = pieces.to_vec();
        let stream = futures::stream::unfold(pieces.into_iter(), |mut pieces| async {
            let (wait, bytes) = pieces.next()?;
            tokio::time::sleep(Duration::from_millis(wait)).await;
            Some((Ok::<_, std::io::Error>(vec![b'x'; bytes]), pieces))
        });
        let part = Arc::new(Part::of(&Memory::new(usize::MAX), Whose::default()));
        let body = Bounded {
            body: Body::from_stream(stream),
            started: Instant::now(),
            grace: Duration::from_secs(10),
            timer: None,
            waiting: None,
            comes: true,
            part: part.clone(),
        };
        let mut data = Body::new(body).into_data_stream();
        let mut bytes = 0;
        while let Some(piece) = data.next().await {
            bytes += piece.map_err(|_| part.is_late.load(Ordering::Relaxed))?.len();
        }
        Ok(bytes)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_drips_is_given_up_and_one_that_flows_is_not() {
        assert_eq!(read(&[(0, 10), (9_000, 10)]).await, Ok(20));
        assert_eq!(read(&[(0, 10), (11_000, 10)]).await, Err(true));
        let drip: Vec<_> = (0..100).map(|_| (500, 1)).collect();
        assert_eq!(read(&drip).await, Err(true), "each piece alone is in time");
        assert_eq!(read(&[(0, 8 << 20), (9_000, 1)]).await, Ok((8 << 20) + 1));
        assert_eq!(
            read(&[(0, 8 << 20), (11_000, 1)]).await,
            Err(true),
            "what came fast buys no silence"
        );
        let flow: Vec<_> = (0..100).map(|_| (500, 8 << 10)).collect();
        assert_eq!(
            read(&flow).await,
            Ok(100 * (8 << 10)),
            "fifty seconds are no fault of a large body"
        );
    }

    /// How many pieces are asked of a body that nobody wants, and after how many seconds that ends.
    async fn discarded(wait: Duration, bytes: usize, pieces: usize) -> (usize, u64) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let stream = futures::stream::iter(0..pieces).then(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::time::sleep(wait).await;
                Ok::<_, std::io::Error>(vec![b'x'; bytes])
            }
        });
        let began = Instant::now();
        discard(Body::from_stream(stream), 64 << 20, Duration::from_secs(30)).await;
        (asked.load(Ordering::Relaxed), began.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_wants_is_read_within_bounds() {
        assert_eq!(discarded(Duration::ZERO, 1 << 20, 40).await, (40, 0));
        assert_eq!(
            discarded(Duration::ZERO, 1 << 20, 1_000).await.0,
            65,
            "no more than there is room for"
        );
        assert_eq!(
            discarded(Duration::from_secs(4), 1, 1_000).await,
            (8, 30),
            "each piece comes, but not for ever"
        );
    }

    /// Bytes of a body that are not counted.
    const FIRST: usize = Use::Body.uncounted();

    #[test]
    fn large_bodies_share_a_room_and_small_ones_need_none() {
        let memory = Memory::new(400 << 10);
        let part = || Part::of(&memory, Whose::default());
        let (first, second, small) = (part(), part(), part());
        assert!(first.add(FIRST + (150 << 10)) && second.add(FIRST) && second.add(75 << 10));
        assert!(!first.add(1), "there is no more");
        assert!(small.add(1_000) && small.add(FIRST - 1_000));
        drop(first);
        assert!(second.add(150 << 10));
        drop(second);
        let (large, other) = (part(), part());
        assert!(large.add(FIRST + (300 << 10)) && large.add(100 << 10), "it is alone");
        assert!(!other.add(FIRST + 1), "now it is not");
        drop((large, other, small));
        assert_eq!(memory.taken(), 0);
        // Of a file that is stored as it comes, two parts are in memory.
        let memory = Memory::new(usize::MAX);
        let file = Part::of(&memory, Whose::default());
        file.counted_max.store(STORED_BYTES_MAX, Ordering::Relaxed);
        assert!((0..100).all(|_| file.add(1 << 20)));
        assert_eq!(memory.taken(), STORED_BYTES_MAX - FIRST);
    }

    #[tokio::test]
    async fn large_answers_are_counted_until_they_are_sent() {
        let memory = Memory::new(100 << 10);
        let sent = |bytes: usize, changes| {
            counted(
                &memory,
                Whose::default(),
                changes,
                Response::new(Body::from(vec![b'x'; bytes])),
            )
        };
        let taken = || memory.taken();
        let first = sent(60 << 10, false);
        assert_eq!((first.body().size_hint().exact(), taken()), (Some(60 << 10), 60 << 10));
        assert_eq!(sent(60 << 10, false).status().as_u16(), 503);
        assert_eq!(
            (sent(SMALL_BYTES, false).status().as_u16(), sent(60 << 10, true).status().as_u16()),
            (200, 200)
        );
        let mut pieces = first.into_body().into_data_stream();
        let piece = pieces.next().await.unwrap().unwrap();
        drop(pieces);
        assert_eq!((piece.len(), taken()), (60 << 10, 60 << 10), "the body is over, but not sent");
        drop(piece);
        assert_eq!(taken(), 0);
        let alone = sent(200 << 10, false);
        assert_eq!(alone.status().as_u16(), 200);
        drop(alone);
        let endless =
            Body::from_stream(futures::stream::repeat_with(|| Ok::<_, std::io::Error>("x")));
        assert_eq!(
            (
                counted(&memory, Whose::default(), false, Response::new(endless)).status().as_u16(),
                taken()
            ),
            (200, 0)
        );
    }

    #[test]
    fn answers_of_endpoints_keep_what_their_code_says() {
        let told = |path: &str, is_https| {
            let mut headers = HeaderMap::new();
            add_security_headers(&mut headers, path, is_https);
            headers
        };
        assert_eq!(told("/e/x", false).len(), 1);
        assert!(told("/e/x", true).contains_key(header::STRICT_TRANSPORT_SECURITY));
        assert_eq!(told("/v1/runs/x", false)[header::CACHE_CONTROL], "no-store");
        assert!(
            !told("/", false).contains_key(header::CACHE_CONTROL)
                && told("/", false).contains_key(header::X_FRAME_OPTIONS)
        );
    }
}
