//! Charsets of request bodies: decoding to text, or the finding that the bytes are none.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use percent_encoding::percent_decode;
use serde_json::{Map, Value};

use crate::accept::http_event::add_pair;

/// The field of a form that names the charset of the others (HTML, 4.10.22.5; RFC 7578, 4.6).
pub(crate) const CHARSET_FIELD: &str = "_charset_";

/// The charset that a media type names; None where it names none, or one that is not known.
pub(crate) fn charset_of(media_type: &str) -> Option<&'static Encoding> {
    let value = media_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    of_label(value.trim().trim_matches(['"', '\'']).as_bytes())
}

/// The charset of a label, also as runtimes spell it: `latin-1`, `utf_8`, `ISO8859_1`, `Cp-1252`.
pub(crate) fn of_label(label: &[u8]) -> Option<&'static Encoding> {
    let without = |marks: &[u8]| {
        label.iter().copied().filter(|byte| !marks.contains(byte)).collect::<Vec<u8>>()
    };
    let dashed =
        || label.iter().map(|byte| if *byte == b'_' { b'-' } else { *byte }).collect::<Vec<u8>>();
    Encoding::for_label_no_replacement(label)
        .or_else(|| Encoding::for_label_no_replacement(&dashed()))
        .or_else(|| Encoding::for_label_no_replacement(&without(b"-_ ")))
}

/// The charset of a body or of a part of one: that of its byte order mark, which its media type
/// names, that it was sent in (`named`), or that it declares (XML) or shows (JSON in UTF-16, RFC
/// 4627, 3); else UTF-8.
pub(crate) fn charset_for(
    media_type: &str,
    named: Option<&'static Encoding>,
    bytes: &[u8],
) -> &'static Encoding {
    let essence = essence_of(media_type);
    let is_textual = essence.is_empty() || is_textual(essence);
    // A charset makes no text of bytes that are none: single-byte charsets take them all.
    if let Some(charset) =
        charset_of(media_type).or(named).filter(|_| is_textual || !bytes.iter().any(is_no_text))
    {
        return charset;
    }
    if is_textual && !essence.is_empty() {
        if let Some((charset, _)) =
            Encoding::for_bom(bytes).filter(|(charset, _)| *charset != UTF_8)
        {
            return charset;
        }
        let start = bytes.get(..4).unwrap_or_default();
        match start {
            [0, b'<' | b'{' | b'[' | b'"', 0, second] if *second != 0 => return UTF_16BE,
            [b'<' | b'{' | b'[' | b'"', 0, second, 0] if *second != 0 => return UTF_16LE,
            _ => {}
        }
        if is_xml(essence) {
            return declared(bytes).unwrap_or(UTF_8);
        }
    }
    UTF_8
}

/// A media type without its parameters.
pub(crate) fn essence_of(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or("").trim()
}

/// Media types of text that do not say so by their beginning or end.
const TEXT_TYPES: [&str; 12] = [
    "application/javascript",
    "application/x-javascript",
    "application/ecmascript",
    "application/x-ndjson",
    "application/jsonl",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/sql",
    "application/graphql",
    "application/edifact",
    "application/edi-x12",
];

/// Types of text, which may hold a few bytes that are none.
pub(crate) fn is_of_text(essence: &str) -> bool {
    essence.starts_with("text/")
        || essence.ends_with("+yaml")
        || is_xml(essence)
        || TEXT_TYPES.contains(&essence)
}

/// Types that are text: those, JSON and forms.
fn is_textual(essence: &str) -> bool {
    is_of_text(essence)
        || essence == "application/json"
        || essence.ends_with("+json")
        || essence == "application/x-www-form-urlencoded"
}

fn is_xml(essence: &str) -> bool {
    essence.ends_with("+xml")
        || matches!(
            essence,
            "application/xml"
                | "text/xml"
                | "application/xml-dtd"
                | "application/xml-external-parsed-entity"
        )
}

/// Bytes that no text has in any charset that is built on ASCII: NUL and control characters, but
/// for white space, escapes and the separators of EDI and HL7.
fn is_no_text(byte: &u8) -> bool {
    matches!(byte, 0..=8 | 14..=26)
}

/// The charset that the declaration of an XML document names. One of 16 bits is none: the
/// declaration was read in bytes of 8 (XML 1.0, F.1).
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).strip_prefix(b"<?xml")?;
    let end = start.iter().take(DECLARATION_BYTES_MAX).position(|byte| *byte == b'>')?;
    let text = std::str::from_utf8(&start[..end]).ok()?;
    let (_, rest) = text.split_once("encoding")?;
    let value = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    let label = value[1..].split(quote).next()?;
    of_label(label.as_bytes()).filter(|charset| charset.is_ascii_compatible())
}

/// Bytes in which the declaration of an XML document is looked for.
const DECLARATION_BYTES_MAX: usize = 256;

/// Bytes as text, and whether all of them are: what is none becomes U+FFFD.
pub(crate) fn text_of<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> (Cow<'a, str>, bool) {
    if encoding == UTF_8 {
        // A byte order mark stays: signatures are of the body as it was sent.
        return match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), true),
            Err(_) => (String::from_utf8_lossy(bytes), false),
        };
    }
    // A mark of UTF-8 in a body that calls itself something else is right: no other text begins so.
    let (text, _, is_broken) = encoding.decode(bytes);
    (text, !is_broken)
}

/// Bytes as text, where all of them are.
pub(crate) fn whole_text(encoding: &'static Encoding, bytes: &[u8]) -> Option<String> {
    let (text, is_whole) = text_of(encoding, bytes);
    is_whole.then(|| text.into_owned())
}

/// The fields of an `application/x-www-form-urlencoded` body in the charset that it is in, or else
/// that it names in [`CHARSET_FIELD`], and whether all of their bytes are text. A name that comes
/// again makes an array.
pub(crate) fn form(body: &[u8], charset: Option<&'static Encoding>) -> (Value, bool) {
    let pairs = || {
        body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
            let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
            (unescaped(&pair[..at]), unescaped(pair.get(at + 1..).unwrap_or_default()))
        })
    };
    let named = || {
        pairs()
            .find(|(name, _)| *name == CHARSET_FIELD.as_bytes())
            .and_then(|(_, label)| of_label(&label))
    };
    let encoding = charset.or_else(named).unwrap_or(UTF_8);
    let (mut fields, mut is_whole) = (Map::new(), true);
    for (name, value) in pairs() {
        let ((name, name_is_whole), (value, value_is_whole)) =
            (text_of(encoding, &name), text_of(encoding, &value));
        is_whole &= name_is_whole && value_is_whole;
        add_pair(&mut fields, name.into_owned(), Value::from(value.as_ref()));
    }
    (Value::Object(fields), is_whole)
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let spaced: Vec<u8> =
        text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&spaced).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use url::form_urlencoded;

    use super::*;

    #[test]
    fn a_media_type_names_its_charset_in_any_spelling() {
        let check = |media_type: &str| charset_of(media_type).map(Encoding::name);
        assert_eq!(check("text/plain; charset=ISO-8859-1"), Some("windows-1252"));
        assert_eq!(check("text/plain;Charset=\"utf-16\" ; q=1"), Some("UTF-16LE"));
        for (label, name) in [
            ("latin-1", "windows-1252"),
            ("UTF_8", "UTF-8"),
            ("'utf8'", "UTF-8"),
            ("ISO8859_1", "windows-1252"),
            ("Cp-1252", "windows-1252"),
            ("Shift-JIS", "Shift_JIS"),
            ("gb18030", "gb18030"),
        ] {
            assert_eq!(check(&format!("text/plain; charset={label}")), Some(name), "{label}");
        }
        // Encodings that browsers do not decode: the bytes are read as if none was named.
        assert_eq!(check("text/plain; charset=iso-2022-kr"), None);
        assert_eq!(
            (
                check("text/plain"),
                check("a/b; charset=binary"),
                check("charset=utf-8"),
                check("a/b; xcharset=utf-8")
            ),
            (None, None, None, None)
        );
    }

    #[test]
    fn a_body_is_in_the_charset_of_its_mark_its_type_its_sender_or_its_declaration() {
        let check = |media_type: &str, bytes: &[u8]| charset_for(media_type, None, bytes).name();
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
        for media_type in
            ["application/json", "text/xml", "text/plain", "application/vnd.api+json", "text/csv"]
        {
            assert_eq!(
                (check(media_type, &wide("\u{feff}é")), check(media_type, &big("\u{feff}é"))),
                ("UTF-16LE", "UTF-16BE"),
                "{media_type}"
            );
        }
        for text in ["{\"a\":1}", "[1]", "<?xml version=\"1.0\"?><a/>", "\"é\""] {
            let kind = if text.starts_with('<') { "application/xml" } else { "application/json" };
            assert_eq!(
                (check(kind, &wide(text)), check(kind, &big(text)), check(kind, text.as_bytes())),
                ("UTF-16LE", "UTF-16BE", "UTF-8"),
                "{text}"
            );
        }
        for (document, name) in [
            ("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a/>", "windows-1252"),
            ("<?xml version='1.0' encoding = 'shift_jis' standalone='yes'?>", "Shift_JIS"),
            ("\u{feff}<?xml version='1.0' encoding='koi8-r'?>", "KOI8-R"),
            ("<?xml version='1.0' encoding='UTF-16'?>", "UTF-8"),
            ("<?xml version='1.0' encoding='nonsense'?>", "UTF-8"),
            ("<?xml version='1.0'?><a encoding='latin1'/>", "UTF-8"),
            ("<a encoding='latin1'/>", "UTF-8"),
        ] {
            for kind in ["application/xml", "text/xml", "application/soap+xml", "image/svg+xml"] {
                assert_eq!(check(kind, document.as_bytes()), name, "{document}");
            }
            assert_eq!(check("text/plain", document.as_bytes()), "UTF-8");
            // The type counts more (RFC 7303, 3.2).
            assert_eq!(
                check("text/xml; charset=windows-1251", document.as_bytes()),
                "windows-1251"
            );
        }
        // A charset makes no text of a picture, and a byte order mark none of a sound.
        assert_eq!(check("image/png; charset=iso-8859-1", b"\x89PNG\r\n\x1a\n\0"), "UTF-8");
        assert_eq!(
            check("application/octet-stream; charset=iso-8859-1", b"caf\xe9"),
            "windows-1252"
        );
        assert_eq!(check("audio/mpeg", b"\xff\xfe\x90\0"), "UTF-8");
        let latin = Encoding::for_label(b"latin1");
        assert_eq!(charset_for("text/plain", latin, b"x").name(), "windows-1252");
        assert_eq!(charset_for("text/plain; charset=utf-8", latin, b"x").name(), "UTF-8");
    }

    #[test]
    fn a_form_is_in_the_charset_that_it_names() {
        let latin = Encoding::for_label(b"latin1");
        assert_eq!(form(b"a=%E9+%e8&b=\xe9", latin), (json!({ "a": "é è", "b": "é" }), true));
        assert_eq!(
            form(b"_charset_=Shift_JIS&a=%83e%83X%83g", None),
            (json!({ "_charset_": "Shift_JIS", "a": "テスト" }), true)
        );
        assert_eq!(
            form(b"a=%C3%A9&_charset_=latin1", Some(UTF_8)),
            (json!({ "a": "é", "_charset_": "latin1" }), true)
        );
        assert_eq!(form(b"a=%C3%A9&_charset_=nonsense", None).0["a"], "é");
        assert_eq!(form(b"a=%E9", None), (json!({ "a": "\u{fffd}" }), false));
        assert_eq!(
            form(b"a&=b&&a=1&%=%zz", None),
            (json!({ "a": ["", "1"], "": "b", "%": "%zz" }), true)
        );
    }

    proptest! {
        #[test]
        fn a_form_in_utf_8_is_read_as_the_url_standard_says(body in "[a-c=&+%0-9é]{0,24}") {
            let mut expected = Map::new();
            form_urlencoded::parse(body.as_bytes()).for_each(|(name, value)| add_pair(&mut expected, name.into_owned(), Value::from(value.as_ref())));
            prop_assert_eq!(form(body.as_bytes(), None).0, Value::Object(expected));
        }
    }
}
