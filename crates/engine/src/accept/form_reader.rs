//! Reader of `multipart/form-data` bodies: a pacer before `multer` that bounds what it buffers.
//!
//! `multer` reads its source until the source is pending, and searches its whole buffer again with
//! each read. A source that is always ready would be buffered whole, and a head without an end
//! costs the square of its length. The pacer gives one small piece for each attempt of `multer` to
//! go on, none while the buffer may still do, and ends a head that is longer than allowed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use encoding_rs::Encoding;
use futures::{Stream, stream};
use multer::{Constraints, Field, Multipart};
use percent_encoding::percent_decode_str;

use crate::accept::uploads::Pieces;

/// Bytes that the head of a part may have, with what stands before the first part.
pub(crate) const HEAD_BYTES_MAX: usize = 16 << 10;
/// Bytes of a piece that `multer` gets at a time.
const PIECE_BYTES: usize = 16 << 10;
/// Bytes given until a head must be whole. Before the first boundary `multer` asks for another
/// piece without a look at the one before.
const HEAD_ALLOWANCE: usize = HEAD_BYTES_MAX + PIECE_BYTES;

/// A head longer than [`HEAD_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the head of a part has more than {HEAD_BYTES_MAX} bytes, the most that is allowed; send shorter names and headers"
)]
pub(crate) struct HeadTooLong;

impl HeadTooLong {
    /// Whether this is what an error of the body is about.
    pub(crate) fn is_in(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
        error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref)
            .is_some_and(|inner| inner.is::<Self>())
    }
}

/// A form, read part by part.
pub(crate) struct FormReader {
    form: Multipart<'static>,
    allowance: Arc<Allowance>,
}

/// What the pacer may still give. Shared by the reader, which grants, and the pacer, which spends.
struct Allowance {
    /// Bytes until the part's head must be whole; `usize::MAX` while its content is read.
    head: AtomicUsize,
    /// Pieces that may be given before `multer` looks at its buffer: none or one.
    pieces: AtomicUsize,
}

impl FormReader {
    pub(crate) fn new(body: Pieces, boundary: String, constraints: Constraints) -> Self {
        let allowance = Arc::new(Allowance {
            head: AtomicUsize::new(HEAD_ALLOWANCE),
            pieces: AtomicUsize::new(0),
        });
        let pacer = Pacer { body, piece: Bytes::new(), allowance: allowance.clone() };
        Self { form: Multipart::with_constraints(pacer, boundary, constraints), allowance }
    }

    /// The next part, once its head is read. The part before is dropped by then.
    pub(crate) async fn next_part(&mut self) -> multer::Result<Option<Part>> {
        self.allowance.grant(HEAD_ALLOWANCE);
        let field = self.form.next_field().await?;
        Ok(field.map(|field| {
            let extended = field
                .headers()
                .get("content-disposition")
                .and_then(|head| extended_name(head.as_bytes()));
            let file_name = extended.or_else(|| field.file_name().map(str::to_owned));
            Part { field, file_name, allowance: self.allowance.clone() }
        }))
    }
}

/// A part of a form, whose content comes in pieces.
pub(crate) struct Part {
    field: Field<'static>,
    file_name: Option<String>,
    allowance: Arc<Allowance>,
}

/// The `filename*` of a part's `Content-Disposition` (RFC 5987): Python's clients send a name that
/// is not ASCII so, some of them only so.
fn extended_name(head: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    let mut is_quoted = false;
    let mut is_escaped = false;
    let parameters = text.split(|c| {
        let ends = c == ';' && !is_quoted;
        is_quoted ^= c == '"' && !is_escaped;
        is_escaped = c == '\\' && is_quoted && !is_escaped;
        ends
    });
    let is_extended = |name: &str| name.trim().eq_ignore_ascii_case("filename*");
    let value = parameters
        .filter_map(|one| one.split_once('='))
        .find_map(|(name, value)| is_extended(name).then_some(value.trim()))?;
    let (label, rest) = value.split_once('\'')?;
    let (_, escaped) = rest.split_once('\'')?;
    let bytes: Vec<u8> = percent_decode_str(escaped).collect();
    Some(Encoding::for_label(label.as_bytes())?.decode_without_bom_handling(&bytes).0.into_owned())
}

impl Part {
    pub(crate) fn name(&self) -> &str {
        self.field.name().unwrap_or_default()
    }

    pub(crate) fn file_name(&self) -> Option<&str> {
        self.file_name.as_deref()
    }

    pub(crate) fn media_type(&self) -> Option<&str> {
        self.field.content_type().map(AsRef::as_ref)
    }

    /// The next piece of the content.
    pub(crate) async fn chunk(&mut self) -> multer::Result<Option<Bytes>> {
        self.allowance.grant(usize::MAX);
        self.field.chunk().await
    }

    /// The content.
    pub(crate) fn into_stream(self) -> impl Stream<Item = multer::Result<Bytes>> + Send {
        stream::try_unfold(self, |mut part| async move {
            Ok(part.chunk().await?.map(|piece| (piece, part)))
        })
    }
}

impl Allowance {
    fn grant(&self, head: usize) {
        self.head.store(head, Ordering::Relaxed);
        self.pieces.store(0, Ordering::Relaxed);
    }
}

/// The body as `multer` reads it.
struct Pacer {
    body: Pieces,
    /// What is left of the piece that came last.
    piece: Bytes,
    allowance: Arc<Allowance>,
}

impl Stream for Pacer {
    type Item = std::io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        // Pending makes `multer` look at its buffer; what it is missing then comes with the next
        // poll.
        if this.allowance.pieces.swap(1, Ordering::Relaxed) == 0 {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        while this.piece.is_empty() {
            match this.body.as_mut().poll_next(context) {
                Poll::Ready(Some(Ok(piece))) => this.piece = piece,
                other => return other,
            }
        }
        let head = this.allowance.head.load(Ordering::Relaxed);
        if head == 0 {
            return Poll::Ready(Some(Err(std::io::Error::other(HeadTooLong))));
        }
        let piece = this.piece.split_to(this.piece.len().min(PIECE_BYTES));
        this.allowance.head.store(head.saturating_sub(piece.len()), Ordering::Relaxed);
        this.allowance.pieces.store(0, Ordering::Relaxed);
        Poll::Ready(Some(Ok(piece)))
    }
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt as _, executor::block_on};
    use proptest::prelude::*;

    use super::*;

    /// A body that is always ready, and how many of its bytes were read.
    fn body(bytes: Vec<u8>, piece: usize) -> (Pieces, Arc<AtomicUsize>) {
        let (bytes, read) = (Bytes::from(bytes), Arc::new(AtomicUsize::new(0)));
        let counted = read.clone();
        let pieces = stream::unfold(bytes, move |mut bytes| {
            let piece = bytes.split_to(piece.min(bytes.len()));
            counted.fetch_add(piece.len(), Ordering::Relaxed);
            std::future::ready((!piece.is_empty()).then_some((Ok(piece), bytes)))
        });
        (Box::pin(pieces), read)
    }

    fn reader(bytes: Vec<u8>, piece: usize) -> (FormReader, Arc<AtomicUsize>) {
        let (pieces, read) = body(bytes, piece);
        (FormReader::new(pieces, "b".into(), Constraints::new()), read)
    }

    fn head_too_long(error: &multer::Error) -> bool {
        matches!(error, multer::Error::StreamReadFailed(cause) if HeadTooLong::is_in(cause.as_ref()))
    }

    #[test]
    fn a_head_without_an_end_ends_the_reading_wherever_it_begins() {
        let starts = [
            "",
            "--b",
            "--b\r\n",
            "--b\r\ncontent-disposition: form-data; name=\"",
            "--b\r\na: b\r\n\r\nx\r\n--b\r\nc: ",
        ];
        for start in starts {
            for filler in [b' ', b'x', b'\r'] {
                let (mut form, read) =
                    reader([start.as_bytes(), &vec![filler; 1 << 20]].concat(), 64 << 10);
                let error = block_on(async {
                    loop {
                        match form.next_part().await {
                            Ok(Some(mut part)) => {
                                while part.chunk().await.expect("content").is_some() {}
                            }
                            Ok(None) => panic!("the form has no end"),
                            Err(error) => break error,
                        }
                    }
                });
                // A boundary that nothing sensible follows is refused for that.
                assert!(
                    head_too_long(&error) || matches!(error, multer::Error::IncompleteStream),
                    "{start} {filler}: {error}"
                );
                let read = read.load(Ordering::Relaxed);
                assert!(read <= 128 << 10, "{start} {filler}: read {read}");
            }
        }
    }

    #[test]
    fn a_head_of_the_length_that_is_allowed_is_read_wherever_it_begins() {
        let head = |length: usize| {
            let (start, end) = ("--b\r\ncontent-disposition: form-data; name=\"", "\"\r\n\r\n");
            let name = "n".repeat(length - start.len() - end.len());
            format!("{start}{name}{end}")
        };
        for piece in [1_000, PIECE_BYTES, PIECE_BYTES + 1, 1 << 20] {
            let part = format!("{}content\r\n", head(HEAD_BYTES_MAX));
            let (mut form, _) = reader(format!("{part}{part}{part}--b--\r\n").into_bytes(), piece);
            block_on(async {
                for at in 0..3 {
                    let part = form
                        .next_part()
                        .await
                        .unwrap_or_else(|error| panic!("{piece} {at}: {error}"))
                        .expect("a part");
                    let pieces: Vec<Bytes> =
                        part.into_stream().map(|piece| piece.expect("content")).collect().await;
                    assert_eq!(pieces.concat(), b"content");
                }
                assert!(form.next_part().await.expect("an end").is_none());
            });
        }
    }

    #[test]
    fn of_content_no_more_is_read_than_was_asked_for() {
        let (mut form, read) =
            reader([b"--b\r\na: b\r\n\r\n".as_slice(), &vec![b'x'; 4 << 20]].concat(), 1 << 10);
        block_on(async {
            let mut part = form.next_part().await.expect("a head").expect("a part");
            let mut got = 0;
            while got < 1 << 20 {
                got += part.chunk().await.expect("content").expect("a piece").len();
                let ahead = read.load(Ordering::Relaxed) - got;
                assert!(ahead <= 2 * PIECE_BYTES, "{ahead} bytes ahead");
            }
        });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// However a body is cut, its parts are the same.
        #[test]
        fn parts_are_as_they_were_sent(
            contents in proptest::collection::vec(proptest::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'-'), Just(b'x')], 0..120), 0..20),
            piece in 1..300_usize,
        ) {
            let mut bytes = Vec::new();
            for (at, content) in contents.iter().enumerate() {
                bytes.extend(format!("--b\r\ncontent-disposition: form-data; name=\"{at}\"\r\n\r\n").bytes());
                bytes.extend(content.iter().chain(b"\r\n"));
            }
            bytes.extend(b"--b--\r\n");
            let (mut form, _) = reader(bytes, piece);
            let read = block_on(async {
                let mut read = Vec::new();
                while let Some(part) = form.next_part().await.expect("a form") {
                    assert_eq!(part.name(), read.len().to_string());
                    let pieces: Vec<Bytes> = part.into_stream().map(|piece| piece.expect("content")).collect().await;
                    read.push(pieces.concat());
                }
                read
            });
            prop_assert_eq!(read, contents);
        }
    }
}
