//! Data stores: values that the workflows and sources of an organization share (facts 4.7). Made
//! through the API; code reaches those that its own configured props name.

use std::sync::Arc;

use millrace_model::clock::Timestamp;
use millrace_model::component::PropDef;
use millrace_model::data_store::{
    self, DataStore, DataStoreError, KEYS_MAX, STORE_BYTES_MAX, STORES_MAX,
};
use millrace_model::ids::{DataStoreId, OrgId};
use millrace_model::page::{Listing, Page};
use millrace_model::prop_type::PropType;
use millrace_model::props::{PropError, Site};
use millrace_model::tenant::Caller;
use millrace_store::{DataStoreEntry, DataStoreWrite, StoreError};
use serde_json::{Map, Value};

use crate::EngineError;
use crate::checks::check_name;
use crate::ctx::Ctx;
use crate::error::readable;
use crate::run::store_grants::plain;

/// When a key of a data store ends.
#[derive(Clone, Copy, Debug)]
pub enum EntryEnd {
    /// So many seconds from now.
    After(f64),
    /// At this time.
    At(Timestamp),
}

/// The data stores of all organizations.
pub struct DataStores {
    pub(super) ctx: Arc<Ctx>,
}

impl DataStores {
    pub(crate) const fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx }
    }

    /// Makes a data store.
    pub async fn create(&self, caller: &Caller, name: &str) -> Result<DataStore, EngineError> {
        let name = store_name(name)?;
        let now = self.ctx.now();
        let id = DataStoreId::generate(&self.ctx.ids);
        let store = DataStore {
            id,
            org_id: caller.org_id.clone(),
            name,
            keys: 0,
            bytes: 0,
            created_at: now,
            updated_at: now,
        };
        self.ctx.store.create_data_store(store.clone()).await.map_err(|e| match e {
            StoreError::Full => EngineError::Conflict {
                code: "quota_exceeded",
                message: format!(
                    "an organization has at most {STORES_MAX} data stores; delete one first"
                ),
            },
            other => taken(other, &store.name),
        })?;
        Ok(store)
    }

    /// Renames a data store, given by id or name.
    pub async fn rename(
        &self,
        caller: &Caller,
        which: &str,
        name: &str,
    ) -> Result<DataStore, EngineError> {
        let (store, name) = (self.get(caller, which).await?, store_name(name)?);
        self.ctx
            .store
            .rename_data_store(&caller.org_id, &store.id, &name, self.ctx.now())
            .await
            .map_err(|e| taken(e, &name))?;
        self.get(caller, store.id.as_str()).await
    }

    /// Removes a data store with all it holds, unless a workflow or source uses it.
    pub async fn delete(&self, caller: &Caller, which: &str) -> Result<DataStore, EngineError> {
        let store = self.get(caller, which).await?;
        let users = self.users(&store).await?;
        if !users.is_empty() {
            let message = format!(
                "the data store `{}` is used by {}; take it from their props first",
                store.name,
                users.join(", ")
            );
            return Err(EngineError::Conflict { code: "in_use", message });
        }
        self.ctx.store.delete_data_store(&caller.org_id, &store.id).await?;
        tracing::info!(store.id = %store.id, user.id = %caller.user_id, "a data store was deleted");
        Ok(store)
    }

    /// A data store, by id or name.
    pub async fn get(&self, caller: &Caller, which: &str) -> Result<DataStore, EngineError> {
        self.find(&caller.org_id, which)
            .await?
            .ok_or_else(|| EngineError::not_found("data store", which))
    }

    /// The data stores, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        page: &Page,
    ) -> Result<Listing<DataStore>, EngineError> {
        Ok(self.ctx.store.list_data_stores(&caller.org_id, page).await?)
    }

    /// What a store holds under a key.
    pub async fn entry(
        &self,
        caller: &Caller,
        which: &str,
        key: &str,
    ) -> Result<DataStoreEntry, EngineError> {
        let store = self.get(caller, which).await?;
        self.ctx
            .store
            .data_store_entry(&store.id, key, self.ctx.now())
            .await?
            .ok_or_else(|| EngineError::not_found("key", key))
    }

    /// Writes a value; without `ends` it stays.
    pub async fn set_entry(
        &self,
        caller: &Caller,
        which: &str,
        key: &str,
        value: &Value,
        ends: Option<EntryEnd>,
    ) -> Result<(), EngineError> {
        let store = self.get(caller, which).await?;
        let field = |error: &DataStoreError| {
            let field = match error {
                DataStoreError::Key { .. } => "key",
                DataStoreError::Value { .. } => "value",
                DataStoreError::Ttl { .. } => "ttl",
            };
            EngineError::invalid(field, error.to_string())
        };
        let ttl = match ends {
            Some(EntryEnd::After(ttl)) => Some(ttl),
            _ => None,
        };
        let mut write = self.write(&store, key, value.to_string(), ttl).map_err(|e| field(&e))?;
        if let Some(EntryEnd::At(at)) = ends {
            // In the bounds of a `ttl`.
            let left = at.since(write.now) as f64 / 1000.0;
            data_store::expires_at(left, write.now).map_err(|_| {
                EngineError::invalid(
                    "expires_at_ms",
                    format!("`expires_at_ms` is {}, allowed is a time to come, at most {} seconds from now", at.ms(), data_store::TTL_SECONDS_MAX),
                )
            })?;
            write.expires_at = Some(at);
        }
        match self.ctx.store.data_store_set(write).await {
            Err(StoreError::Full) => {
                Err(EngineError::Conflict { code: "quota_exceeded", message: full(&store) })
            }
            done => Ok(done?),
        }
    }

    /// Removes a key.
    pub async fn delete_entry(
        &self,
        caller: &Caller,
        which: &str,
        key: &str,
    ) -> Result<(), EngineError> {
        let store = self.get(caller, which).await?;
        if self.ctx.store.data_store_delete(&store.id, key).await? {
            Ok(())
        } else {
            Err(EngineError::not_found("key", key))
        }
    }

    /// Removes all keys.
    pub async fn clear(&self, caller: &Caller, which: &str) -> Result<(), EngineError> {
        let store = self.get(caller, which).await?;
        Ok(self.ctx.store.data_store_clear(&store.id).await?)
    }

    pub(crate) async fn find(
        &self,
        org: &OrgId,
        which: &str,
    ) -> Result<Option<DataStore>, StoreError> {
        match which.parse::<DataStoreId>() {
            Ok(id) => self.ctx.store.data_store(org, &id).await,
            Err(_) => self.ctx.store.data_store_by_name(org, which).await,
        }
    }

    /// A write within the bounds of keys, values and times.
    pub(crate) fn write(
        &self,
        store: &DataStore,
        key: &str,
        value: String,
        ttl: Option<f64>,
    ) -> Result<DataStoreWrite, DataStoreError> {
        data_store::check_key(key)?;
        data_store::check_value(key, &value)?;
        let now = self.ctx.now();
        let expires_at = ttl.map(|ttl| data_store::expires_at(ttl, now)).transpose()?;
        Ok(DataStoreWrite {
            store_id: store.id.clone(),
            key: key.to_owned(),
            value,
            expires_at,
            now,
            keys_max: KEYS_MAX,
            bytes_max: STORE_BYTES_MAX,
        })
    }

    /// Puts the id in place of the name in each value of a `data_store` prop: a store that is
    /// renamed stays in use.
    pub(crate) async fn prop_errors(
        &self,
        org: &OrgId,
        defs: &[PropDef],
        props: &mut Map<String, Value>,
        site: Site,
    ) -> Result<Vec<PropError>, EngineError> {
        let mut errors = Vec::new();
        for def in defs.iter().filter(|def| def.is(PropType::DataStore)) {
            let Some(value) = props.get(&def.name) else { continue };
            if site.evaluates(value) {
                continue;
            }
            let found = match plain(value) {
                Some(text) => self.find(org, text).await?,
                None => None,
            };
            match found {
                Some(store) => {
                    props.insert(def.name.clone(), store.id.as_str().into());
                }
                None => errors.push(PropError::Type {
                    name: def.name.clone(),
                    value: millrace_model::shown(&value.to_string()),
                    allowed: "a data store's id or name; `millrace data-stores list` shows them, `millrace data-stores create NAME` makes one".into(),
                }),
            }
        }
        Ok(errors)
    }

    /// The sources and workflows that name a store in their configured values, by name; at most
    /// ten.
    async fn users(&self, store: &DataStore) -> Result<Vec<String>, EngineError> {
        const SHOWN: usize = 10;
        let names = |props: &Map<String, Value>| {
            props.values().filter_map(plain).any(|text| text == store.id.as_str())
        };
        let mut users = Vec::new();
        let mut page = Page { limit: Page::LIMIT_MAX, ..Page::default() };
        while users.len() < SHOWN {
            let sources = match self.ctx.store.list_sources(&store.org_id, None, &page).await {
                // The one that the page follows went meanwhile.
                Err(StoreError::UnknownCursor(_)) => {
                    (page.after, users) = (None, Vec::new());
                    continue;
                }
                listed => listed?,
            };
            let Some(next) = sources.next(|source| source.id.to_string()) else { break };
            page.after = Some(next);
            users.extend(
                sources
                    .items
                    .iter()
                    .filter(|s| names(&s.configured_props))
                    .map(|s| format!("the source `{}`", s.name)),
            );
        }
        page.after = None;
        let of_sources = users.len();
        while users.len() < SHOWN {
            let workflows = match self.ctx.store.list_workflows(&store.org_id, None, &page).await {
                Err(StoreError::UnknownCursor(_)) => {
                    page.after = None;
                    users.truncate(of_sources);
                    continue;
                }
                listed => listed?,
            };
            let Some(next) = workflows.next(|workflow| workflow.id.to_string()) else { break };
            page.after = Some(next);
            for workflow in &workflows.items {
                let live = match &workflow.deployment_id {
                    Some(id) => readable(
                        self.ctx
                            .store
                            .deployment(&store.org_id, id)
                            .await
                            .map_err(EngineError::from),
                    )?
                    .flatten(),
                    None => None,
                };
                let steps =
                    workflow.draft.steps.iter().chain(live.iter().flat_map(|d| &d.content.steps));
                if steps.into_iter().any(|step| names(&step.props)) {
                    users.push(format!("the workflow `{}`", workflow.name));
                }
            }
        }
        users.truncate(SHOWN);
        Ok(users)
    }
}

/// Why nothing more fits.
pub(crate) fn full(store: &DataStore) -> String {
    format!(
        "the data store `{}` is full: it may have {KEYS_MAX} keys and {STORE_BYTES_MAX} bytes in all; delete some, or give values a `ttl`",
        store.name
    )
}

fn store_name(name: &str) -> Result<String, EngineError> {
    let name = check_name(name)?;
    if name.parse::<DataStoreId>().is_ok() {
        return Err(EngineError::invalid(
            "name",
            format!("`{name}` looks like the id of a data store; choose another name"),
        ));
    }
    Ok(name)
}

fn taken(error: StoreError, name: &str) -> EngineError {
    match error {
        StoreError::Taken("name") => {
            EngineError::taken("name", format!("there is a data store `{name}` already"))
        }
        other => other.into(),
    }
}
