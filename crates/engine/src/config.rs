//! Configuration of an engine.

use std::path::PathBuf;
use std::time::Duration;

use millrace_model::retention::Retention;
use millrace_model::source::CALLS_PER_ISOLATE_MAX;

use crate::{OidcConfig, S3Config, TraceConfig};

/// Bounds and addresses of an engine.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Where clients reach this server; endpoints are `{base_url}/e/{key}`.
    pub base_url: String,
    /// Where endpoints have hosts of their own: `{key}.{endpoint_domain}`, a port with it where it
    /// is not the usual one; none: they have paths.
    pub endpoint_domain: Option<String>,
    /// Names of this server beside that of `base_url`, in lower case and without a port: no
    /// organization's domains.
    pub own_hosts: Vec<String>,
    /// Data folder of the server; the free space on its disk is reported.
    pub data_dir: PathBuf,
    /// Where built modules are kept for hosts.
    pub artifact_dir: PathBuf,
    /// Runs under way at once.
    pub running_max: usize,
    /// Accepted runs that wait for one of those slots, beyond which requests are refused; of one
    /// owner half as many.
    pub waiting_max: usize,
    /// Bytes of the events of those, beyond which requests are refused too; of one owner half as
    /// many.
    pub waiting_bytes_max: usize,
    /// How long a claimed run may go unrenewed.
    pub lease: Duration,
    /// Wall-clock limit of a source's run and of hooks.
    pub source_timeout: Duration,
    /// Attempts of a run that was lost each time through no fault of its own: with its server, or
    /// with a host that others used. Code cannot end the server, so that many losses say more of
    /// the machine than of the run; yet each start costs, and may repeat a step.
    pub attempts_max: i64,
    /// How often an event may be passed from workflow to workflow.
    pub hops_max: u32,
    /// How much history is kept, where nothing else was set for a workflow or source.
    pub keep: Retention,
    /// The most that may be set for one.
    pub keep_max: Retention,
    /// Days after which records of who changed what go; none: never.
    pub keep_audit_days: Option<u32>,
    /// Requests to `/v1` that a key may make in a minute, where it has no rate of its own; 0: as
    /// many as it likes.
    pub requests_per_minute: u32,
    /// Where mail goes; none: it stays in the outbox.
    pub smtp_url: Option<String>,
    /// The provider by which people sign in beside their passwords; none: by passwords alone.
    pub oidc: Option<OidcConfig>,
    /// Which addresses may be reached that users and code name: the policy of hosts.
    pub egress: millrace_model::egress::Shared,
    /// Sender of mail.
    pub mail_from: String,
    /// Where `$.send.s3` goes; none: it fails and says so.
    pub s3: Option<S3Config>,
    /// Bytes that the files of one request to an endpoint may have.
    pub upload_max_bytes: usize,
    /// Bytes that the files of an organization's requests may have together, for as long as they
    /// are kept.
    pub uploads_kept_bytes: u64,
    /// The largest heap that a workflow may ask for, MiB.
    pub memory_mb_max: u32,
    /// The longest wall-clock limit that a workflow may set.
    pub timeout_max: Duration,
    /// Runs of one workflow or source that may wait where it has limits and no `queue_max`; also
    /// the most that it may set as that.
    pub waiting_runs_max: u32,
    /// The most runs at once in one process that a workflow or source may set.
    pub calls_per_isolate_max: u32,
    /// The most requests in a minute that a key may be given as its own rate.
    pub requests_per_minute_max: u32,
    /// Where traces go; none: nowhere.
    pub traces: Option<TraceConfig>,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            base_url: "http://127.0.0.1:8787".into(),
            endpoint_domain: None,
            own_hosts: Vec::new(),
            data_dir: ".".into(),
            artifact_dir: "artifacts".into(),
            running_max: 256,
            waiting_max: 10_000,
            waiting_bytes_max: 512 << 20,
            lease: Duration::from_secs(30),
            source_timeout: Duration::from_secs(60),
            attempts_max: 10,
            hops_max: 16,
            keep: Retention { keep_days: Some(30), keep_count: None },
            keep_max: Retention::default(),
            keep_audit_days: Some(365),
            requests_per_minute: 6_000,
            smtp_url: None,
            oidc: None,
            egress: millrace_model::egress::Shared::default(),
            mail_from: "Millrace <millrace@localhost>".into(),
            s3: None,
            upload_max_bytes: 100 << 20,
            uploads_kept_bytes: 4 << 30,
            memory_mb_max: 10_240,
            timeout_max: Duration::from_secs(750),
            waiting_runs_max: 100_000,
            calls_per_isolate_max: CALLS_PER_ISOLATE_MAX,
            requests_per_minute_max: 1_000_000,
            traces: None,
        }
    }
}
