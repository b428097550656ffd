//! Data stores: values that the workflows and sources of an organization share, and their bounds.

use crate::clock::Timestamp;
use crate::ids::{DataStoreId, OrgId};

/// The longest key, UTF-16 units as JavaScript counts them.
pub const KEY_UNITS_MAX: usize = 1024;
/// The largest value, bytes of its JSON.
pub const VALUE_BYTES_MAX: usize = 1 << 20;
/// Keys of one store.
pub const KEYS_MAX: u64 = 100_000;
/// Keys and values of one store in all, bytes.
pub const STORE_BYTES_MAX: u64 = 256 << 20;
/// Stores of one organization.
pub const STORES_MAX: u64 = 1000;
/// The longest time that a value may be given to live, seconds: a hundred years.
pub const TTL_SECONDS_MAX: f64 = 100.0 * 366.0 * 24.0 * 3600.0;

/// A data store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataStore {
    /// Its id.
    pub id: DataStoreId,
    /// The organization.
    pub org_id: OrgId,
    /// Its name, unique within the organization.
    pub name: String,
    /// Keys that are stored, among them such as have ended and were not cleared away yet.
    pub keys: u64,
    /// What they and their values take, bytes.
    pub bytes: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was renamed last.
    pub updated_at: Timestamp,
}

/// What an operation on a store may not do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DataStoreError {
    /// A key that cannot be.
    #[error("a key of a data store has 1 to {KEY_UNITS_MAX} characters; this has {units}")]
    Key {
        /// Its length, UTF-16 units.
        units: usize,
    },
    /// A value that is too large.
    #[error(
        "the value of the key `{key}` has {bytes} bytes, allowed are {VALUE_BYTES_MAX}; keep large data outside and store where it is"
    )]
    Value {
        /// The key, shortened.
        key: String,
        /// The size.
        bytes: usize,
    },
    /// A time to live that cannot be.
    #[error("`{ttl}` is not a time to live; allowed are seconds above 0, up to {TTL_SECONDS_MAX}")]
    Ttl {
        /// What was given, seconds.
        ttl: f64,
    },
}

/// Checks a key.
pub fn check_key(key: &str) -> Result<(), DataStoreError> {
    let units = key.encode_utf16().count();
    if (1..=KEY_UNITS_MAX).contains(&units) { Ok(()) } else { Err(DataStoreError::Key { units }) }
}

/// Checks a value, given as JSON text.
pub fn check_value(key: &str, json: &str) -> Result<(), DataStoreError> {
    if json.len() <= VALUE_BYTES_MAX {
        return Ok(());
    }
    Err(DataStoreError::Value { key: crate::shown(key), bytes: json.len() })
}

/// When a value ends that is to live `ttl` seconds from `now`; fractions count.
pub fn expires_at(ttl: f64, now: Timestamp) -> Result<Timestamp, DataStoreError> {
    if !(ttl > 0.0 && ttl <= TTL_SECONDS_MAX) {
        return Err(DataStoreError::Ttl { ttl });
    }
    Ok(now.plus_ms((ttl * 1000.0).ceil() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_keys_values_and_times() {
        assert!(check_key("k").is_ok() && check_key(&"ü".repeat(1024)).is_ok());
        assert_eq!(check_key(""), Err(DataStoreError::Key { units: 0 }));
        // An emoji is two units in JavaScript.
        assert_eq!(check_key(&"\u{1F600}".repeat(513)), Err(DataStoreError::Key { units: 1026 }));
        assert!(
            check_value("k", &"x".repeat(VALUE_BYTES_MAX)).is_ok()
                && check_value("k", &"x".repeat(VALUE_BYTES_MAX + 1)).is_err()
        );
        assert_eq!(expires_at(1.5, Timestamp(10)), Ok(Timestamp(1510)));
        assert_eq!(expires_at(0.0001, Timestamp(10)), Ok(Timestamp(11)));
        for ttl in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(expires_at(ttl, Timestamp(10)).is_err(), "{ttl}");
        }
    }
}
