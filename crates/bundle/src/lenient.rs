//! Lenient deserialization of what registries and packages say of themselves: an entry that is odd
//! makes only itself unusable.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A map without the entries that are none of `T`; empty where it is something else, such as null.
pub(crate) fn map<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    deserializer.deserialize_any(Entries(PhantomData))
}

struct Entries<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for Entries<T> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            if let Ok(value) = serde_json::from_value(value) {
                entries.insert(key, value);
            }
        }
        Ok(entries)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(BTreeMap::new())
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(BTreeMap::new())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(BTreeMap::new())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(BTreeMap::new())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(BTreeMap::new())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(BTreeMap::new())
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(BTreeMap::new())
    }
}
