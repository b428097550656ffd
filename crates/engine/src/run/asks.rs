//! Answers to requests that code makes while it runs: data stores, starting a workflow
//! (runtime/PROTOCOL.md).

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use millrace_model::data_store::{self, DataStore};
use millrace_model::error_chain;
use millrace_model::ids::{OrgId, WorkflowId};
use millrace_model::run::{Context, RunKind, Start};
use millrace_model::source::Owner;
use millrace_runner::{Ask, AskError, AskResult};
use millrace_store::{DataStorePage, StoreError};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::Engine;
use crate::run::asked::Asked;
use crate::run::claimed_run::ClaimedRun;
use crate::run::context::Origin;
use crate::run::data_stores::full;
use crate::run::store_grants::StoreGrants;
use crate::run::unstored::UnstoredRun;

/// Runs of a workflow that may wait where others start it with `$.flow.trigger`.
const TRIGGERED_WAITING_MAX: u32 = 10_000;
/// Values of one page of entries, bytes.
const PAGE_BYTES_MAX: usize = 2 << 20;
/// Entries of one page.
const PAGE_LIMIT_MAX: u32 = 100;

/// What a call may ask for.
pub(crate) struct AskScope {
    pub(crate) org: OrgId,
    pub(crate) stores: StoreGrants,
    /// The run that asks; none: a form's question, which starts nothing.
    pub(crate) run: Option<AskingRun>,
    /// Bytes of files that it sent so far.
    pub(crate) sent: AtomicI64,
    asked: Asked,
}

impl AskScope {
    pub(crate) fn new(org: OrgId, stores: StoreGrants, run: Option<AskingRun>) -> Self {
        Self { org, stores, run, sent: AtomicI64::new(0), asked: Asked::default() }
    }

    /// The run that asks, where it may be stored with its end.
    pub(crate) fn unstored(&self) -> Option<&Arc<UnstoredRun>> {
        self.run.as_ref()?.unstored.as_ref()
    }
}

/// The run that asks.
pub(crate) struct AskingRun {
    owner: Owner,
    kind: RunKind,
    /// [`Context`] as JSON text.
    context: String,
    unstored: Option<Arc<UnstoredRun>>,
}

impl AskingRun {
    pub(crate) fn of(claimed: &ClaimedRun) -> Self {
        Self {
            owner: claimed.owner.clone(),
            kind: claimed.kind,
            context: claimed.context.clone(),
            unstored: claimed.unstored.clone(),
        }
    }
}

/// Fields of all asks about data stores.
#[derive(Deserialize)]
struct StoreAsk<'a> {
    store: Option<String>,
    key: Option<String>,
    #[serde(borrow, default, deserialize_with = "present")]
    value: Option<&'a RawValue>,
    ttl: Option<f64>,
    after: Option<String>,
    limit: Option<u32>,
}

#[derive(Deserialize)]
struct TriggerAsk<'a> {
    workflow_id: String,
    #[serde(borrow)]
    event: Option<&'a RawValue>,
}

fn refuse(error: data_store::DataStoreError) -> AskError {
    let code = match error {
        data_store::DataStoreError::Value { .. } => "QuotaExceeded",
        _ => "RangeError",
    };
    AskError::new(code, error.to_string())
}

impl Engine {
    /// Answers in a task of its own. Without a scope nothing is known.
    pub(crate) fn answer_later(&self, scope: Option<Arc<AskScope>>, mut ask: Ask) {
        let Some(scope) = scope else { return ask.unknown() };
        if let Err(refusal) = scope.asked.count(&ask.kind) {
            return ask.answer(Err(refusal));
        }
        let engine = self.clone();
        self.0.tasks.spawn(async move {
            ask.turn().await;
            if let Err(error) = engine.store_run(scope.unstored().map(|run| &**run)).await {
                return ask.answer(Err(AskError::new("InternalFailure", error.to_string())));
            }
            let answer = match ask.kind.as_str() {
                "platform.request" => engine.ask_platform(&scope.org, &ask.payload).await,
                "flow.trigger" => engine.trigger_workflow(&scope, &ask.payload).await,
                kind if kind.starts_with("files.") => {
                    engine.ask_files(&scope, kind, &ask.payload).await
                }
                kind if kind.starts_with("data_store.") => {
                    engine.ask_store(&scope, kind, &ask.payload).await
                }
                _ => return ask.unknown(),
            };
            ask.answer(answer);
        });
    }

    async fn ask_store(&self, scope: &AskScope, kind: &str, payload: &RawValue) -> AskResult {
        let ask: StoreAsk<'_> = read(payload)?;
        let store = self.granted_store(scope, ask.store.as_deref()).await?;
        let key = || {
            let key = ask.key.clone().unwrap_or_default();
            data_store::check_key(&key)
                .map(|()| key)
                .map_err(|e| AskError::new("RangeError", e.to_string()))
        };
        let page = || DataStorePage {
            after: ask.after.clone(),
            prefix: String::new(),
            limit: ask.limit.unwrap_or(PAGE_LIMIT_MAX).clamp(1, PAGE_LIMIT_MAX),
            now: self.now(),
        };
        match kind {
            "data_store.get" => {
                let entry = self
                    .0
                    .store
                    .data_store_entry(&store.id, &key()?, self.now())
                    .await
                    .map_err(failed)?;
                entry.map(|entry| RawValue::from_string(entry.value).map_err(failed)).transpose()
            }
            "data_store.has" => value(
                self.0
                    .store
                    .data_store_entry(&store.id, &key()?, self.now())
                    .await
                    .map_err(failed)?
                    .is_some(),
            ),
            "data_store.set" => self.set_asked(&store, &key()?, &ask).await,
            "data_store.set_ttl" => {
                let now = self.now();
                let end = ask
                    .ttl
                    .map(|ttl| data_store::expires_at(ttl, now))
                    .transpose()
                    .map_err(refuse)?;
                self.0
                    .store
                    .data_store_expire(&store.id, &key()?, end, now)
                    .await
                    .map(|_| None)
                    .map_err(failed)
            }
            "data_store.delete" => self
                .0
                .store
                .data_store_delete(&store.id, &key()?)
                .await
                .map(|_| None)
                .map_err(failed),
            "data_store.clear" => {
                self.0.store.data_store_clear(&store.id).await.map(|()| None).map_err(failed)
            }
            "data_store.size" => {
                let size = self.0.store.data_store_size(&store.id, "", self.now()).await;
                value(size.map_err(failed)?)
            }
            "data_store.keys" => self.ask_keys(&store, page()).await,
            "data_store.entries" => self.ask_entries(&store, page()).await,
            _ => Err(AskError::new(
                "NotFound",
                format!("`{}` is not known here", millrace_model::shown(kind)),
            )),
        }
    }

    async fn set_asked(&self, store: &DataStore, key: &str, ask: &StoreAsk<'_>) -> AskResult {
        let Some(text) = ask.value else {
            let message = "a data store keeps JSON values; undefined is not one";
            return Err(AskError::new("TypeError", message));
        };
        let write =
            self.data_stores().write(store, key, text.get().to_owned(), ask.ttl).map_err(refuse)?;
        match self.0.store.data_store_set(write).await {
            Ok(()) => Ok(None),
            Err(StoreError::Full) => Err(AskError::new("QuotaExceeded", full(store))),
            Err(StoreError::NotFound) => Err(gone(store.id.as_str())),
            Err(error) => Err(failed(error)),
        }
    }

    async fn ask_keys(&self, store: &DataStore, page: DataStorePage) -> AskResult {
        let limit = page.limit;
        let mut keys = self
            .0
            .store
            .data_store_keys(&store.id, DataStorePage { limit: limit + 1, ..page })
            .await
            .map_err(failed)?;
        let more = keys.len() > limit as usize;
        keys.truncate(limit as usize);
        value(match keys.last() {
            Some(last) if more => json!({ "items": keys, "next": last }),
            _ => json!({ "items": keys }),
        })
    }

    async fn ask_entries(&self, store: &DataStore, page: DataStorePage) -> AskResult {
        let stored = &self.0.store;
        let entries = stored.data_store_entries(&store.id, page.clone(), PAGE_BYTES_MAX).await;
        let entries = entries.map_err(failed)?;
        // A page may end early: only a look tells whether it is the last.
        let next = match entries.last() {
            Some(last) => {
                let look = DataStorePage { after: Some(last.key.clone()), limit: 1, ..page };
                let more = stored.data_store_keys(&store.id, look).await.map_err(failed)?;
                (!more.is_empty()).then(|| last.key.clone())
            }
            None => None,
        };
        let items =
            entries.into_iter().map(|entry| Ok((entry.key, RawValue::from_string(entry.value)?)));
        let items: Vec<(String, Box<RawValue>)> =
            items.collect::<Result<_, serde_json::Error>>().map_err(failed)?;
        let items = to_raw_value(&items).map_err(failed)?;
        let next = next.map(|next| format!(r#","next":{}"#, json!(next))).unwrap_or_default();
        RawValue::from_string(format!(r#"{{"items":{}{next}}}"#, items.get()))
            .map(Some)
            .map_err(failed)
    }

    /// The store that is asked for, where a prop of the call names it.
    async fn granted_store(
        &self,
        scope: &AskScope,
        which: Option<&str>,
    ) -> Result<DataStore, AskError> {
        let Some(which) = which.filter(|which| !which.is_empty()) else {
            let message = "the prop has no data store; configure one: `millrace data-stores list` shows them, `create NAME` makes one";
            return Err(AskError::new("NotFound", message));
        };
        let store = self
            .data_stores()
            .find(&scope.org, which)
            .await
            .map_err(failed)?
            .ok_or_else(|| gone(which))?;
        if scope.stores.allows(which) || scope.stores.allows(store.id.as_str()) {
            return Ok(store);
        }
        Err(AskError::new(
            "Forbidden",
            format!("no `data_store` prop of this component names the data store `{}`", store.name),
        ))
    }

    /// `$.flow.trigger`: a run of another workflow, which counts as passed on.
    async fn trigger_workflow(&self, scope: &AskScope, payload: &RawValue) -> AskResult {
        let ask: TriggerAsk<'_> = read(payload)?;
        let Some(run) = &scope.run else {
            return Err(AskError::new("Forbidden", "a form's question starts no workflow"));
        };
        let shown = millrace_model::shown(&ask.workflow_id);
        let missing = || {
            AskError::new(
                "NotFound",
                format!("there is no active workflow `{shown}` in this organization"),
            )
        };
        let id: WorkflowId = ask.workflow_id.parse().map_err(|_| missing())?;
        let program = self
            .live_program(&scope.org, &Owner::Workflow(id))
            .await
            .map_err(failed)?
            .ok_or_else(missing)?;
        if !program.identity().active {
            return Err(missing());
        }
        if run.kind == RunKind::Test {
            // A test harms nothing outside: the author sees that it would have been found.
            return value(json!({ "id": null, "test": true }));
        }
        let context: Context = millrace_model::json::from_str(&run.context).map_err(failed)?;
        let hops = context.hops.unwrap_or(0) + 1;
        if hops > self.0.config.hops_max {
            let message = format!(
                "the workflow `{shown}` was not started: the event has gone through {} workflows and sources, the limit",
                hops - 1
            );
            return Err(AskError::new("TooManyHops", message));
        }
        let origin = Origin {
            trace_id: Some(context.trace_id),
            hops: Some(hops),
            handles_error: context.handles_error,
            ..Origin::first("COMPONENT", run.owner.as_str())
        };
        let event = ask.event.map_or_else(|| "null".to_owned(), |event| event.get().to_owned());
        let new = self.new_run(&program, &origin, event, Start::Queued).map_err(failed)?;
        let id = new.id.clone();
        let operator_max = self.0.config.waiting_runs_max;
        let queue_max = program.queue_max().min(TRIGGERED_WAITING_MAX).min(operator_max);
        // A run may start its own workflow again and again: what waits has a bound, whatever the
        // workflow says of its queue.
        match self.0.store.accept_queued(new, queue_max, None).await {
            Err(StoreError::QueueFull) => {
                let message = format!(
                    "the workflow `{shown}` was not started: as many of its runs wait as its `queue_max` allows, or {TRIGGERED_WAITING_MAX}; try again later"
                );
                return Err(AskError::new("QueueFull", message));
            }
            accepted => accepted.map_err(failed)?,
        }
        self.queued();
        value(json!({ "id": id }))
    }
}

/// `null` is a value.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

pub(crate) fn read<'a, T: Deserialize<'a>>(payload: &'a RawValue) -> Result<T, AskError> {
    millrace_model::json::from_str(payload.get())
        .map_err(|e| AskError::new("TypeError", format!("what was asked cannot be read: {e}")))
}

pub(crate) fn value(value: impl serde::Serialize) -> AskResult {
    to_raw_value(&value).map(Some).map_err(failed)
}

fn gone(which: &str) -> AskError {
    AskError::new(
        "NotFound",
        format!(
            "there is no data store `{}`; `millrace data-stores list` shows them",
            millrace_model::shown(which)
        ),
    )
}

/// A fault of ours: the log has details that the author does not see.
pub(crate) fn failed(error: impl std::error::Error) -> AskError {
    tracing::error!(
        error = error_chain(&error),
        "a question of running code could not be answered"
    );
    AskError::new("InternalFailure", "the server could not answer; see its log")
}
