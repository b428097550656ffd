//! Reader of `multipart/form-data` bodies (RFC 7578), part by part, with a bound on what it holds: one
//! piece of the body, and the head of a part.

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

    /// The head of the next part, whose content is read by [`Self::chunk`]. What is left of the part
    /// before is passed over.
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
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

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
        (FormReader::new(pieces, "b".into(), u64::MAX), read)
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
                            Ok(Some(_)) => while form.chunk().await.expect("content").is_some() {},
                            Ok(None) => panic!("the form has no end"),
                            Err(error) => break error,
                        }
                    }
                });
                assert!(matches!(error, FormError::HeadTooLong), "{start} {filler}: {error}");
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
        for piece in [1_000, HEAD_BYTES_MAX, HEAD_BYTES_MAX + 1, 1 << 20] {
            let part = format!("{}content\r\n", head(HEAD_BYTES_MAX));
            let (mut form, _) = reader(format!("{part}{part}{part}--b--\r\n").into_bytes(), piece);
            block_on(async {
                for at in 0..3 {
                    form.next_part()
                        .await
                        .unwrap_or_else(|error| panic!("{piece} {at}: {error}"))
                        .expect("a part");
                    let pieces: Vec<Bytes> =
                        form.rest().map(|piece| piece.expect("content")).collect().await;
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
            form.next_part().await.expect("a head").expect("a part");
            let mut got = 0;
            while got < 1 << 20 {
                got += form.chunk().await.expect("content").expect("a piece").len();
                let ahead = read.load(Ordering::Relaxed) - got;
                assert!(ahead <= 2 << 10, "{ahead} bytes ahead");
            }
        });
    }

    /// All parts of a form: name and content.
    fn parts(bytes: &[u8], piece: usize) -> Result<Vec<(String, Vec<u8>)>, FormError> {
        let (mut form, _) = reader(bytes.to_vec(), piece);
        block_on(async {
            let mut read = Vec::new();
            while let Some(part) = form.next_part().await? {
                let mut content = Vec::new();
                while let Some(piece) = form.chunk().await? {
                    content.extend_from_slice(&piece);
                }
                read.push((part.name.text(None), content));
            }
            Ok(read)
        })
    }

    #[test]
    fn forms_are_read_as_clients_send_them() {
        let check = |form: &str, expected: &[(&str, &str)]| {
            for piece in [1, 7, 1 << 10] {
                let read = parts(form.as_bytes(), piece).expect(form);
                let read: Vec<_> = read
                    .iter()
                    .map(|(name, content)| {
                        (name.as_str(), std::str::from_utf8(content).expect("text"))
                    })
                    .collect();
                assert_eq!(read, expected, "{form} {piece}");
            }
        };
        let named = "Content-Disposition: form-data; name=a";
        check(&format!("--b\r\n{named}\r\n\r\nx\r\n--b--\r\n"), &[("a", "x")]);
        check(&format!("preamble\r\n--b \t\r\n{named}\r\n\r\n\r\n--b--"), &[("a", "")]);
        check(&format!("\r\n--b\r\n{named}\r\n\r\n\r\n\r\n--b--epilogue"), &[("a", "\r\n")]);
        // Lines that end as on Unix.
        check(&format!("--b\n{named}\n\nx\r\ny\n--b--\n"), &[("a", "x\r\ny")]);
        // No head, and a delimiter that begins like another.
        check("--b\r\n\r\nx\r\n--bx\r\n--b--", &[("", "x\r\n--bx")]);
        check(
            &format!(
                "--b\r\nX: y\r\nCONTENT-DISPOSITION: form-data;\r\n\tname=\"a\"\r\n\r\nx\r\n--b--"
            ),
            &[("a", "x")],
        );
        let encoded = |encoding: &str, content: &str| {
            format!(
                "--b\r\n{named}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n{content}\r\n--b--"
            )
        };
        check(&encoded("Base64", "aGVs\r\nbG8="), &[("a", "hello")]);
        check(&encoded("quoted-printable", "caf=C3=A9"), &[("a", "café")]);
        check(&encoded("binary", "caf=C3=A9"), &[("a", "caf=C3=A9")]);
        check("--b--", &[]);
    }

    #[test]
    fn a_form_that_is_cut_off_is_refused_wherever_that_is() {
        let form = b"--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--";
        for end in 0..form.len() {
            let error = parts(&form[..end], 5).expect_err("a part of a form");
            assert!(matches!(error, FormError::Incomplete(_)), "{end}: {error}");
        }
    }

    #[test]
    fn a_form_is_no_longer_than_allowed() {
        let (pieces, _) = body(b"--b\r\n\r\nxxxxxxxx\r\n--b--".to_vec(), 4);
        let mut form = FormReader::new(pieces, "b".into(), 12);
        let error = block_on(async {
            form.next_part().await.expect("a head");
            loop {
                match form.chunk().await {
                    Ok(piece) => assert!(piece.is_some(), "it was cut off"),
                    Err(error) => break error,
                }
            }
        });
        assert!(matches!(error, FormError::TooLarge), "{error}");
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
                    assert_eq!(part.name.text(None), read.len().to_string());
                    let pieces: Vec<Bytes> = form.rest().map(|piece| piece.expect("content")).collect().await;
                    read.push(pieces.concat());
                }
                read
            });
            prop_assert_eq!(read, contents);
        }
    }
}
