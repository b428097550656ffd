//! Heads of the parts of a form, and the parameters of header fields.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use percent_encoding::percent_decode;

use crate::accept::charsets::{of_label, text_of};

/// Bytes that a boundary may have; RFC 2046 allows 70.
const BOUNDARY_BYTES_MAX: usize = 256;
const FORM: &[u8] = b"multipart/form-data";
/// Parameters of a header field that are looked at: names in pieces are searched for one by one.
const PARAMETERS_MAX: usize = 64;

/// What separates the parts of a form; None where a media type is not that of a form, or names
/// nothing that does. Clients leave the quotes away that a boundary such as `==1/2==` needs, or
/// write a comma before the parameter.
pub fn boundary_of(media_type: &str) -> Option<String> {
    let (essence, rest) = media_type.trim_start().as_bytes().split_at_checked(FORM.len())?;
    let is_form =
        essence.eq_ignore_ascii_case(FORM) && rest.first().is_none_or(|c| b";, \t".contains(c));
    if !is_form {
        return None;
    }
    let rest = rest.trim_ascii_start().strip_prefix(b",").unwrap_or(rest);
    let (_, value) = parameters(rest).into_iter().find(|(name, _)| name == "boundary")?;
    let allowed = 1..=BOUNDARY_BYTES_MAX;
    String::from_utf8(value).ok().filter(|boundary| allowed.contains(&boundary.len()))
}

/// How the content of a part is encoded (RFC 2045, 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TransferEncoding {
    #[default]
    Identity,
    Base64,
    QuotedPrintable,
}

/// The head of a part.
#[derive(Debug, Default)]
pub(crate) struct PartHead {
    pub(crate) name: Word,
    pub(crate) file_name: Option<Word>,
    pub(crate) media_type: Option<String>,
    pub(crate) encoding: TransferEncoding,
}

/// A name, in a charset that it says itself or that the form is in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Word {
    bytes: Vec<u8>,
    charset: Option<&'static Encoding>,
}

impl Word {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.bytes == name.as_bytes()
    }

    /// Its text in a form that is in this charset, or that names none: UTF-8 then, or what clients
    /// sent before that.
    pub(crate) fn text(&self, of_form: Option<&'static Encoding>) -> String {
        let charset = self.charset.or(of_form).unwrap_or(UTF_8);
        let (text, is_whole) = text_of(charset, &self.bytes);
        if is_whole {
            return text.into_owned();
        }
        WINDOWS_1252.decode_without_bom_handling(&self.bytes).0.into_owned()
    }
}

impl PartHead {
    /// Of the lines between a boundary and the empty line.
    pub(crate) fn of(lines: &[u8]) -> Self {
        let fields = unfolded(lines);
        let field = |wanted: &str| {
            fields.iter().find_map(|line| {
                let at = line.iter().position(|byte| *byte == b':')?;
                let name = line[..at].trim_ascii();
                name.eq_ignore_ascii_case(wanted.as_bytes()).then(|| line[at + 1..].trim_ascii())
            })
        };
        let disposition = parameters(field("content-disposition").unwrap_or_default());
        let encoding = field("content-transfer-encoding").unwrap_or_default();
        let encoding = match encoding.to_ascii_lowercase().as_slice() {
            b"base64" => TransferEncoding::Base64,
            b"quoted-printable" => TransferEncoding::QuotedPrintable,
            _ => TransferEncoding::Identity,
        };
        Self {
            name: word(&disposition, "name").unwrap_or_default(),
            file_name: word(&disposition, "filename"),
            media_type: field("content-type").map(|value| String::from_utf8_lossy(value).into()),
            encoding,
        }
    }
}

/// Lines of a head; one that begins with a blank goes on with the line before (RFC 5322, 2.2.3).
fn unfolded(lines: &[u8]) -> Vec<Cow<'_, [u8]>> {
    let mut fields: Vec<Cow<'_, [u8]>> = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match fields.last_mut() {
            Some(before) if line.starts_with(b" ") || line.starts_with(b"\t") => {
                before.to_mut().extend_from_slice(line);
            }
            _ => fields.push(Cow::Borrowed(line)),
        }
    }
    fields
}

/// The parameters of a header field, their names in small letters, in their order.
fn parameters(value: &[u8]) -> Vec<(String, Vec<u8>)> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = value.split(|byte| {
        let ends = *byte == b';' && !is_quoted;
        is_quoted ^= *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && is_quoted && !is_escaped;
        ends
    });
    parts
        .filter_map(|part| {
            let at = part.iter().position(|byte| *byte == b'=')?;
            let name = String::from_utf8_lossy(part[..at].trim_ascii()).to_ascii_lowercase();
            Some((name, unquoted(part[at + 1..].trim_ascii())))
        })
        .take(PARAMETERS_MAX)
        .collect()
}

/// A value without its quotes. A backslash escapes a quote or itself alone: old browsers send
/// `C:\new.txt` as it is.
fn unquoted(value: &[u8]) -> Vec<u8> {
    let Some(inner) = value.strip_prefix(b"\"") else { return value.to_vec() };
    let inner = inner.strip_suffix(b"\"").unwrap_or(inner);
    let mut text = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let escaped = (byte == b'\\').then(|| bytes.next_if(|next| b"\"\\".contains(next)));
        text.push(escaped.flatten().unwrap_or(byte));
    }
    text
}

/// A parameter that is text, in whichever way it is given: `name*` (RFC 5987), `name`, or in pieces
/// (RFC 2231, 3 and 4), as Python's libraries send a long one.
fn word(parameters: &[(String, Vec<u8>)], name: &str) -> Option<Word> {
    let get = |wanted: &str| {
        parameters.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_slice())
    };
    if let Some(word) = get(&format!("{name}*")).and_then(extended) {
        return Some(word);
    }
    if let Some(bytes) = get(name) {
        return Some(Word { bytes: bytes.to_vec(), charset: None });
    }
    let mut whole: Option<Word> = None;
    for at in 0..parameters.len() {
        let coded = get(&format!("{name}*{at}*"));
        let Some(piece) = coded.or_else(|| get(&format!("{name}*{at}"))) else { break };
        match (&mut whole, coded) {
            (None, Some(piece)) => whole = Some(extended(piece)?),
            (None, None) => whole = Some(Word { bytes: piece.to_vec(), charset: None }),
            (Some(whole), Some(piece)) => whole.bytes.extend(percent_decode(piece)),
            (Some(whole), None) => whole.bytes.extend_from_slice(piece),
        }
    }
    whole
}

/// `charset'language'%XX…`; None where the charset is not known.
fn extended(value: &[u8]) -> Option<Word> {
    let mut parts = value.splitn(3, |byte| *byte == b'\'');
    let (label, _, escaped) = (parts.next()?, parts.next()?, parts.next()?);
    Some(Word { bytes: percent_decode(escaped).collect(), charset: Some(of_label(label)?) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_boundary_is_taken_as_clients_send_it() {
        let check = |media_type: &str, expected: Option<&str>| {
            assert_eq!(boundary_of(media_type).as_deref(), expected, "{media_type}");
        };
        check("multipart/form-data; boundary=b", Some("b"));
        check("Multipart/Form-Data;charset=utf-8; BOUNDARY=\"a b;c\"; x", Some("a b;c"));
        check("multipart/form-data; boundary====1700===", Some("===1700==="));
        for boundary in ["----=_Part_1_2.3/4=", "a,b", "a(b)", "a:b", "a'b", "'b'"] {
            check(&format!("multipart/form-data; boundary={boundary}"), Some(boundary));
        }
        check("multipart/form-data, boundary=b", Some("b"));
        check("multipart/form-data; boundary= b ; foo", Some("b"));
        check("multipart/form-data; charset=; boundary=b", Some("b"));
        check("multipart/form-data", None);
        check("multipart/form-data; boundary=", None);
        check(&format!("multipart/form-data; boundary={}", "b".repeat(257)), None);
        check("multipart/form-database; boundary=b", None);
        check("multipart/mixed; boundary=b", None);
    }

    #[test]
    fn names_are_taken_as_clients_send_them() {
        let check = |disposition: &str, name: &str, file_name: Option<&str>| {
            let head = PartHead::of(format!("Content-Disposition: {disposition}").as_bytes());
            assert_eq!(head.name.text(None), name, "{disposition}");
            let given = head.file_name.map(|word| word.text(None));
            assert_eq!(given.as_deref(), file_name, "{disposition}");
        };
        check("form-data; name=\"a\"; filename=\"x y.txt\"", "a", Some("x y.txt"));
        check("form-data; NAME=a; FileName=x.txt", "a", Some("x.txt"));
        check("form-data; name=\"a; filename=z\"", "a; filename=z", None);
        check("form-data; filename=\"n=1; name=z.txt\"; name=\"f\"", "f", Some("n=1; name=z.txt"));
        check(r#"form-data; name="a"; filename="say \"hi\".txt""#, "a", Some("say \"hi\".txt"));
        check(r#"form-data; name="a"; filename="C:\new\b.txt""#, "a", Some(r"C:\new\b.txt"));
        check("form-data; name=\"\"; filename=\"\"", "", Some(""));
        check(
            "form-data; filename*=UTF-8''na%C3%AFve.txt; filename=x; name=a",
            "a",
            Some("naïve.txt"),
        );
        check("form-data; name*=iso-8859-1'en'%E9; filename*=none''x", "é", None);
        let pieces = "form-data; name=a; filename*0*=utf-8''%C3%A9; filename*1=b; filename*2*=%20c";
        check(pieces, "a", Some("éb c"));
        check("form-data;\r\n name=\"a\";\r\n\tfilename=\"b\"", "a", Some("b"));
        check("", "", None);
        let many: String = (0..100).map(|at| format!("; name*{at}=x")).collect();
        check(&format!("form-data{many}"), &"x".repeat(PARAMETERS_MAX), None);
    }

    #[test]
    fn a_name_is_in_its_own_charset_or_in_that_of_the_form() {
        let shift_jis = Encoding::for_label(b"shift_jis");
        let word = |bytes: &[u8]| Word { bytes: bytes.to_vec(), charset: None };
        assert_eq!(word(b"\x83e\x83X\x83g").text(shift_jis), "テスト");
        assert_eq!(word("é".as_bytes()).text(None), "é");
        assert_eq!(word(b"\xe9.csv").text(None), "é.csv");
        let own = Word { charset: Some(UTF_8), ..word("é".as_bytes()) };
        assert_eq!(own.text(shift_jis), "é");
    }

    proptest! {
        /// However a client quotes a name, no other parameter changes it.
        #[test]
        fn a_quoted_name_is_what_it_was(name in "[a-z;=\" \\\\]{0,12}", file in "[a-z;=\" \\\\]{0,12}") {
            let quoted = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"");
            let lines = format!("content-disposition: form-data; filename=\"{}\"; name=\"{}\"", quoted(&file), quoted(&name));
            let head = PartHead::of(lines.as_bytes());
            prop_assert_eq!(head.name.text(None), name);
            prop_assert_eq!(head.file_name.expect("a file").text(None), file);
        }
    }
}
