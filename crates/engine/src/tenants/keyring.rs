//! The keys that secrets are sealed under: data keys, kept in the store, each wrapped under the
//! master key, which is not. A new master key wraps the data keys anew and touches no secret, so
//! that nothing stands still meanwhile.

use std::sync::Arc;

use millrace_model::ids::DataKeyId;
use millrace_model::tenant::Caller;
use millrace_model::{IdSource, Timestamp};
use millrace_store::{DataKey, Store, StoreError};

use crate::EngineError;
use crate::ctx::Ctx;
use crate::tenants::organizations::Organizations;
use crate::tenants::secrets::{Keyring, MasterKey};

/// Where the master key is kept: a file, the environment, a command. The calls may wait for the
/// disk or for a command.
pub trait MasterKeys: Send + Sync + 'static {
    /// The master key, and others that the data keys may still be wrapped under.
    fn read(&self) -> Result<(MasterKey, Vec<MasterKey>), MasterKeyError>;
    /// Another master key, kept where [`MasterKeys::read`] finds it among the others from now on,
    /// and the one with the id `current` with it: the data keys are wrapped under that.
    fn prepare(&self, ids: &IdSource, current: &str) -> Result<MasterKey, MasterKeyError>;
    /// Puts what was prepared in the place of the master key: the data keys are wrapped under it.
    fn take_over(&self) -> Result<(), MasterKeyError>;
}

/// Why there is no master key, in words for the operator, and without any part of a key.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MasterKeyError(pub String);

impl Keyring {
    /// Reads the data keys, or makes the first. Ends a change of the master key that was broken
    /// off.
    pub(crate) async fn load(
        store: &Arc<dyn Store>,
        masters: &Arc<dyn MasterKeys>,
        ids: &IdSource,
        now: Timestamp,
    ) -> Result<Self, EngineError> {
        let (mut current, others) = read(masters).await?;
        let mut rows = store.data_keys().await?;
        if rows.is_empty() {
            let id = DataKeyId::generate(ids);
            // Before there were data keys, secrets were sealed under the master key itself: it goes
            // on as the first of them.
            let bytes = if store.first_organization().await?.is_some() {
                *current.bytes()
            } else {
                ids.bytes::<32>()
            };
            let wrapped = current.wrap(ids, &id, &bytes)?;
            store
                .add_first_data_key(DataKey {
                    id,
                    master_id: current.id(),
                    wrapped,
                    created_at: now,
                })
                .await?;
            // Another server may have been first.
            rows = store.data_keys().await?;
        }
        let mut keys = Vec::with_capacity(rows.len());
        for row in &rows {
            let bytes = open(row, &current, &others)?;
            keys.push((row.id.clone(), bytes));
        }
        let ring = Self::new(keys);
        if let Some(from) =
            rows.iter().map(|row| row.master_id.clone()).find(|id| *id != current.id())
        {
            // Either a change was broken off between the database and the key's place, and is ended
            // now, or the operator gave a new key beside the old.
            let finishing = masters.clone();
            waiting(move || finishing.take_over()).await?;
            (current, _) = read(masters).await?;
            if current.id() != from {
                ring.rewrap(store, &rows, &from, &current, ids).await?;
            }
            tracing::info!(
                from,
                to = current.id(),
                "the data keys are wrapped under the new master key"
            );
        }
        Ok(ring)
    }

    async fn rewrap(
        &self,
        store: &Arc<dyn Store>,
        rows: &[DataKey],
        from: &str,
        to: &MasterKey,
        ids: &IdSource,
    ) -> Result<(), EngineError> {
        let mut anew = Vec::with_capacity(rows.len());
        for row in rows {
            let bytes = self.bytes(&row.id).ok_or_else(|| {
                EngineError::internal(
                    "a data key was made by another server meanwhile; try again",
                    row.id.to_string(),
                )
            })?;
            anew.push(DataKey {
                master_id: to.id(),
                wrapped: to.wrap(ids, &row.id, bytes)?,
                ..row.clone()
            });
        }
        match store.rewrap_data_keys(from, anew).await {
            Err(StoreError::StateChanged) => Err(EngineError::Conflict {
                code: "changed_meanwhile",
                message: "the master key is being changed by another server; try again".into(),
            }),
            done => Ok(done?),
        }
    }
}

/// A data key under the master key that it names.
fn open(row: &DataKey, current: &MasterKey, others: &[MasterKey]) -> Result<[u8; 32], EngineError> {
    let damaged = |why: &str| {
        let mend = "the master key is not the cause: restore the database from a backup of the time before (docs/operate/durability.md)";
        let why =
            MasterKeyError(format!("the row `{}` of the table `data_keys` {why}; {mend}", row.id));
        EngineError::internal("a data key of this database is damaged", why)
    };
    if !MasterKey::is_id(&row.master_id) {
        return Err(damaged("does not name a master key"));
    }
    let master = std::iter::once(current).chain(others).find(|key| key.id() == row.master_id);
    let Some(master) = master else {
        let why = MasterKeyError(format!(
            "the secrets of this database are kept under the master key with the id {}, and the one given has the id {}; give that key, or restore it from a backup",
            row.master_id,
            current.id()
        ));
        return Err(EngineError::internal("the master key is not the one of this database", why));
    };
    master.unwrap(&row.id, &row.wrapped).ok_or_else(|| {
        damaged(&format!("does not open under its master key, {}, which was given", row.master_id))
    })
}

async fn read(masters: &Arc<dyn MasterKeys>) -> Result<(MasterKey, Vec<MasterKey>), EngineError> {
    let masters = masters.clone();
    waiting(move || masters.read()).await
}

/// Off the threads that serve others.
async fn waiting<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, MasterKeyError> + Send + 'static,
) -> Result<T, EngineError> {
    let done = tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| EngineError::internal("reading the master key broke down", e))?;
    done.map_err(|e| EngineError::internal("could not use the master key", e))
}

/// Changes of the server's master key.
pub struct MasterKeyRotation {
    ctx: Arc<Ctx>,
    keyring: Arc<Keyring>,
    master_keys: Arc<dyn MasterKeys>,
    organizations: Arc<Organizations>,
    /// One at a time within this node.
    rotating: tokio::sync::Mutex<()>,
}

impl MasterKeyRotation {
    pub(crate) fn new(
        ctx: Arc<Ctx>,
        keyring: Arc<Keyring>,
        master_keys: Arc<dyn MasterKeys>,
        organizations: Arc<Organizations>,
    ) -> Self {
        Self { ctx, keyring, master_keys, organizations, rotating: tokio::sync::Mutex::default() }
    }

    /// Puts another master key in the place of the current one, and gives its id. What is sealed
    /// stays as it is, and readable throughout. Only for the organization that was made first: the
    /// key is the server's.
    pub async fn rotate(&self, caller: &Caller) -> Result<String, EngineError> {
        self.organizations.check_first(caller, "the master key is the server's; only a key of the organization that was made first can change it").await?;
        let _only = self.rotating.lock().await;
        let rows = self.ctx.store.data_keys().await?;
        let from = rows.first().map(|row| row.master_id.clone()).unwrap_or_default();
        let (masters, ids, current) =
            (self.master_keys.clone(), self.ctx.ids.clone(), from.clone());
        let prepared = tokio::task::spawn_blocking(move || masters.prepare(&ids, &current))
            .await
            .map_err(|e| EngineError::internal("making a master key broke down", e))?;
        let next = prepared.map_err(|e| EngineError::Conflict {
            code: "no_other_master_key",
            message: e.to_string(),
        })?;
        if next.id() == from {
            return Err(EngineError::Conflict {
                code: "no_other_master_key",
                message: "the key that was given is the current master key".into(),
            });
        }
        self.keyring.rewrap(&self.ctx.store, &rows, &from, &next, &self.ctx.ids).await?;
        // Should this fail: at the next start both keys are found, and the change ends then.
        let masters = self.master_keys.clone();
        waiting(move || masters.take_over()).await?;
        tracing::info!(from, to = next.id(), user.id = %caller.user_id, "the master key was changed");
        Ok(next.id())
    }
}
