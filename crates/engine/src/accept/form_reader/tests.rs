//! Tests of the reader of forms.

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
                .map(|(name, content)| (name.as_str(), std::str::from_utf8(content).expect("text")))
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
        "--b\r\nX: y\r\nCONTENT-DISPOSITION: form-data;\r\n\tname=\"a\"\r\n\r\nx\r\n--b--",
        &[("a", "x")],
    );
    let encoded = |encoding: &str, content: &str| {
        format!("--b\r\n{named}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n{content}\r\n--b--")
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
