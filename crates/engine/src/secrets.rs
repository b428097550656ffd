//! Sealing of secrets (spec 2.7.1): AEAD under the master key, bound to what owns them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use millrace_model::IdSource;
use millrace_model::component::PropDef;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::EngineError;

const SEALED: &str = "$sealed";

/// The key that seals secrets. Never shown.
#[derive(Clone)]
pub struct MasterKey([u8; 32]);

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MasterKey(…)")
    }
}

impl MasterKey {
    /// A key of 32 bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// A code that only this key makes for `text`: 43 characters of `[0-9A-Za-z_-]`. `purpose` keeps codes of one use from being those of another.
    pub(crate) fn code(&self, purpose: &str, text: &str) -> String {
        // No purpose holds a line break, so no two pairs are the same text. Each run pays for this: one HMAC, no key of its own.
        URL_SAFE_NO_PAD.encode(hmac_sha256(&self.0, format!("millrace {purpose}\n{text}").as_bytes()))
    }

    pub(crate) fn seal(&self, ids: &IdSource, owner: &str, plain: &str) -> Result<String, EngineError> {
        let nonce = ids.bytes::<24>();
        let sealed = XChaCha20Poly1305::new(&self.0.into())
            .encrypt(&XNonce::from(nonce), Payload { msg: plain.as_bytes(), aad: owner.as_bytes() })
            .map_err(|_| EngineError::internal("could not seal a secret", "the cipher refused"))?;
        Ok(STANDARD.encode([&nonce[..], &sealed].concat()))
    }

    pub(crate) fn open(&self, owner: &str, sealed: &str) -> Result<String, EngineError> {
        let failed = || EngineError::internal("could not open a secret; is the master key the one it was sealed with?", "the cipher refused");
        let bytes = STANDARD.decode(sealed).map_err(|_| failed())?;
        let (nonce, text) = bytes.split_first_chunk::<24>().ok_or_else(failed)?;
        let plain =
            XChaCha20Poly1305::new(&self.0.into()).decrypt(&XNonce::from(*nonce), Payload { msg: text, aad: owner.as_bytes() }).map_err(|_| failed())?;
        String::from_utf8(plain).map_err(|_| failed())
    }

    /// Seals the values of secret props for storing; those sealed already stay.
    pub(crate) fn seal_props(&self, ids: &IdSource, owner: &str, defs: &[PropDef], props: &mut Map<String, Value>) -> Result<(), EngineError> {
        for def in defs.iter().filter(|d| d.secret == Some(true)) {
            if let Some(value) = props.get_mut(&def.name).filter(|v| v.get(SEALED).is_none()) {
                *value = json!({ SEALED: self.seal(ids, owner, &value.to_string())? });
            }
        }
        Ok(())
    }

    /// Opens all sealed values for a run.
    pub(crate) fn open_props(&self, owner: &str, props: &mut Map<String, Value>) -> Result<(), EngineError> {
        for value in props.values_mut() {
            if let Some(sealed) = value.get(SEALED).and_then(Value::as_str) {
                let plain = self.open(owner, sealed)?;
                *value = serde_json::from_str(&plain).map_err(|e| EngineError::internal("a secret is damaged", e))?;
            }
        }
        Ok(())
    }
}

/// Takes sealed values away before a record is shown (reference 2: a secret is never returned).
pub(crate) fn hide_sealed(props: &mut Map<String, Value>) {
    props.retain(|_, value| value.get(SEALED).is_none());
}

/// HMAC (RFC 2104) with SHA-256, for keys of at most its block.
fn hmac_sha256(key: &[u8; 32], text: &[u8]) -> [u8; 32] {
    let padded = |with: u8| {
        let mut block = [with; 64];
        block.iter_mut().zip(key).for_each(|(b, k)| *b ^= k);
        block
    };
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}

/// SHA-256 in lower case hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut out, b| {
        // Writing to a String cannot fail.
        let _ = write!(out, "{b:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hmac_is_that_of_the_standard() {
        // RFC 4231, case 2: a key is padded with zeros, so a short one is the same with zeros of its own.
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        let hex: String = hmac_sha256(&key, b"what do ya want for nothing?").iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn codes_differ_by_key_purpose_and_text() {
        let key = MasterKey::new([7; 32]);
        let codes = [key.code("a", "x"), key.code("a", "y"), key.code("b", "x"), MasterKey::new([8; 32]).code("a", "x")];
        assert_eq!(codes.iter().collect::<std::collections::HashSet<_>>().len(), 4);
        assert!(codes.iter().all(|c| c.len() == 43) && codes[0] == key.code("a", "x"));
    }

    #[test]
    fn a_secret_opens_only_for_its_owner() {
        let (key, ids) = (MasterKey::new([7; 32]), IdSource::default());
        let sealed = key.seal(&ids, "dc_a", "s3cret").expect("seals");
        assert!(!sealed.contains("s3cret"));
        assert_eq!(key.open("dc_a", &sealed).expect("opens"), "s3cret");
        assert!(key.open("dc_b", &sealed).is_err());
        assert!(MasterKey::new([8; 32]).open("dc_a", &sealed).is_err());
    }
}
