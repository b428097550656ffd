//! Sealing of secrets (spec 2.7.1): AEAD under the master key, bound to what owns them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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
    fn a_secret_opens_only_for_its_owner() {
        let (key, ids) = (MasterKey::new([7; 32]), IdSource::default());
        let sealed = key.seal(&ids, "dc_a", "s3cret").expect("seals");
        assert!(!sealed.contains("s3cret"));
        assert_eq!(key.open("dc_a", &sealed).expect("opens"), "s3cret");
        assert!(key.open("dc_b", &sealed).is_err());
        assert!(MasterKey::new([8; 32]).open("dc_a", &sealed).is_err());
    }
}
