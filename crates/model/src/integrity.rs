//! Checksums of packages' archives, as registries name them: Subresource Integrity, and the SHA-1
//! in hex of old packages.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA384, SHA512, digest};

/// Base64 with or without padding, as npm takes it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The checksums that are known, the strongest first.
fn algorithms() -> [(&'static str, &'static Algorithm); 4] {
    [
        ("sha512", &SHA512),
        ("sha384", &SHA384),
        ("sha256", &SHA256),
        ("sha1", &SHA1_FOR_LEGACY_USE_ONLY),
    ]
}

/// The checksum of an archive as the `dist` of a package's version names it: `integrity`, else
/// `shasum`. Empty where it names none.
pub fn integrity_of(integrity: Option<&str>, shasum: Option<&str>) -> String {
    let integrity = integrity.map(str::trim).filter(|text| !text.is_empty());
    let shasum = shasum.map(str::trim).filter(|text| !text.is_empty());
    match (integrity, shasum) {
        (Some(integrity), _) => integrity.to_owned(),
        // What is no hex gives a checksum that nothing has.
        (None, Some(shasum)) => {
            format!("sha1-{}", BASE64.encode(from_hex(shasum).unwrap_or_default()))
        }
        (None, None) => String::new(),
    }
}

/// Whether bytes have a checksum. Of several values those of the strongest algorithm count, and one
/// of them fits; `?` begins options, which mean nothing. Without any value everything fits, with
/// values of unknown algorithms alone nothing.
pub fn has_integrity(bytes: &[u8], integrity: &str) -> bool {
    let values: Vec<(&str, &str)> = integrity
        .split_whitespace()
        .filter_map(|value| value.split('?').next()?.split_once('-'))
        .collect();
    for (name, algorithm) in algorithms() {
        let mut expected = values.iter().filter(|(of, _)| *of == name).peekable();
        if expected.peek().is_some() {
            let found = digest(algorithm, bytes);
            return expected
                .any(|(_, value)| BASE64.decode(value).is_ok_and(|value| value == found.as_ref()));
        }
    }
    integrity.trim().is_empty()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checksums of `abc`.
    const SHA1_HEX: &str = "a9993e364706816aba3e25717850c26c9cd0d89d";
    const SHA1: &str = "sha1-qZk+NkcGgWq6PiVxeFDCbJzQ2J0=";
    const SHA256: &str = "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=";
    const SHA384: &str = "sha384-ywB1P0WjXou1oD1pmsZQBycsMqsO3tFjGotgWkP/W+2AhgcroefMI1i67KE0yCWn";
    const SHA512: &str = "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==";

    #[test]
    fn archives_are_checked_by_the_strongest_checksum_that_is_named() {
        let other = |value: &str| value.replacen('-', "-A", 1).replace("=", "");
        for (integrity, fits) in [
            (String::new(), true),
            (SHA1.into(), true),
            (SHA256.into(), true),
            (SHA384.into(), true),
            (SHA512.into(), true),
            (format!("{SHA512}?opt"), true),
            (SHA512.replace('=', ""), true),
            (format!("sha512-AAAA {SHA512}"), true),
            (format!("  {SHA512}\n{}", other(SHA1)), true),
            (format!("md5-AAAA {SHA1}"), true),
            (format!("sha512-AAAA {SHA256}"), false),
            (format!("{SHA1} sha256-AAAA"), false),
            (other(SHA1), false),
            (other(SHA256), false),
            (other(SHA384), false),
            (other(SHA512), false),
            ("sha1-".into(), false),
            ("md5-kAFQmDzST7DWlj99KOF/cg==".into(), false),
            ("nonsense".into(), false),
            (SHA1_HEX.into(), false),
        ] {
            assert_eq!(has_integrity(b"abc", &integrity), fits, "{integrity}");
        }
    }

    #[test]
    fn a_shasum_counts_where_there_is_no_integrity() {
        for (integrity, shasum, expected) in [
            (None, None, ""),
            (None, Some(SHA1_HEX), SHA1),
            (Some(""), Some(&*SHA1_HEX.to_uppercase()), SHA1),
            (Some(SHA512), Some(SHA1_HEX), SHA512),
            (None, Some(""), ""),
            (None, Some("zz"), "sha1-"),
            (None, Some("a99"), "sha1-"),
        ] {
            assert_eq!(integrity_of(integrity, shasum), expected, "{integrity:?} {shasum:?}");
        }
    }
}
