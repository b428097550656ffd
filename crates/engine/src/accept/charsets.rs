//! Charsets of what requests to endpoints carry: the text that bytes are, or that they are none.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
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
    Encoding::for_label(value.trim().trim_matches('"').as_bytes())
}

/// Bytes as text, and whether all of them are: what is none becomes U+FFFD.
pub(crate) fn text_of<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> (Cow<'a, str>, bool) {
    if encoding == UTF_8 {
        // A byte order mark stays: signatures are of the body as it was sent.
        return match std::str::from_utf8(bytes) {
            Ok(text) => (Cow::Borrowed(text), true),
            Err(_) => (String::from_utf8_lossy(bytes), false),
        };
    }
    let (text, _, is_broken) = encoding.decode(bytes);
    (text, !is_broken)
}

/// Bytes as text, where all of them are.
pub(crate) fn whole_text(encoding: &'static Encoding, bytes: &[u8]) -> Option<String> {
    let (text, is_whole) = text_of(encoding, bytes);
    is_whole.then(|| text.into_owned())
}

/// The fields of an `application/x-www-form-urlencoded` body in the charset that it is in, or else that it names in [`CHARSET_FIELD`], and whether all
/// of their bytes are text. A name that comes again makes an array.
pub(crate) fn form(body: &[u8], charset: Option<&'static Encoding>) -> (Value, bool) {
    let pairs = || {
        body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()).map(|pair| {
            let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
            (unescaped(&pair[..at]), unescaped(pair.get(at + 1..).unwrap_or_default()))
        })
    };
    let named = || pairs().find(|(name, _)| *name == CHARSET_FIELD.as_bytes()).and_then(|(_, label)| Encoding::for_label(&label));
    let encoding = charset.or_else(named).unwrap_or(UTF_8);
    let (mut fields, mut is_whole) = (Map::new(), true);
    for (name, value) in pairs() {
        let ((name, name_is_whole), (value, value_is_whole)) = (text_of(encoding, &name), text_of(encoding, &value));
        is_whole &= name_is_whole && value_is_whole;
        add_pair(&mut fields, name.into_owned(), Value::from(value.as_ref()));
    }
    (Value::Object(fields), is_whole)
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let spaced: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
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
        assert_eq!((check("text/plain"), check("a/b; charset=binary"), check("charset=utf-8"), check("a/b; xcharset=utf-8")), (None, None, None, None));
    }

    #[test]
    fn a_form_is_in_the_charset_that_it_names() {
        let latin = Encoding::for_label(b"latin1");
        assert_eq!(form(b"a=%E9+%e8&b=\xe9", latin), (json!({ "a": "é è", "b": "é" }), true));
        assert_eq!(form(b"_charset_=Shift_JIS&a=%83e%83X%83g", None), (json!({ "_charset_": "Shift_JIS", "a": "テスト" }), true));
        assert_eq!(form(b"a=%C3%A9&_charset_=latin1", Some(UTF_8)), (json!({ "a": "é", "_charset_": "latin1" }), true));
        assert_eq!(form(b"a=%C3%A9&_charset_=nonsense", None).0["a"], "é");
        assert_eq!(form(b"a=%E9", None), (json!({ "a": "\u{fffd}" }), false));
        assert_eq!(form(b"a&=b&&a=1&%=%zz", None), (json!({ "a": ["", "1"], "": "b", "%": "%zz" }), true));
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
