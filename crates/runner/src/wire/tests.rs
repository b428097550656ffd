//! The decoder, with what hosts may send and with anything else.

use proptest::prelude::*;

use super::*;

#[test]
fn half_frames_wait_and_long_ones_are_refused() {
    let whole = frame(&[r#"{"t":"loaded"}"#]);
    let mut buffer = BytesMut::from(&whole[..7]);
    assert_eq!(take_frame(&mut buffer, 100), Ok(None));
    buffer.extend_from_slice(&whole[7..]);
    let taken = take_frame(&mut buffer, 100).expect("fits").expect("whole");
    assert!(matches!(parse(&taken), Ok(FromHost::Loaded)));
    let mut long = BytesMut::from(&[0xff, 0xff, 0xff, 0x7f][..]);
    assert!(matches!(take_frame(&mut long, 100), Err(WireError::TooLong { .. })));
}

#[test]
fn a_null_is_not_an_absent_value() {
    assert!(
        matches!(parse(br#"{"t":"db","id":1,"key":"k","value":null}"#), Ok(FromHost::Db { value: Some(v), .. }) if v.get() == "null")
    );
    assert!(matches!(
        parse(br#"{"t":"db","id":1,"key":"k"}"#),
        Ok(FromHost::Db { value: None, .. })
    ));
}

#[test]
fn garbage_is_malformed() {
    for bad in
        ["", "[]", "{}", r#"{"t":"nope"}"#, r#"{"t":"done"}"#, r#"{"t":"log","id":-1}"#, "\u{0}"]
    {
        assert!(matches!(parse(bad.as_bytes()), Err(WireError::Malformed(_))), "{bad}");
    }
}

/// The limit of frames here, bytes.
const MAX: usize = 4096;

/// Feeds bytes in chunks of the given sizes, as a socket might bring them. Gives the frames, and
/// the error that ended it.
fn feed(bytes: &[u8], chunks: &[usize]) -> (Vec<Bytes>, Option<WireError>) {
    let (mut frames, mut buffer, mut rest) = (Vec::new(), BytesMut::with_capacity(64), bytes);
    let mut sizes = chunks.iter().copied().cycle();
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(sizes.next().unwrap_or(1).clamp(1, rest.len()));
        rest = after;
        buffer.extend_from_slice(chunk);
        loop {
            match take_frame(&mut buffer, MAX) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
        // A frame that is allowed, its head, the last chunk, and what growing by doubling adds.
        let bound = 2 * (MAX + 4 + chunk.len()) + 64;
        assert!(buffer.capacity() <= bound, "{} bytes are held, {bound} may be", buffer.capacity());
    }
    (frames, None)
}

/// One of each kind, as hosts send them, with all that they may hold.
const KINDS: [&str; 12] = [
    r#"{"t":"hello","protocol":1,"node":"v20.0.0"}"#,
    r#"{"t":"loaded"}"#,
    r#"{"t":"load_failed","error":{"code":"SyntaxError","message":"m","stack":"s"}}"#,
    r#"{"t":"cancelled","id":7}"#,
    r#"{"t":"log","id":7,"level":"info","text":"\u0061","ts":1,"late":true}"#,
    r#"{"t":"emit","id":7,"event":{"a":[1,null]},"meta":{"id":"x"}}"#,
    r#"{"t":"db","id":7,"key":"k","value":null}"#,
    r#"{"t":"respond","id":7,"status":200,"headers":[["a","b"]],"body":"b","encoding":"utf8","immediate":true}"#,
    r#"{"t":"step","id":7,"namespace":"s","state":"finished","duration_ms":1.5,"exports":{"a":1}}"#,
    r#"{"t":"send","id":7,"kind":"email","payload":{"to":"a"}}"#,
    r#"{"t":"ask","id":7,"ask":3,"kind":"data_store.get","payload":{"key":"k"}}"#,
    r#"{"t":"done","id":7,"ok":true,"result":{"a":1}}"#,
];

#[test]
fn each_kind_is_read() {
    for kind in KINDS {
        assert!(parse(kind.as_bytes()).is_ok(), "{kind}: {:?}", parse(kind.as_bytes()).err());
    }
}

proptest! {
    /// What is nearly right gets farther into the decoder than noise does.
    #[test]
    fn a_frame_of_any_kind_with_bytes_changed_cut_or_doubled_never_panics(
        kind in prop::sample::select(KINDS.to_vec()),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..6),
    ) {
        let mut bytes = kind.as_bytes().to_vec();
        for (index, byte, how) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = index.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.truncate(at),
                2 => { bytes.remove(at); }
                _ => { let again = bytes[at..].to_vec(); bytes.extend(again); }
            }
        }
        let _ = parse(&bytes);
    }

    #[test]
    fn arbitrary_bytes_in_arbitrary_chunks_never_panic_nor_take_more_memory_than_a_frame(
        bytes in proptest::collection::vec(any::<u8>(), 0..20_000),
        chunks in proptest::collection::vec(1usize..3000, 1..20),
    ) {
        let (frames, _) = feed(&bytes, &chunks);
        for frame in frames {
            let _ = parse(&frame);
        }
    }

    #[test]
    fn heads_that_promise_anything_are_refused_or_wait(length in any::<u32>(), tail in proptest::collection::vec(any::<u8>(), 0..100)) {
        let bytes = [&length.to_le_bytes()[..], &tail].concat();
        let (frames, error) = feed(&bytes, &[1]);
        prop_assert_eq!(error.is_some(), length as usize > MAX);
        prop_assert!(error.is_some() || frames.iter().all(|f| f.len() <= MAX));
    }

    #[test]
    fn frames_survive_any_chunking(
        texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..MAX), 0..12),
        chunks in proptest::collection::vec(1usize..3000, 1..20),
    ) {
        let mut bytes = Vec::new();
        for text in &texts {
            bytes.extend_from_slice(&u32::try_from(text.len()).expect("fits").to_le_bytes());
            bytes.extend_from_slice(text);
        }
        let (frames, error) = feed(&bytes, &chunks);
        prop_assert_eq!(error, None);
        prop_assert_eq!(frames, texts.into_iter().map(Bytes::from).collect::<Vec<_>>());
    }

    #[test]
    fn json_of_any_shape_never_panics(
        t in "hello|loaded|load_failed|cancelled|log|emit|db|respond|step|send|ask|done|[a-z]{0,8}",
        fields in proptest::collection::btree_map("id|ask|late|paused|protocol|error|level|text|ts|event|meta|key|value|status|headers|body|encoding|immediate|namespace|state|duration_ms|exports|kind|payload|ok|result|exit",
            "null|true|-1|0|7|1e400|99999999999999999999|\"started\"|\"\\\\ud800\"|\\[\\]|\\[\\[\"a\",\"b\"\\]\\]|\\{\\}|\\{\"code\":1\\}", 0..8),
    ) {
        let fields: String = fields.iter().map(|(k, v)| format!(r#","{k}":{v}"#)).collect();
        let _ = parse(format!(r#"{{"t":"{t}"{fields}}}"#).as_bytes());
    }

    #[test]
    fn a_frame_is_read_as_it_was_written_but_for_a_time_that_nobody_can_show(id in 0..u64::MAX, text in ".{0,200}", ts in any::<i64>()) {
        let json = serde_json::json!({ "t": "log", "id": id, "level": "info", "text": text, "ts": ts }).to_string();
        match parse(json.as_bytes()) {
            Ok(FromHost::Log { id: i, level, text: t, ts: s, late: _ }) => prop_assert_eq!((i, &*level, t, s), (id, "info", text, ts.clamp(0, LATEST_MS))),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
