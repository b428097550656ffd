//! Transfer encodings of a form's parts (RFC 2045, 6), as mail libraries use them.

use bytes::Bytes;

use crate::accept::form_head::TransferEncoding;

/// Decodes a content piece by piece.
pub(crate) struct Decoder {
    encoding: TransferEncoding,
    /// Bits of base64 that make no byte yet, and how many they are.
    bits: (u32, u32),
    /// What follows a `=` of quoted-printable, and it.
    escape: Vec<u8>,
}

impl Decoder {
    pub(crate) fn new(encoding: TransferEncoding) -> Self {
        Self { encoding, bits: (0, 0), escape: Vec::new() }
    }

    pub(crate) fn feed(&mut self, piece: Bytes) -> Bytes {
        match self.encoding {
            TransferEncoding::Identity => piece,
            TransferEncoding::Base64 => {
                piece.iter().filter_map(|byte| self.base64(*byte)).collect()
            }
            TransferEncoding::QuotedPrintable => {
                let mut decoded = Vec::with_capacity(piece.len());
                piece.iter().for_each(|byte| self.quoted_printable(*byte, &mut decoded));
                decoded.into()
            }
        }
    }

    /// What is left at the end: an escape that was cut off is given as it came.
    pub(crate) fn finish(&mut self) -> Bytes {
        std::mem::take(&mut self.escape).into()
    }

    /// Other characters are passed over, as RFC 2045 says (6.8).
    fn base64(&mut self, byte: u8) -> Option<u8> {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => {
                self.bits = (0, 0);
                return None;
            }
            _ => return None,
        };
        let (bits, count) = ((self.bits.0 << 6) | u32::from(value), self.bits.1 + 6);
        let (decoded, left) = if count >= 8 { (true, count - 8) } else { (false, count) };
        self.bits = (bits & ((1 << left) - 1), left);
        decoded.then(|| u8::try_from(bits >> left).unwrap_or_default())
    }

    fn quoted_printable(&mut self, byte: u8, decoded: &mut Vec<u8>) {
        if self.escape.is_empty() && byte != b'=' {
            decoded.push(byte);
            return;
        }
        self.escape.push(byte);
        let hex =
            |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match self.escape[1..] {
            [] | [b'\r'] => return,
            // The line was broken for the way.
            [b'\n'] | [b'\r', b'\n'] => {}
            [high] if hex(high).is_some() => return,
            [high, low] if hex(low).is_some() && high != b'\r' => {
                decoded.extend(hex(high).zip(hex(low)).map(|(high, low)| (high << 4) | low));
            }
            _ => decoded.extend_from_slice(&self.escape),
        }
        self.escape.clear();
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    fn decoded(encoding: TransferEncoding, text: &[u8], piece: usize) -> Vec<u8> {
        let mut decoder = Decoder::new(encoding);
        let mut all: Vec<u8> = Vec::new();
        for piece in text.chunks(piece) {
            all.extend(decoder.feed(Bytes::copy_from_slice(piece)));
        }
        all.extend(decoder.finish());
        all
    }

    #[test]
    fn what_is_quoted_comes_as_it_was_however_it_is_cut() {
        let check = |text: &str, expected: &str| {
            for piece in 1..=text.len() {
                let read = decoded(TransferEncoding::QuotedPrintable, text.as_bytes(), piece);
                assert_eq!(String::from_utf8_lossy(&read), expected, "{text} {piece}");
            }
        };
        check("caf=C3=A9=\r\n au=\n lait=3d", "café au lait=");
        check("100=% =zz =4", "100=% =zz =4");
        check("a=\rb", "a=\rb");
    }

    proptest! {
        #[test]
        fn what_is_base64_comes_as_it_was(bytes in proptest::collection::vec(any::<u8>(), 0..200), line in 1..90_usize, piece in 1..50_usize) {
            let text = STANDARD.encode(&bytes);
            let lines: Vec<u8> = text.as_bytes().chunks(line).flat_map(|line| [line, b"\r\n"].concat()).collect();
            prop_assert_eq!(decoded(TransferEncoding::Base64, &lines, piece), bytes);
        }
    }
}
