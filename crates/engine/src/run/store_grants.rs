//! Grants of stores: which data stores and file stores the code of a call may use, by the values of
//! its props.

use millrace_model::component::PropDef;
use millrace_model::file;
use millrace_model::ids::DataStoreId;
use millrace_model::prop_type::PropType;
use millrace_model::props::Site;
use serde_json::{Map, Value};

/// The stores that a call may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoreGrants {
    data: Granted,
    files: Granted,
}

/// Stores of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Granted {
    /// As configured: ids, and names.
    named: Vec<String>,
    /// A prop's value is an expression, which only the host evaluates: any of the organization's.
    any: bool,
}

impl Granted {
    fn add(
        &mut self,
        defs: &[PropDef],
        props: &Map<String, Value>,
        site: Site,
        is_such: fn(&PropDef) -> bool,
    ) {
        for (name, value) in props {
            // A text that no definition calls a store is none: it is a word that happens to be a
            // store's name.
            if !defs.iter().any(|def| &def.name == name && is_such(def)) {
                continue;
            }
            match plain(value) {
                // Where nothing evaluates it, it names a store that is not there.
                Some(text) if site == Site::Step && text.contains("{{") => self.any = true,
                Some(text) => self.named.push(text.to_owned()),
                None => {}
            }
        }
    }

    fn allows(&self, store: &str) -> bool {
        self.any || self.named.iter().any(|named| named == store)
    }
}

impl StoreGrants {
    /// Adds the stores that the values of `data_store` and `dir` props name.
    pub(crate) fn add(&mut self, defs: &[PropDef], props: &Map<String, Value>, site: Site) {
        self.data.add(defs, props, site, |def| def.is(PropType::DataStore));
        self.files.add(defs, props, site, |def| def.is(PropType::FileStore));
    }

    /// Whether the data store of this id or name may be used.
    pub(crate) fn allows(&self, store: &str) -> bool {
        self.data.allows(store)
    }

    /// Whether the file store of this name may be used.
    pub(crate) fn allows_files(&self, store: &str) -> bool {
        self.files.allows(store)
    }

    /// Whether any value could name a store, were it that of such a prop.
    pub(crate) fn may_name(props: &Map<String, Value>) -> bool {
        props.values().filter_map(plain).any(|text| {
            text.contains("{{")
                || text.parse::<DataStoreId>().is_ok()
                || file::check_name(text).is_ok()
        })
    }
}

/// The text of a value, without its label.
pub(super) fn plain(value: &Value) -> Option<&str> {
    value.get("__lv").and_then(|labelled| labelled.get("value")).unwrap_or(value).as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_props_that_name_stores_grant_them() {
        let dir = json!({ "a": "reports", "b": "ds_2" });
        let def = |name: &str, kind: &str| PropDef {
            name: name.into(),
            prop_type: kind.into(),
            ..PropDef::default()
        };
        let defs = [
            def("a", "data_store"),
            def("b", "datastore"),
            def("text", "string"),
            def("c", "data_store"),
        ];
        let grants_at = |site: Site, props: Value| {
            let mut grants = StoreGrants::default();
            grants.add(&defs, props.as_object().expect("an object"), site);
            grants
        };
        let grants = |props: Value| grants_at(Site::Step, props);
        let some = grants(
            json!({ "a": "ds_1", "b": { "__lv": { "label": "Two", "value": "ds_2" } }, "text": "ds_3", "dynamic": "ds_4" }),
        );
        assert_eq!(
            ["ds_1", "ds_2", "ds_3", "ds_4", "ds_5"].map(|store| some.allows(store)),
            [true, true, false, false, false]
        );
        let mut mirrored = StoreGrants::default();
        mirrored.add(
            &[def("a", "dir"), def("b", "data_store")],
            dir.as_object().expect("an object"),
            Site::Step,
        );
        assert_eq!(
            (
                mirrored.allows_files("reports"),
                mirrored.allows_files("ds_2"),
                mirrored.allows("reports")
            ),
            (true, false, false)
        );
        // Also where the definitions of the component say nothing of the prop: the host gives its
        // code a text.
        assert!(!grants(json!({ "dynamic": "reports" })).allows_files("reports"));
        assert!(grants(json!({ "c": "{{steps.x.store}}" })).allows("ds_9"));
        for site in [Site::Source, Site::Call] {
            assert!(
                !grants_at(site, json!({ "c": "{{steps.x.store}}" })).allows("ds_9"),
                "{site:?}: nothing evaluates it"
            );
        }
        assert!(
            !grants(json!({ "text": "{{steps.x.store}}", "dynamic": "{{steps.x.store}}" }))
                .allows("ds_9")
        );
    }
}
