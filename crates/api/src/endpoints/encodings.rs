//! Decoders of request bodies by `Content-Encoding` (RFC 9110, 8.4): gzip, deflate, br and zstd,
//! also one over another. Decoded bodies have the bound of bodies, as a few bytes may expand to
//! very many.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_compression::tokio::bufread::{
    BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder,
};
use async_compression::zstd::DParameter;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use millrace_engine::Pieces;
use millrace_model::http::BodyFault;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader, ReadBuf};
use tokio_util::io::{ReaderStream, StreamReader};

/// Codings of one body; each takes a decoder of its own.
const CODINGS_MAX: usize = 4;
/// The largest window that a zstd frame may ask for, as a power of two: 8 MiB (RFC 9659).
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Bytes of one piece of what is decoded.
const PIECE_BYTES: usize = 16 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// The codings of a body, in the order in which they were applied. None where it has none, or one
/// that is not known: such a body goes on as it came.
pub(crate) fn codings(headers: &HeaderMap) -> Result<Vec<Coding>, BodyFault> {
    let mut codings = Vec::new();
    for line in headers.get_all(header::CONTENT_ENCODING) {
        for word in line.as_bytes().split(|byte| *byte == b',') {
            let coding = match word.trim_ascii().to_ascii_lowercase().as_slice() {
                b"" | b"identity" => continue,
                b"gzip" | b"x-gzip" => Coding::Gzip,
                b"deflate" => Coding::Deflate,
                b"br" => Coding::Brotli,
                b"zstd" => Coding::Zstd,
                _ => return Ok(Vec::new()),
            };
            codings.push(coding);
            if codings.len() > CODINGS_MAX {
                return Err(BodyFault::TooManyCodings { max: CODINGS_MAX });
            }
        }
    }
    Ok(codings)
}

/// What a body of pieces is before its codings. `max`: the bytes that each of them may make of it.
/// An error of the result holds a [`BodyFault`].
pub(crate) async fn decoded(
    pieces: Pieces,
    codings: Vec<Coding>,
    max: usize,
) -> io::Result<Pieces> {
    let pieces = pieces.map(|piece| piece.map_err(|_| io::Error::other(BodyFault::Broken)));
    let mut reader: Box<dyn AsyncRead + Send + Unpin> = Box::new(StreamReader::new(pieces));
    for coding in codings.into_iter().rev() {
        let mut source = BufReader::with_capacity(PIECE_BYTES, reader);
        let start = source.fill_buf().await?;
        if start.is_empty() {
            // A request without a body may say how it would be encoded.
            return Ok(Box::pin(stream::empty()));
        }
        let decoder: Box<dyn AsyncRead + Send + Unpin> = match coding {
            Coding::Gzip => {
                let mut decoder = GzipDecoder::new(source);
                decoder.multiple_members(true);
                Box::new(decoder)
            }
            // Some senders leave out the frame that RFC 9110, 8.4.1.2 asks for.
            Coding::Deflate if is_zlib(start) => Box::new(ZlibDecoder::new(source)),
            Coding::Deflate => Box::new(DeflateDecoder::new(source)),
            Coding::Brotli => Box::new(BrotliDecoder::new(source)),
            Coding::Zstd => {
                let mut decoder = ZstdDecoder::with_params(
                    source,
                    &[DParameter::window_log_max(ZSTD_WINDOW_LOG_MAX)],
                );
                decoder.multiple_members(true);
                Box::new(decoder)
            }
        };
        reader = Box::new(Layer { decoder, coding, left: max, max });
    }
    Ok(Box::pin(ReaderStream::with_capacity(reader, PIECE_BYTES)))
}

/// A body that was read, before its codings.
pub(crate) async fn decoded_whole(
    body: Vec<u8>,
    codings: Vec<Coding>,
    max: usize,
) -> Result<Vec<u8>, BodyFault> {
    let once = Bytes::from(body);
    let mut pieces = decoded(Box::pin(stream::once(async move { Ok(once) })), codings, max)
        .await
        .map_err(|error| BodyFault::of(&error))?;
    let mut out = Vec::new();
    while let Some(piece) = pieces.next().await {
        out.extend_from_slice(&piece.map_err(|error| BodyFault::of(&error))?);
        // All of the body is here: without this the thread would serve nobody else meanwhile.
        tokio::task::coop::consume_budget().await;
    }
    Ok(out)
}

/// Whether deflated bytes stand in a zlib frame (RFC 1950, 2.2).
fn is_zlib(start: &[u8]) -> bool {
    let deflates = start[0] & 0x0f == 8 && start[0] >> 4 <= 7;
    deflates
        && start
            .get(1)
            .is_none_or(|flags| (u16::from(start[0]) << 8 | u16::from(*flags)).is_multiple_of(31))
}

/// A decoder that makes no more than `max` bytes, and tells what was wrong.
struct Layer {
    decoder: Box<dyn AsyncRead + Send + Unpin>,
    coding: Coding,
    left: usize,
    max: usize,
}

impl AsyncRead for Layer {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = room.filled().len();
        let read = ready!(Pin::new(&mut self.decoder).poll_read(context, room));
        if let Err(error) = read {
            let is_known = error.get_ref().is_some_and(|inner| inner.is::<BodyFault>());
            return Poll::Ready(Err(if is_known {
                error
            } else {
                io::Error::other(BodyFault::NotEncoded { coding: self.coding.name() })
            }));
        }
        match self.left.checked_sub(room.filled().len() - before) {
            Some(left) => self.left = left,
            None => {
                return Poll::Ready(Err(io::Error::other(BodyFault::TooLarge { max: self.max })));
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use async_compression::tokio::bufread::{
        BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder,
    };
    use axum::http::HeaderValue;
    use proptest::prelude::*;
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn encoded(coding: Coding, framed: bool, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let read = match coding {
            Coding::Gzip => GzipEncoder::new(bytes).read_to_end(&mut out).await,
            Coding::Deflate if framed => ZlibEncoder::new(bytes).read_to_end(&mut out).await,
            Coding::Deflate => DeflateEncoder::new(bytes).read_to_end(&mut out).await,
            Coding::Brotli => BrotliEncoder::new(bytes).read_to_end(&mut out).await,
            Coding::Zstd => ZstdEncoder::new(bytes).read_to_end(&mut out).await,
        };
        read.unwrap();
        out
    }

    const ALL: [(Coding, bool); 5] = [
        (Coding::Gzip, true),
        (Coding::Deflate, true),
        (Coding::Deflate, false),
        (Coding::Brotli, true),
        (Coding::Zstd, true),
    ];

    #[test]
    fn codings_are_read_from_all_lines_and_others_leave_the_body_as_it_is() {
        let check = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            lines.iter().for_each(|line| {
                _ = headers.append(header::CONTENT_ENCODING, HeaderValue::from_static(line))
            });
            codings(&headers)
        };
        assert_eq!(check(&[]), Ok(vec![]));
        assert_eq!(check(&["GZIP"]), Ok(vec![Coding::Gzip]));
        assert_eq!(check(&["x-gzip , identity,", "br"]), Ok(vec![Coding::Gzip, Coding::Brotli]));
        assert_eq!(check(&["deflate, zstd"]), Ok(vec![Coding::Deflate, Coding::Zstd]));
        assert_eq!((check(&["utf-8"]), check(&["gzip, aws-chunked"])), (Ok(vec![]), Ok(vec![])));
        assert_eq!(check(&["br,br,br,br,br"]), Err(BodyFault::TooManyCodings { max: 4 }));
    }

    #[tokio::test]
    async fn a_body_is_decoded_up_to_its_limit_and_what_is_broken_says_so() {
        let text = b"some text, some text, some text".repeat(100);
        for (coding, framed) in ALL {
            let packed = encoded(coding, framed, &text).await;
            assert_eq!(
                decoded_whole(packed.clone(), vec![coding], text.len()).await.as_deref(),
                Ok(&*text),
                "{coding:?} {framed}"
            );
            assert_eq!(
                decoded_whole(packed.clone(), vec![coding], text.len() - 1).await,
                Err(BodyFault::TooLarge { max: text.len() - 1 }),
                "{coding:?}"
            );
            let wrong = Err(BodyFault::NotEncoded { coding: coding.name() });
            assert_eq!(
                decoded_whole(packed[..packed.len() / 2].to_vec(), vec![coding], 1 << 20).await,
                wrong,
                "{coding:?} {framed}"
            );
            assert_eq!(
                decoded_whole(b"\xffno such thing".to_vec(), vec![coding], 1 << 20).await,
                wrong,
                "{coding:?} {framed}"
            );
            assert_eq!(decoded_whole(Vec::new(), vec![coding], 10).await, Ok(Vec::new()));
            let bomb = encoded(coding, framed, &vec![0; 8 << 20]).await;
            assert!(bomb.len() < 1 << 16);
            assert_eq!(
                decoded_whole(bomb, vec![coding], 1 << 20).await,
                Err(BodyFault::TooLarge { max: 1 << 20 }),
                "{coding:?}"
            );
        }
    }

    #[tokio::test]
    async fn what_lies_between_two_codings_is_bounded_as_well() {
        let inner = encoded(Coding::Brotli, true, b"ten bytes.").await;
        let outer = encoded(Coding::Gzip, true, &inner).await;
        assert_eq!(
            decoded_whole(outer, vec![Coding::Brotli, Coding::Gzip], 20).await.as_deref(),
            Ok(&b"ten bytes."[..])
        );
        // A frame of zstd that decodes to nothing may be as long as it likes.
        let mut skipped = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0x80, 0].to_vec();
        skipped.resize(8 + (8 << 20), 0);
        let outer = encoded(Coding::Gzip, true, &skipped).await;
        assert_eq!(
            decoded_whole(outer, vec![Coding::Zstd, Coding::Gzip], 1 << 20).await,
            Err(BodyFault::TooLarge { max: 1 << 20 })
        );
    }

    #[tokio::test]
    async fn several_members_are_one_body_and_a_large_window_is_refused() {
        for coding in [Coding::Gzip, Coding::Zstd] {
            let two = [encoded(coding, true, b"one ").await, encoded(coding, true, b"two").await]
                .concat();
            assert_eq!(
                decoded_whole(two, vec![coding], 100).await.as_deref(),
                Ok(&b"one two"[..]),
                "{coding:?}"
            );
        }
        // A frame that asks for a window of 2 GiB.
        let greedy = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x09, 0, 0, b'x'];
        assert_eq!(
            decoded_whole(greedy.to_vec(), vec![Coding::Zstd], 100).await,
            Err(BodyFault::NotEncoded { coding: "zstd" })
        );
    }

    proptest! {
        #[test]
        fn bytes_come_back_through_any_codings(bytes in proptest::collection::vec(any::<u8>(), 1..300), which in proptest::collection::vec(0..5_usize, 1..4)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let out = runtime.block_on(async {
                let mut packed = bytes.clone();
                for at in &which {
                    packed = encoded(ALL[*at].0, ALL[*at].1, &packed).await;
                }
                decoded_whole(packed, which.iter().map(|at| ALL[*at].0).collect(), 4096).await
            });
            prop_assert_eq!(out, Ok(bytes));
        }
    }
}
