//! Reader of `multipart/form-data` bodies (RFC 7578), part by part, with a bound on what it holds:
//! one piece of the body, and the head of a part.

use bytes::{Buf as _, Bytes, BytesMut};
use futures::{Stream, TryStreamExt as _, stream};
use memchr::memmem;

use crate::accept::form_head::{PartHead, TransferEncoding};
use crate::accept::transfer_encoding::Decoder;
use crate::accept::uploads::Pieces;

/// Bytes that the head of a part may have with its boundary, and what stands before the first part.
pub(crate) const HEAD_BYTES_MAX: usize = 16 << 10;

/// Why a form is not read further.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FormError {
    #[error("it ends before its last boundary, `--{0}--`")]
    Incomplete(String),
    #[error(
        "the head of a part has more than {HEAD_BYTES_MAX} bytes, the most that is allowed; send shorter names and headers"
    )]
    HeadTooLong,
    #[error("it has more bytes than are allowed")]
    TooLarge,
    #[error(transparent)]
    Body(#[from] std::io::Error),
}

/// A form, read part by part.
pub(crate) struct FormReader {
    body: Pieces,
    /// Bytes that the body may still have.
    left: u64,
    /// What was read of the body and not given on. A line's end stands before the first boundary.
    buffer: BytesMut,
    boundary: String,
    /// A line's end, as the form has it, and the boundary.
    delimiter: memmem::Finder<'static>,
    state: State,
    decoder: Decoder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first boundary.
    Preamble,
    /// In the content of a part.
    Content,
    /// Behind a boundary, which is read.
    Head,
    /// Behind the last boundary.
    Ended,
}

/// What follows the text of a delimiter.
enum Follows {
    /// The head of a part, at this place.
    Head(usize),
    End,
    /// Other text: it is no delimiter.
    Content,
    /// It shows with more bytes.
    Unknown,
}

impl FormReader {
    /// `bytes_max`: of the whole body.
    pub(crate) fn new(body: Pieces, boundary: String, bytes_max: u64) -> Self {
        Self {
            body,
            left: bytes_max,
            buffer: BytesMut::from("\n"),
            // Which end lines have shows with the first.
            delimiter: delimiter("\n", &boundary),
            boundary,
            state: State::Preamble,
            decoder: Decoder::new(TransferEncoding::Identity),
        }
    }

    /// The head of the next part, whose content is read by [`Self::chunk`]. What is left of the
    /// part before is passed over.
    pub(crate) async fn next_part(&mut self) -> Result<Option<PartHead>, FormError> {
        let is_first = self.state == State::Preamble;
        let mut passed = 0;
        while let Some(piece) = self.content().await? {
            passed += piece.len();
            if is_first && passed > HEAD_BYTES_MAX {
                return Err(FormError::HeadTooLong);
            }
        }
        if self.state == State::Ended {
            return Ok(None);
        }
        let head = self.head().await?;
        self.state = State::Content;
        self.decoder = Decoder::new(head.encoding);
        Ok(Some(head))
    }

    /// The next piece of a part's content, decoded; None at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, FormError> {
        loop {
            let piece = self.content().await?;
            let is_last = piece.is_none();
            let decoded = match piece {
                Some(piece) => self.decoder.feed(piece),
                None => self.decoder.finish(),
            };
            if is_last || !decoded.is_empty() {
                return Ok(Some(decoded).filter(|bytes| !bytes.is_empty()));
            }
        }
    }

    /// What is left of a part's content.
    pub(crate) fn rest(&mut self) -> impl Stream<Item = Result<Bytes, FormError>> + Send {
        stream::try_unfold(self, |form| async move {
            Ok(form.chunk().await?.map(|piece| (piece, form)))
        })
    }

    /// Reads a piece of the body; false at its end.
    async fn read(&mut self) -> Result<bool, FormError> {
        // A body may all be here: without this the thread would serve nobody else meanwhile.
        tokio::task::coop::consume_budget().await;
        let Some(piece) = self.body.try_next().await? else { return Ok(false) };
        let bytes = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(bytes).ok_or(FormError::TooLarge)?;
        self.buffer.extend_from_slice(&piece);
        Ok(true)
    }

    /// Reads a piece of the body where there must be one.
    async fn read_more(&mut self) -> Result<(), FormError> {
        if self.read().await? { Ok(()) } else { Err(FormError::Incomplete(self.boundary.clone())) }
    }

    /// A piece of what stands before the next boundary, as it came; None once that is read.
    async fn content(&mut self) -> Result<Option<Bytes>, FormError> {
        while matches!(self.state, State::Preamble | State::Content) {
            let length = self.delimiter.needle().len();
            let Some(at) = self.delimiter.find(&self.buffer) else {
                // The last bytes may be the beginning of one.
                let sure = self.buffer.len().saturating_sub(length - 1);
                if sure > 0 {
                    return Ok(Some(self.buffer.split_to(sure).freeze()));
                }
                self.read_more().await?;
                continue;
            };
            if at > 0 {
                return Ok(Some(self.buffer.split_to(at).freeze()));
            }
            match follows(&self.buffer[length..]) {
                Follows::Head(head) => self.begin(length + head),
                Follows::End => self.state = State::Ended,
                Follows::Content => return Ok(Some(self.buffer.split_to(length).freeze())),
                Follows::Unknown if self.buffer.len() > HEAD_BYTES_MAX => {
                    return Err(FormError::HeadTooLong);
                }
                Follows::Unknown => self.read_more().await?,
            }
        }
        Ok(None)
    }

    /// Behind a boundary, whose line has so many bytes.
    fn begin(&mut self, length: usize) {
        if self.state == State::Preamble && self.buffer[..length].ends_with(b"\r\n") {
            self.delimiter = delimiter("\r\n", &self.boundary);
        }
        // The end of the boundary's line stays: a part may have an empty line next, and no head.
        self.buffer.advance(length - 1);
        self.state = State::Head;
    }

    /// The head of a part, which begins with the end of the boundary's line.
    async fn head(&mut self) -> Result<PartHead, FormError> {
        let max = HEAD_BYTES_MAX.saturating_sub(self.boundary.len() + "--\r".len());
        let mut looked = 0;
        loop {
            if let Some((end, content)) = empty_line(&self.buffer, looked) {
                if content > max {
                    return Err(FormError::HeadTooLong);
                }
                let head = PartHead::of(&self.buffer[..end]);
                self.buffer.advance(content);
                return Ok(head);
            }
            if self.buffer.len() > max {
                return Err(FormError::HeadTooLong);
            }
            looked = self.buffer.len().saturating_sub("\n\r".len());
            self.read_more().await?;
        }
    }
}

fn delimiter(line_end: &str, boundary: &str) -> memmem::Finder<'static> {
    memmem::Finder::new(format!("{line_end}--{boundary}").as_bytes()).into_owned()
}

fn follows(rest: &[u8]) -> Follows {
    let blanks = rest.iter().take_while(|byte| b" \t".contains(byte)).count();
    match rest[blanks..] {
        [] => Follows::Unknown,
        [b'-'] | [b'\r'] if blanks == 0 => Follows::Unknown,
        [b'-', b'-', ..] if blanks == 0 => Follows::End,
        [b'\n', ..] => Follows::Head(blanks + 1),
        [b'\r', b'\n', ..] => Follows::Head(blanks + 2),
        [b'\r'] => Follows::Unknown,
        _ => Follows::Content,
    }
}

/// Where the first empty line is from there on: the end of the line before, and what follows it.
fn empty_line(text: &[u8], from: usize) -> Option<(usize, usize)> {
    memchr::memchr_iter(b'\n', &text[from..]).map(|at| from + at).find_map(|at| {
        let next = match text[at + 1..] {
            [b'\n', ..] => 2,
            [b'\r', b'\n', ..] => 3,
            _ => return None,
        };
        Some((at, at + next))
    })
}

#[cfg(test)]
mod tests;
