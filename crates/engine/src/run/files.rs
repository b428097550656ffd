//! File stores: files that `dir` props read, write and mirror with `/tmp` (reference 3; facts 4.8;
//! registry facts 2.4), kept in the database in parts.

use std::sync::atomic::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use millrace_model::component::PropDef;
use millrace_model::file::{
    self, FILE_BYTES_MAX, FileError, FileStore, STORE_BYTES_MAX, StoredFile, full,
};
use millrace_model::ids::{OrgId, SourceId, UploadId};
use millrace_model::prop_type::PropType;
use millrace_model::tenant::Caller;
use millrace_model::upload::{FOREVER, KEPT_MS, PART_BYTES, Upload};
use millrace_runner::{AskError, AskResult};
use millrace_store::{KeepFiles, StoreError};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::accept::receiving::Receiving;
use crate::accept::uploads::{MEDIA_TYPE_BYTES_MAX, Pieces};
use crate::run::asks::{AskScope, failed, read, value};
use crate::{Engine, EngineError};

/// Files of one page of an answer.
const PAGE: u32 = 500;
/// What one call may send in all, bytes; what it sends and does not keep is cleared away after half
/// an hour.
const SENT_BYTES_MAX: i64 = 2 * STORE_BYTES_MAX;

/// Fields of all asks about files.
#[derive(Deserialize)]
struct FilesAsk {
    store: String,
    #[serde(default)]
    after: String,
    path: Option<String>,
    id: Option<String>,
    #[serde(default)]
    position: i64,
    bytes: Option<String>,
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    files: Vec<(String, String)>,
}

fn refuse(error: FileError) -> AskError {
    AskError::new("RangeError", error.to_string())
}

impl Engine {
    /// Answers the `files.*` asks of hosts (runtime/PROTOCOL.md).
    pub(crate) async fn ask_files(
        &self,
        scope: &AskScope,
        kind: &str,
        payload: &RawValue,
    ) -> AskResult {
        let ask: FilesAsk = read(payload)?;
        file::check_name(&ask.store).map_err(refuse)?;
        if !scope.stores.allows_files(&ask.store) {
            return Err(AskError::new(
                "Forbidden",
                format!("no `dir` prop of this component names the file store `{}`", ask.store),
            ));
        }
        match kind {
            "files.list" => self.list_files(scope, &ask).await,
            "files.find" => {
                let file = self.asked_file(scope, &ask).await?;
                let upload = self.0.store.upload(&file.upload_id).await.map_err(failed)?;
                let media_type =
                    upload.map(|upload| upload.media_type).filter(|text| !text.is_empty());
                value(
                    json!({ "path": file.path, "id": file.upload_id, "size": file.size, "modified": file.updated_at, "type": media_type }),
                )
            }
            "files.link" => {
                let file = self.asked_file(scope, &ask).await?;
                value(json!({ "url": self.link_to_file(&file) }))
            }
            "files.delete" => {
                let path = ask.path.unwrap_or_default();
                let until = self.now().plus_ms(KEPT_MS);
                self.0
                    .store
                    .remove_files(&scope.org, &ask.store, Some(&path), until)
                    .await
                    .map(|_| None)
                    .map_err(failed)
            }
            "files.read" => self.read_file_part(scope, ask).await,
            "files.begin" => self.begin_file(scope, ask).await,
            "files.part" => self.add_file_part(scope, &ask).await,
            "files.keep" => self.keep_sent_files(scope, ask).await,
            _ => Err(AskError::new(
                "NotFound",
                format!("`{}` is not known here", millrace_model::shown(kind)),
            )),
        }
    }

    async fn list_files(&self, scope: &AskScope, ask: &FilesAsk) -> AskResult {
        let files = self
            .0
            .store
            .stored_files(&scope.org, &ask.store, &ask.after, PAGE)
            .await
            .map_err(failed)?;
        let next =
            files.last().filter(|_| files.len() == PAGE as usize).map(|file| file.path.clone());
        let items: Vec<_> =
            files.iter().map(|file| json!({ "path": file.path, "id": file.upload_id, "size": file.size, "modified": file.updated_at })).collect();
        value(json!({ "items": items, "next": next }))
    }

    async fn read_file_part(&self, scope: &AskScope, ask: FilesAsk) -> AskResult {
        let path = ask.path.unwrap_or_default();
        let file = self.0.store.stored_file(&scope.org, &ask.store, &path).await.map_err(failed)?;
        // Parts of one file are of one version of it: who asks begins again.
        let file = file.filter(|file| Some(file.upload_id.as_str()) == ask.id.as_deref());
        let file = file.ok_or_else(|| {
            AskError::new(
                "NotFound",
                format!(
                    "the file `{}` of the store `{}` was changed meanwhile",
                    millrace_model::shown(&path),
                    ask.store
                ),
            )
        })?;
        match self.0.store.upload_part(&file.upload_id, ask.position).await.map_err(failed)? {
            Some(bytes) => value(BASE64.encode(bytes)),
            None => Ok(None),
        }
    }

    async fn begin_file(&self, scope: &AskScope, ask: FilesAsk) -> AskResult {
        // Files cost something also where they are empty.
        if scope.sent.fetch_add(1024, Ordering::Relaxed) > SENT_BYTES_MAX {
            return Err(AskError::new("QuotaExceeded", full(&ask.store)));
        }
        let upload = Upload {
            id: UploadId::generate(&self.0.ids),
            org_id: scope.org.clone(),
            file_name: String::new(),
            media_type: if ask.media_type.len() <= MEDIA_TYPE_BYTES_MAX {
                ask.media_type
            } else {
                String::new()
            },
            size: 0,
            expires_at: self.now().plus_ms(KEPT_MS),
        };
        let id = upload.id.clone();
        self.0.store.create_upload(upload).await.map_err(failed)?;
        value(id)
    }

    async fn add_file_part(&self, scope: &AskScope, ask: &FilesAsk) -> AskResult {
        let id = self.sent_upload(scope, ask.id.as_deref()).await?;
        let bytes = ask
            .bytes
            .as_deref()
            .map(|text| BASE64.decode(text))
            .and_then(Result::ok)
            .filter(|bytes| (1..=PART_BYTES).contains(&bytes.len()));
        let bytes = bytes.ok_or_else(|| {
            AskError::new(
                "TypeError",
                format!("a part of a file has 1 to {PART_BYTES} bytes in base64"),
            )
        })?;
        let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        if scope.sent.fetch_add(size, Ordering::Relaxed) + size > SENT_BYTES_MAX
            || ask.position >= FILE_BYTES_MAX / PART_BYTES as i64
        {
            return Err(AskError::new("QuotaExceeded", full(&ask.store)));
        }
        self.0.store.add_upload_part(&id, ask.position, bytes).await.map(|()| None).map_err(failed)
    }

    async fn keep_sent_files(&self, scope: &AskScope, ask: FilesAsk) -> AskResult {
        let mut files = Vec::new();
        for (id, path) in ask.files {
            file::check_path(&path).map_err(refuse)?;
            files.push((self.sent_upload(scope, Some(&id)).await?, path));
        }
        match self
            .0
            .store
            .keep_files(self.keeping(scope.org.clone(), ask.store.clone(), files))
            .await
        {
            Ok(()) => Ok(None),
            Err(StoreError::Full) => Err(AskError::new("QuotaExceeded", full(&ask.store))),
            Err(StoreError::FileIsFolder(path)) => Err(refuse(is_folder(path, &ask.store))),
            Err(error) => Err(failed(error)),
        }
    }

    /// The file that an ask names.
    async fn asked_file(&self, scope: &AskScope, ask: &FilesAsk) -> Result<StoredFile, AskError> {
        let path = ask.path.as_deref().unwrap_or_default();
        let file = self.0.store.stored_file(&scope.org, &ask.store, path).await.map_err(failed)?;
        file.ok_or_else(|| {
            AskError::new(
                "NotFound",
                format!(
                    "the file store `{}` has no file `{}`",
                    ask.store,
                    millrace_model::shown(path)
                ),
            )
        })
    }

    /// A file on its way that this organization began, and that is not kept yet.
    async fn sent_upload(&self, scope: &AskScope, id: Option<&str>) -> Result<UploadId, AskError> {
        let missing = || AskError::new("NotFound", "there is no such file on its way");
        let id: UploadId = id.and_then(|id| id.parse().ok()).ok_or_else(missing)?;
        let upload = self.0.store.upload(&id).await.map_err(failed)?;
        upload
            .filter(|u| u.org_id == scope.org && u.expires_at < FOREVER && u.file_name.is_empty())
            .map(|u| u.id)
            .ok_or_else(missing)
    }

    fn keeping(
        &self,
        org_id: millrace_model::ids::OrgId,
        store: String,
        files: Vec<(UploadId, String)>,
    ) -> KeepFiles {
        let now = self.now();
        KeepFiles { org_id, store, files, now, replaced_until: now.plus_ms(KEPT_MS) }
    }

    /// Puts a file into a store, in the place of one that is there.
    pub async fn put_file(
        &self,
        caller: &Caller,
        store: &str,
        path: &str,
        body: impl Stream<Item = std::io::Result<Bytes>>,
    ) -> Result<StoredFile, EngineError> {
        checked(store, path)?;
        let bytes_max = usize::try_from(FILE_BYTES_MAX).unwrap_or(usize::MAX);
        let mut receiving = Receiving::new(&self.0.ctx, bytes_max);
        let broken = |_| EngineError::Invalid {
            code: "unreadable_body",
            message: "the body could not be read to its end".into(),
            details: json!({}),
        };
        let body = body.map(|piece| piece.map_err(broken));
        let id = match self.receive(&caller.org_id, ("", ""), body, &mut receiving).await {
            Err(EngineError::TooLarge { .. }) => {
                return Err(EngineError::TooLarge {
                    message: format!("a stored file has at most {FILE_BYTES_MAX} bytes"),
                });
            }
            other => other?,
        };
        let kept = vec![(id, path.to_owned())];
        let keeping = self.keeping(caller.org_id.clone(), store.to_owned(), kept);
        match self.0.store.keep_files(keeping).await {
            Err(StoreError::Full) => {
                Err(EngineError::Conflict { code: "quota_exceeded", message: full(store) })
            }
            Err(StoreError::FileIsFolder(path)) => {
                Err(EngineError::invalid("path", is_folder(path, store).to_string()))
            }
            Err(error) => Err(error.into()),
            Ok(()) => {
                receiving.keep();
                self.stored_file(caller, store, path).await
            }
        }
    }

    /// A file of a store.
    pub async fn stored_file(
        &self,
        caller: &Caller,
        store: &str,
        path: &str,
    ) -> Result<StoredFile, EngineError> {
        checked(store, path)?;
        let file = self.0.store.stored_file(&caller.org_id, store, path).await?;
        file.ok_or_else(|| {
            EngineError::not_found("file", millrace_model::shown(&format!("{store}/{path}")))
        })
    }

    /// What is in a file, in the pieces that it is kept in.
    pub fn stored_pieces(&self, file: &StoredFile) -> Pieces {
        self.upload_parts(&file.upload_id)
    }

    /// The file stores that hold anything, by name.
    pub async fn file_stores(&self, caller: &Caller) -> Result<Vec<FileStore>, EngineError> {
        Ok(self.0.store.file_stores(&caller.org_id).await?)
    }

    /// Removes a file, or all files of a store. How many.
    pub async fn remove_files(
        &self,
        caller: &Caller,
        store: &str,
        path: Option<&str>,
    ) -> Result<u64, EngineError> {
        checked(store, path.unwrap_or("all"))?;
        let gone = self
            .0
            .store
            .remove_files(&caller.org_id, store, path, self.now().plus_ms(KEPT_MS))
            .await?;
        match (gone, path) {
            (0, Some(path)) => Err(EngineError::not_found(
                "file",
                millrace_model::shown(&format!("{store}/{path}")),
            )),
            (0, None) => Err(EngineError::not_found("file store", store)),
            _ => Ok(gone),
        }
    }
}

impl Engine {
    /// Removes the files of a deleted source's own store; addresses of them that were handed out
    /// stay good until their time is over.
    pub(crate) async fn remove_own_store(
        &self,
        org: &OrgId,
        source: &SourceId,
    ) -> Result<(), EngineError> {
        self.0.store.remove_files(org, source.as_str(), None, self.now().plus_ms(KEPT_MS)).await?;
        Ok(())
    }
}

/// Gives each `dir` prop without a value the source's own store, which its id names. One with
/// `sync` mirrors nothing until a store is chosen.
pub(crate) fn add_own_store(defs: &[PropDef], source: &SourceId, props: &mut Map<String, Value>) {
    for def in defs.iter().filter(|def| {
        def.is(PropType::FileStore) && def.rest.get("sync") != Some(&Value::Bool(true))
    }) {
        let value = props.entry(def.name.clone()).or_insert(Value::Null);
        if value.is_null() || value == "" {
            *value = source.as_str().into();
        }
    }
}

fn checked(store: &str, path: &str) -> Result<(), EngineError> {
    file::check_name(store).map_err(|e| EngineError::invalid("store", e.to_string()))?;
    file::check_path(path).map_err(|e| EngineError::invalid("path", e.to_string()))
}

fn is_folder(path: String, store: &str) -> FileError {
    FileError::FileIsFolder { path: millrace_model::shown(&path), store: store.to_owned() }
}
