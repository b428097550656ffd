//! Runs: dispatching, execution, requests of their code, pauses and replays.
//!
//! | file | job |
//! | --- | --- |
//! | **Claim** | |
//! | `admission` | policy of run slots; watches CPU pressure |
//! | `dispatch` | claims queued runs while slots are free; renews the leases of claimed runs |
//! | `claimed_run` | a run that this server executes under a lease |
//! | `lease_guard` | leases of the runs that this server executes |
//! | `begin_order` | makes the runs of a source begin in the order of their acceptance |
//! | `scheduler` | fires timers, ends pauses, delivers deferred events |
//! | **Prepare** | |
//! | `program` | what a call of a source or workflow needs, prepared once for each version |
//! | `source_program` | programs of sources, live and of earlier runs |
//! | `inputs` | configured values with the credentials of their accounts |
//! | `context` | contexts of runs |
//! | `artifact_files` | files of built code, written from the store where they are missing |
//! | `allowed_settings` | settings of workflows within what the operator allows |
//! | `call` | bodies of calls |
//! | `installed` | installs packages that the cache lost, before a call begins |
//! | `damaged` | fails the runs of owners whose stored data cannot be read |
//! | **Execute** | |
//! | `execute` | sends a claimed run's call to a host, and hands its effects to `settle` |
//! | `sink` | collects the effects of a call while it runs |
//! | `refused_connections` | names refused connections in the errors of code that met them |
//! | `unstored` | stores a run with its end, where its client waits for the answer |
//! | `progress` | makes results of finished steps durable while the run goes on |
//! | `pauses` | ends an attempt with a pause, and begins the next one behind it |
//! | `callbacks` | addresses at which a paused run is resumed or cancelled |
//! | `cancel` | cancels a queued or paused run, or a test under way |
//! | `again` | runs a run again that lost its process, or found none |
//! | `late` | adds log lines that code writes after its run has ended |
//! | `so_far` | steps and log lines from before a run's stream was opened |
//! | `watched` | counts and traces attempts |
//! | `full_queues` | owners whose queues are full, read every few seconds |
//! | **Requests of code** | |
//! | `asks` | answers requests of running code: data stores, `$.flow.trigger` |
//! | `asked` | bounds how often one attempt may ask |
//! | `store_grants` | which data and file stores a call may use |
//! | `data_stores` | data stores |
//! | `files` | file stores |
//! | `shown_keys` | pages of keys and paths, shown only to callers that may resume runs |
//! | **On request** | |
//! | `replays` | replays of many runs: a job in the store, taken step by step |
//! | `replay_plan` | checks what a replay asks for, and counts its runs |
//! | `replay_from` | the step that a replay begins with, and the results before it |
//! | `replayer` | background task that takes the steps of replays |

pub(crate) mod admission;
pub(crate) mod again;
pub(crate) mod allowed_settings;
pub(crate) mod artifact_files;
pub(crate) mod asked;
pub(crate) mod asks;
pub(crate) mod begin_order;
pub(crate) mod call;
mod callbacks;
pub(crate) mod cancel;
pub(crate) mod claimed_run;
pub(crate) mod context;
pub(crate) mod damaged;
pub(crate) mod data_stores;
pub(crate) mod dispatch;
pub(crate) mod execute;
pub(crate) mod files;
pub(crate) mod full_queues;
pub(crate) mod inputs;
mod installed;
pub(crate) mod late;
pub(crate) mod lease_guard;
pub(crate) mod pauses;
pub(crate) mod program;
pub(crate) mod progress;
pub(crate) mod refused_connections;
pub(crate) mod replay_from;
mod replay_plan;
pub(crate) mod replayer;
pub(crate) mod replays;
pub(crate) mod scheduler;
pub(crate) mod shown_keys;
pub(crate) mod sink;
pub(crate) mod so_far;
pub(crate) mod source_program;
pub(crate) mod store_grants;
pub(crate) mod unstored;
mod watched;
