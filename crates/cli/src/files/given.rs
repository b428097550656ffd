//! Reader of texts that other programs wrote for a command: UTF-8 with or without a byte order
//! mark, and UTF-16 with one, which is what `>` of Windows PowerShell writes.

use std::io::{self, Read as _};
use std::path::Path;

use crate::error::CliError;

/// The text of a file.
pub(crate) fn file(path: &Path) -> Result<String, CliError> {
    let read = std::fs::read(path).and_then(text);
    read.map_err(|source| CliError::Read { path: path.into(), source })
}

/// What comes on standard input, at most so many bytes.
pub(crate) fn stdin(bytes_max: u64) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let read = io::stdin().take(bytes_max).read_to_end(&mut bytes).and_then(|_| text(bytes));
    read.map_err(|source| CliError::Read { path: "-".into(), source })
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (units, rest) = bytes.as_chunks::<2>();
        let text = String::from_utf16(&units.iter().copied().map(unit).collect::<Vec<_>>());
        text.ok().filter(|_| rest.is_empty())
    };
    let read = match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8(rest.to_vec()).ok(),
        _ => String::from_utf8(bytes).ok(),
    };
    read.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is neither UTF-8 nor UTF-16"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_windows_programs_are_read() {
        let units: Vec<u16> = "{\"a\": \"é😀\"}".encode_utf16().collect();
        let little = units.iter().flat_map(|unit| unit.to_le_bytes());
        let big = units.iter().flat_map(|unit| unit.to_be_bytes());
        for bytes in [
            [0xff, 0xfe].into_iter().chain(little).collect(),
            [0xfe, 0xff].into_iter().chain(big).collect(),
            "\u{feff}{\"a\": \"é😀\"}".as_bytes().to_vec(),
            "{\"a\": \"é😀\"}".as_bytes().to_vec(),
        ] {
            assert_eq!(text(bytes).expect("is text"), "{\"a\": \"é😀\"}");
        }
        for wrong in [&b"\xff\xfea"[..], b"\xff\xfe\0\xd8", b"\xe9", b"\xef\xbb\xbf\xe9"] {
            assert!(text(wrong.to_vec()).is_err(), "{wrong:?}");
        }
    }
}
