//! Percent-encoder of request lines. Some clients send bytes in an address that belong escaped
//! (RFC 3986, 2.1): quotes, `<`, `>`, backticks, and text that is no UTF-8. The library refuses
//! most of those with an empty answer before a handler sees the request, so they are escaped before
//! the library reads them.

/// What comes next on a connection. Where that is not certain, nothing is changed any more: behind
/// a body that has no length, and behind a request that was sent together with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Line(Part),
    /// Header lines; whether the current one is empty so far.
    Head(bool),
    /// What follows a head whose request was not begun: so many bytes came of it.
    Behind(u64),
    /// So many bytes of a body.
    Body(u64),
    Unknown,
}

/// Part of a request line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Before its first byte: empty lines may come.
    Start,
    Method,
    Path,
    Query,
    Version,
}

/// Escapes the request lines of one connection.
pub struct RequestLines(Next);

impl Default for RequestLines {
    fn default() -> Self {
        Self(Next::Line(Part::Start))
    }
}

impl RequestLines {
    /// The library read a head. `body`: how many bytes follow; None: that is not known.
    pub fn begins(&mut self, body: Option<u64>) {
        self.0 = match (self.0, body) {
            (Next::Behind(came), Some(length)) if came <= length => Next::Body(length - came),
            _ => Next::Unknown,
        };
    }

    /// What the library reads instead of the next bytes of the connection; None: those.
    pub fn escaped(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (mut escaped, mut at) = (None::<Vec<u8>>, 0);
        while let Some(byte) = bytes.get(at).copied() {
            match self.0 {
                Next::Line(part) if is_escaped(part, byte) => {
                    let hex = format!("%{byte:02X}");
                    escaped.get_or_insert_with(|| bytes[..at].to_vec()).extend(hex.bytes());
                    at += 1;
                    continue;
                }
                Next::Line(part) => self.0 = behind(part, byte),
                Next::Head(true) if byte == b'\n' => self.0 = Next::Behind(0),
                Next::Head(is_empty) => {
                    self.0 = Next::Head(byte == b'\n' || (is_empty && byte == b'\r'));
                }
                Next::Body(0) => {
                    *self = Self::default();
                    continue;
                }
                Next::Body(left) => {
                    let here = (bytes.len() - at).min(usize::try_from(left).unwrap_or(usize::MAX));
                    self.0 = Next::Body(left - here as u64);
                    if let Some(escaped) = &mut escaped {
                        escaped.extend_from_slice(&bytes[at..at + here]);
                    }
                    at += here;
                    continue;
                }
                Next::Behind(_) | Next::Unknown => {
                    if let Next::Behind(came) = &mut self.0 {
                        *came += (bytes.len() - at) as u64;
                    }
                    if let Some(escaped) = &mut escaped {
                        escaped.extend_from_slice(&bytes[at..]);
                    }
                    break;
                }
            }
            if let Some(escaped) = &mut escaped {
                escaped.push(byte);
            }
            at += 1;
        }
        escaped
    }
}

/// Whether a byte is escaped there: of those that have no meaning of their own in an address. What
/// the library takes in a path stays, as code sees paths as they were sent.
fn is_escaped(part: Part, byte: u8) -> bool {
    match part {
        Part::Path => matches!(byte, b'<' | b'>' | b'`' | 0x80..),
        Part::Query => matches!(byte, b'<' | b'>' | b'"' | 0x80..),
        Part::Start | Part::Method | Part::Version => false,
    }
}

/// What follows a byte of a request line.
fn behind(part: Part, byte: u8) -> Next {
    Next::Line(match (part, byte) {
        (Part::Start, b'\r' | b'\n') => Part::Start,
        (_, b'\n') => return Next::Head(true),
        (Part::Start, _) => Part::Method,
        (Part::Method, b' ') => Part::Path,
        (Part::Path, b'?') => Part::Query,
        (Part::Path | Part::Query, b' ') => Part::Version,
        (part, _) => part,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the library reads of pieces; each empty one is a request that begins without a body.
    fn read(pieces: &[&[u8]]) -> String {
        let (mut lines, mut read) = (RequestLines::default(), Vec::new());
        for piece in pieces {
            if piece.is_empty() {
                lines.begins(Some(0));
            }
            read.extend(lines.escaped(piece).unwrap_or_else(|| piece.to_vec()));
        }
        read.iter().copied().map(char::from).collect()
    }

    const SENT: &[u8] =
        b"\r\nPO\"ST /<a>`\"b\"\xe9?q=\"<\xc3\xa9>`' HTTP/1.1\r\nx-a: \"<\xe9>\"\r\n\r\n";
    const READ: &str =
        "\r\nPO\"ST /%3Ca%3E%60\"b\"%E9?q=%22%3C%C3%A9%3E`' HTTP/1.1\r\nx-a: \"<\u{e9}>\"\r\n\r\n";

    #[test]
    fn addresses_alone_are_escaped_however_they_are_cut() {
        for size in 1..=SENT.len() {
            let pieces: Vec<_> = SENT.chunks(size).collect();
            assert_eq!(read(&pieces), READ, "pieces of {size}");
        }
        let mut lines = RequestLines::default();
        assert_eq!(lines.escaped(b"GET /a?b=%22{}|^ HTTP/1.1\r\n\r\n"), None);
    }

    #[test]
    fn each_request_line_of_a_connection_is_known_and_no_body_is() {
        assert_eq!(read(&[SENT, b"", SENT]), READ.repeat(2));
        let mut lines = RequestLines::default();
        lines.escaped(SENT);
        assert_eq!(lines.escaped(b"\"<"), None);
        lines.begins(Some(4));
        assert_eq!(lines.escaped(b"\""), None);
        // The last byte of the body, and the next request with it.
        let next = lines.escaped(&[b">", SENT].concat()).expect("is escaped");
        assert_eq!(next.iter().copied().map(char::from).collect::<String>(), format!(">{READ}"));
        lines.begins(None);
        assert_eq!(lines.escaped(SENT), None, "behind a body without a length");
        // A request that came with the one before it was read already.
        let mut lines = RequestLines::default();
        lines.escaped(&[b"GET / HTTP/1.1\r\n\r\n", SENT].concat());
        lines.begins(Some(0));
        assert_eq!(lines.escaped(SENT), None);
    }
}
