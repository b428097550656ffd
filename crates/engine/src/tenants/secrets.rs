//! Sealing of secrets (spec 2.7.1): AEAD under the master key, bound to what owns them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac as _};
use millrace_model::IdSource;
use millrace_model::component::PropDef;
use millrace_model::ids::DataKeyId;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::EngineError;
use crate::tenants::request_secrets::{self, credentials};

use millrace_model::props::SEALED;

/// What data keys are wrapped under is sealed for this owner, with the key's id behind it.
const WRAPPED: &str = "data key ";

/// The key that wraps the data keys. Never shown.
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

    /// What tells keys apart and may be shown: nothing of the key follows from it.
    pub fn id(&self) -> String {
        sha256_hex(&[b"millrace master key\n", &self.0[..]].concat())[..12].to_owned()
    }

    /// Whether a text is such an id.
    pub fn is_id(text: &str) -> bool {
        text.len() == 12 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    }

    pub(crate) const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn wrap(
        &self,
        ids: &IdSource,
        id: &DataKeyId,
        key: &[u8; 32],
    ) -> Result<String, EngineError> {
        seal(&self.0, ids, &format!("{WRAPPED}{id}"), key)
    }

    /// None where another key wrapped it.
    pub(crate) fn unwrap(&self, id: &DataKeyId, wrapped: &str) -> Option<[u8; 32]> {
        open(&self.0, &format!("{WRAPPED}{id}"), wrapped)?.try_into().ok()
    }
}

/// The data keys, opened. The first of them seals; its id stands before what it sealed. Never
/// shown.
pub(crate) struct Keyring(Vec<(DataKeyId, [u8; 32])>);

impl Keyring {
    /// `keys`: oldest first, at least one.
    pub(crate) const fn new(keys: Vec<(DataKeyId, [u8; 32])>) -> Self {
        Self(keys)
    }

    pub(crate) fn bytes(&self, id: &DataKeyId) -> Option<&[u8; 32]> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, bytes)| bytes)
    }

    fn first(&self) -> Result<&(DataKeyId, [u8; 32]), EngineError> {
        self.0
            .first()
            .ok_or_else(|| EngineError::internal("there is no data key", "the store gave none"))
    }

    /// A code that only these keys make for `text`: 43 characters of `[0-9A-Za-z_-]`. `purpose`
    /// keeps codes of one use from being those of another.
    pub(crate) fn code(&self, purpose: &str, text: &str) -> String {
        // No purpose holds a line break, so no two pairs are the same text. Each run pays for this:
        // one HMAC, no key of its own.
        let key = self.0.first().map_or(&[0; 32], |(_, bytes)| bytes);
        URL_SAFE_NO_PAD.encode(hmac_sha256(key, format!("millrace {purpose}\n{text}").as_bytes()))
    }

    pub(crate) fn seal(
        &self,
        ids: &IdSource,
        owner: &str,
        plain: &str,
    ) -> Result<String, EngineError> {
        let (id, key) = self.first()?;
        Ok(format!("{id}:{}", seal(key, ids, owner, plain.as_bytes())?))
    }

    pub(crate) fn open(&self, owner: &str, sealed: &str) -> Result<String, EngineError> {
        let failed = || {
            EngineError::damaged(
                "a sealed secret",
                "it was not sealed for this record by this server's data keys",
            )
        };
        let (key, text) = match sealed.split_once(':') {
            Some((id, text)) => (
                self.0
                    .iter()
                    .find(|(known, _)| known.as_str() == id)
                    .map(|(_, bytes)| bytes)
                    .ok_or_else(failed)?,
                text,
            ),
            // Sealed before there were data keys: the first of them is the key of then.
            None => (&self.first()?.1, sealed),
        };
        String::from_utf8(open(key, owner, text).ok_or_else(failed)?).map_err(|_| failed())
    }

    /// Seals the values of secret props, and credentials within requests, for storing; those sealed
    /// already stay.
    pub(crate) fn seal_props(
        &self,
        ids: &IdSource,
        owner: &str,
        defs: &[PropDef],
        props: &mut Map<String, Value>,
    ) -> Result<(), EngineError> {
        for def in defs.iter().filter(|d| d.secret == Some(true)) {
            if let Some(value) = props.get_mut(&def.name).filter(|v| v.get(SEALED).is_none()) {
                *value = self.sealed(ids, owner, value)?;
            }
        }
        for (_, credential) in props.values_mut().flat_map(credentials) {
            if credential.get(SEALED).is_none() {
                *credential = self.sealed(ids, owner, credential)?;
            }
        }
        Ok(())
    }

    fn sealed(&self, ids: &IdSource, owner: &str, value: &Value) -> Result<Value, EngineError> {
        Ok(json!({ SEALED: self.seal(ids, owner, &value.to_string())? }))
    }

    /// Opens all sealed values for a run.
    pub(crate) fn open_props(
        &self,
        owner: &str,
        props: &mut Map<String, Value>,
    ) -> Result<(), EngineError> {
        for value in props.values_mut() {
            self.open_value(owner, value)?;
            for (_, credential) in credentials(value) {
                self.open_value(owner, credential)?;
            }
        }
        Ok(())
    }

    fn open_value(&self, owner: &str, value: &mut Value) -> Result<(), EngineError> {
        if let Some(sealed) = value.get(SEALED).and_then(Value::as_str) {
            let plain = self.open(owner, sealed)?;
            *value = millrace_model::json::from_str(&plain)
                .map_err(|_| EngineError::damaged("a sealed secret", "it is not JSON"))?;
        }
        Ok(())
    }
}

/// Whether two secrets, or their hashes, are the same, in a time that does not tell how much of
/// them is.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

fn seal(key: &[u8; 32], ids: &IdSource, owner: &str, plain: &[u8]) -> Result<String, EngineError> {
    let nonce = ids.bytes::<24>();
    let sealed = XChaCha20Poly1305::new(key.into())
        .encrypt(&XNonce::from(nonce), Payload { msg: plain, aad: owner.as_bytes() })
        .map_err(|_| EngineError::internal("could not seal a secret", "the cipher refused"))?;
    Ok(STANDARD.encode([&nonce[..], &sealed].concat()))
}

fn open(key: &[u8; 32], owner: &str, sealed: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(sealed).ok()?;
    let (nonce, text) = bytes.split_first_chunk::<24>()?;
    XChaCha20Poly1305::new(key.into())
        .decrypt(&XNonce::from(*nonce), Payload { msg: text, aad: owner.as_bytes() })
        .ok()
}

/// Takes sealed values away before a record is shown (reference 2: a secret is never returned), and
/// hides the credentials within requests.
pub(crate) fn hide_sealed(props: &mut Map<String, Value>) {
    props.retain(|_, value| value.get(SEALED).is_none());
    props.values_mut().for_each(request_secrets::hide);
}

/// Names of the props whose values are sealed.
pub(crate) fn sealed_names(props: &Map<String, Value>) -> Vec<String> {
    props
        .iter()
        .filter(|(_, value)| value.get(SEALED).is_some())
        .map(|(name, _)| name.clone())
        .collect()
}

/// Copies sealed values of secrets that were not given.
pub(crate) fn keep_sealed(
    defs: &[PropDef],
    given: &Map<String, Value>,
    before: &Map<String, Value>,
    values: &mut Map<String, Value>,
) {
    for def in defs.iter().filter(|def| def.secret == Some(true) && !given.contains_key(&def.name))
    {
        if let Some(sealed) = before.get(&def.name).filter(|value| value.get(SEALED).is_some()) {
            values.insert(def.name.clone(), sealed.clone());
        }
    }
}

/// HMAC-SHA256.
pub(crate) fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
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
    fn secrets_are_the_same_or_not_whatever_they_share() {
        let hash = sha256_hex(b"a key");
        assert!(same(hash.as_bytes(), hash.as_bytes()) && same(b"", b""));
        for other in [
            String::new(),
            hash[1..].to_owned(),
            format!("{hash}0"),
            hash.to_uppercase(),
            sha256_hex(b"another"),
            format!("{}0", &hash[..63]),
        ] {
            assert_eq!(same(hash.as_bytes(), other.as_bytes()), other == hash, "{other}");
        }
    }

    fn ring(byte: u8) -> Keyring {
        Keyring::new(vec![(DataKeyId::from_row(format!("dk_{byte}")), [byte; 32])])
    }

    #[test]
    fn codes_differ_by_key_purpose_and_text() {
        let key = ring(7);
        let codes =
            [key.code("a", "x"), key.code("a", "y"), key.code("b", "x"), ring(8).code("a", "x")];
        assert_eq!(codes.iter().collect::<std::collections::HashSet<_>>().len(), 4);
        assert!(codes.iter().all(|c| c.len() == 43) && codes[0] == key.code("a", "x"));
    }

    #[test]
    fn a_secret_opens_only_for_its_owner_and_under_its_key() {
        let (key, ids) = (ring(7), IdSource::default());
        let sealed = key.seal(&ids, "dc_a", "s3cret").expect("seals");
        assert!(sealed.starts_with("dk_7:") && !sealed.contains("s3cret"));
        assert_eq!(key.open("dc_a", &sealed).expect("opens"), "s3cret");
        assert!(key.open("dc_b", &sealed).is_err());
        assert!(ring(8).open("dc_a", &sealed).is_err());
        // As it was sealed before there were data keys.
        assert_eq!(key.open("dc_a", sealed.trim_start_matches("dk_7:")).expect("opens"), "s3cret");
    }

    #[test]
    fn a_data_key_opens_only_under_its_master_key() {
        let (master, ids, id) =
            (MasterKey::new([1; 32]), IdSource::default(), DataKeyId::from_row("dk_1".into()));
        let wrapped = master.wrap(&ids, &id, &[9; 32]).expect("wraps");
        assert_eq!(master.unwrap(&id, &wrapped), Some([9; 32]));
        assert_eq!(master.unwrap(&DataKeyId::from_row("dk_2".into()), &wrapped), None);
        assert_eq!(MasterKey::new([2; 32]).unwrap(&id, &wrapped), None);
        assert_eq!((master.id().len(), master.id() == MasterKey::new([2; 32]).id()), (12, false));
    }
}
