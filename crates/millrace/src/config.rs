//! Configuration: one typed tree of settings from flags, then the environment, then
//! `millrace.toml`. An unknown key stops the start.

mod checks;
mod oidc;
mod parts;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use millrace_engine::{OidcConfig, S3Config, TraceConfig};
use millrace_model::egress::Allow;
use millrace_model::npm_registry::NpmRegistry;
use millrace_model::proxies::TrustedProxy;
use millrace_model::retention::Retention;
use millrace_model::source::CALLS_PER_ISOLATE_MAX;
use serde::Deserialize;

use self::oidc::oidc;
use self::parts::{npm_registry, own_hosts, s3, tls, traces};
use crate::tls::TlsFiles;

/// The form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

/// The walls around code that runs here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// All walls, or the server does not start.
    #[default]
    Required,
    /// Those that this machine has.
    BestEffort,
    /// None: every component is trusted.
    Off,
}

/// Flags of `serve`. Each has an environment variable and a key of the same name in
/// `millrace.toml`.
#[derive(Args, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServeArgs {
    /// A configuration file [default: millrace.toml in the data directory]
    #[arg(long, env = "MILLRACE_CONFIG")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Where data is kept [default: ./millrace-data]
    #[arg(long, env = "MILLRACE_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// The Postgres database: postgres://user:password@host:port/database; without it SQLite in the
    /// data directory
    #[arg(long, env = "MILLRACE_DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// Seconds a start waits for a Postgres database that accepts no connections yet; 0: it fails
    /// at once [default: 30]
    #[arg(long, env = "MILLRACE_DATABASE_WAIT_SECONDS")]
    pub database_wait_seconds: Option<u32>,
    /// Address and port to listen on [default: 127.0.0.1:8787]
    #[arg(long, env = "MILLRACE_LISTEN")]
    pub listen: Option<String>,
    /// Where clients reach this server [default: http://<listen>, or https:// with --tls-cert]
    #[arg(long, env = "MILLRACE_BASE_URL")]
    pub base_url: Option<String>,
    /// A domain whose subdomains lead here: endpoints are then at {key}.DOMAIN; with its port,
    /// unless that is the usual one
    #[arg(long, env = "MILLRACE_ENDPOINT_DOMAIN", value_name = "DOMAIN")]
    pub endpoint_domain: Option<String>,
    /// Another name of this server, beside that of its base URL: no organization can have it as a
    /// domain; may be repeated, or a list with commas
    #[arg(long, env = "MILLRACE_OWN_HOST", value_name = "NAME", value_delimiter = ',')]
    pub own_host: Vec<String>,
    /// Addresses of reverse proxies whose headers are trusted (X-Forwarded-For, -Proto,
    /// -Host, Forwarded): CIDR; may be repeated, or a list with commas
    #[arg(long, env = "MILLRACE_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',')]
    pub trusted_proxy: Vec<TrustedProxy>,
    /// Trusted proxies begin each connection with a header of the PROXY protocol, version 1 or 2
    #[arg(long, env = "MILLRACE_PROXY_PROTOCOL", num_args = 0..=1, default_missing_value = "true", require_equals = true, value_name = "BOOL")]
    pub proxy_protocol: Option<bool>,
    /// The certificate for TLS on --listen, PEM, followed by its chain; read again when it is
    /// renewed
    #[arg(long, env = "MILLRACE_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(long, env = "MILLRACE_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Where mail goes: smtp://user:password@host:port; without it mail stays in the outbox
    #[arg(long, env = "MILLRACE_SMTP_URL", hide_env_values = true)]
    pub smtp_url: Option<String>,
    /// Sender of mail [default: Millrace <millrace@localhost>]
    #[arg(long, env = "MILLRACE_MAIL_FROM")]
    pub mail_from: Option<String>,
    /// An OpenID Connect provider with which people can sign in, besides passwords:
    /// https://accounts.google.com
    #[arg(long, env = "MILLRACE_OIDC_ISSUER", value_name = "URL")]
    pub oidc_issuer: Option<String>,
    /// The client id of this server at the provider; the redirect URI is BASE-URL/login
    #[arg(long, env = "MILLRACE_OIDC_CLIENT_ID", value_name = "ID")]
    pub oidc_client_id: Option<String>,
    /// The secret of the registration; prefer the environment or a file, a command line can be seen
    /// by others
    #[arg(long, env = "MILLRACE_OIDC_CLIENT_SECRET", hide_env_values = true)]
    pub oidc_client_secret: Option<String>,
    /// A file with that secret
    #[arg(long, env = "MILLRACE_OIDC_CLIENT_SECRET_FILE", value_name = "FILE")]
    pub oidc_client_secret_file: Option<PathBuf>,
    /// The provider's name on the login page [default: its host]
    #[arg(long, env = "MILLRACE_OIDC_NAME", value_name = "NAME")]
    pub oidc_name: Option<String>,
    /// E-mail domains that may sign in with the provider, separated by commas [default: all]
    #[arg(long, env = "MILLRACE_OIDC_EMAIL_DOMAINS", value_name = "DOMAINS")]
    pub oidc_email_domains: Option<String>,
    /// The role in the first organization of people without an invitation, viewer or member; needs
    /// --oidc-email-domains [default: none, only invited people can sign in]
    #[arg(long, env = "MILLRACE_OIDC_ROLE", value_name = "ROLE")]
    pub oidc_role: Option<String>,
    /// An object store that speaks S3, for `$.send.s3`: https://s3.eu-central-1.amazonaws.com
    #[arg(long, env = "MILLRACE_S3_ENDPOINT")]
    pub s3_endpoint: Option<String>,
    /// Its region [default: us-east-1]
    #[arg(long, env = "MILLRACE_S3_REGION")]
    pub s3_region: Option<String>,
    /// The id of its key
    #[arg(long, env = "MILLRACE_S3_ACCESS_KEY_ID")]
    pub s3_access_key_id: Option<String>,
    /// Its key; prefer the environment or the file, a command line can be seen by others
    #[arg(long, env = "MILLRACE_S3_SECRET_ACCESS_KEY", hide_env_values = true)]
    pub s3_secret_access_key: Option<String>,
    /// The buckets that code may write to, separated by commas [default: all that the key reaches]
    #[arg(long, env = "MILLRACE_S3_BUCKETS")]
    pub s3_buckets: Option<String>,
    /// The owner's e-mail address, used at the first start [default: owner@localhost]
    #[arg(long, env = "MILLRACE_OWNER_EMAIL")]
    pub owner_email: Option<String>,
    /// The Node.js binary, 20 or newer [default: node]
    #[arg(long, env = "MILLRACE_NODE")]
    pub node: Option<PathBuf>,
    /// The npm registry, with user and password if it needs them
    /// [default: https://registry.npmjs.org]
    #[arg(long, env = "MILLRACE_NPM_REGISTRY", hide_env_values = true, value_name = "URL")]
    pub npm_registry: Option<String>,
    /// A token for it, npm's `_authToken`; prefer the environment or a file, a command line can be
    /// seen by others
    #[arg(long, env = "MILLRACE_NPM_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub npm_token: Option<String>,
    /// A file with that token
    #[arg(long, env = "MILLRACE_NPM_TOKEN_FILE", value_name = "FILE")]
    pub npm_token_file: Option<PathBuf>,
    /// The largest body of a request to an endpoint, in bytes [default: 524288]
    #[arg(long, env = "MILLRACE_HTTP_BODY_MAX_BYTES")]
    pub http_body_max_bytes: Option<usize>,
    /// Seconds a client may take for a request's head, and for its body in addition to its time at
    /// 8 KiB a second [default: 30]
    #[arg(long, env = "MILLRACE_REQUEST_TIMEOUT_SECONDS")]
    pub request_timeout_seconds: Option<u32>,
    /// Concurrent connections; further clients are asked to retry [default: 10000]
    #[arg(long, env = "MILLRACE_CONNECTIONS_MAX")]
    pub connections_max: Option<usize>,
    /// MiB of memory for requests: half for bodies of requests not answered yet, half for accepted
    /// events that wait to run [default: 512]
    #[arg(long, env = "MILLRACE_REQUESTS_MEMORY_MB")]
    pub requests_memory_mb: Option<u32>,
    /// The most bytes of files in a request to an endpoint: of a form, or of a body kept as a file
    /// [default: 104857600]
    #[arg(long, env = "MILLRACE_UPLOAD_MAX_BYTES")]
    pub upload_max_bytes: Option<usize>,
    /// The most MiB of heap that a workflow may ask for as `memory_mb`
    /// [default: half of the machine's memory, 10240 at most]
    #[arg(long, env = "MILLRACE_MEMORY_MAX_MB", value_name = "MIB")]
    pub memory_max_mb: Option<u32>,
    /// The longest wall-clock limit that a workflow may set as `timeout_ms`, 60 to 750 seconds
    /// [default: 750]
    #[arg(long, env = "MILLRACE_TIMEOUT_MAX_SECONDS", value_name = "SECONDS")]
    pub timeout_max_seconds: Option<u32>,
    /// Runs that may wait for one workflow or source with limits and no `queue_max`; also the
    /// maximum of `queue_max` [default: 100000]
    #[arg(long, env = "MILLRACE_WAITING_RUNS_MAX", value_name = "COUNT")]
    pub waiting_runs_max: Option<u32>,
    /// The most runs at once in one process that a workflow or source may set as
    /// `calls_per_isolate` [default: 64]
    #[arg(long, env = "MILLRACE_CALLS_PER_ISOLATE_MAX", value_name = "COUNT")]
    pub calls_per_isolate_max: Option<u32>,
    /// MiB that the files in requests to an organization's endpoints may have together; each is
    /// kept for half an hour [default: 4096]
    #[arg(long, env = "MILLRACE_UPLOADS_KEPT_MB")]
    pub uploads_kept_mb: Option<u32>,
    /// Days that settled runs and events are kept [default: 30]
    #[arg(long, env = "MILLRACE_KEEP_DAYS")]
    pub keep_days: Option<u32>,
    /// Newest settled runs, and newest events, that are kept of a workflow or source [default: all]
    #[arg(long, env = "MILLRACE_KEEP_COUNT")]
    pub keep_count: Option<u32>,
    /// The most days that may be set for a workflow or source [default: 36500]
    #[arg(long, env = "MILLRACE_KEEP_DAYS_MAX", value_name = "DAYS")]
    pub keep_days_max: Option<u32>,
    /// The largest number of runs and events to keep that may be set for a workflow or source
    /// [default: 1000000]
    #[arg(long, env = "MILLRACE_KEEP_COUNT_MAX", value_name = "COUNT")]
    pub keep_count_max: Option<u32>,
    /// Days that records of who changed what are kept [default: 365]
    #[arg(long, env = "MILLRACE_KEEP_AUDIT_DAYS")]
    pub keep_audit_days: Option<u32>,
    /// An address and port for /metrics without a key; on --listen it needs one
    #[arg(long, env = "MILLRACE_METRICS_LISTEN")]
    pub metrics_listen: Option<String>,
    /// Where traces go, a collector that speaks OTLP over HTTP: http://127.0.0.1:4318
    #[arg(long, env = "MILLRACE_OTLP_URL")]
    pub otlp_url: Option<String>,
    /// Headers for the collector: NAME=VALUE, with commas between them
    #[arg(long, env = "MILLRACE_OTLP_HEADERS", hide_env_values = true)]
    pub otlp_headers: Option<String>,
    /// Requests to /v1 that an API key may make in a minute, if it has no rate of its own; 0: no
    /// limit [default: 6000]
    #[arg(long, env = "MILLRACE_REQUESTS_PER_MINUTE")]
    pub requests_per_minute: Option<u32>,
    /// The most requests to /v1 in a minute that a key may be given as its own rate
    /// [default: 1000000]
    #[arg(long, env = "MILLRACE_REQUESTS_PER_MINUTE_MAX", value_name = "COUNT")]
    pub requests_per_minute_max: Option<u32>,
    /// The file of the master key, which encrypts all secrets: 32 bytes, as they are or in hex or
    /// base64 [default: master.key in the data directory]
    #[arg(long, env = "MILLRACE_MASTER_KEY_FILE")]
    pub master_key_file: Option<PathBuf>,
    /// The master key itself; prefer the environment, a command line can be seen by others
    #[arg(long, env = "MILLRACE_MASTER_KEY", hide_env_values = true)]
    pub master_key: Option<String>,
    /// The previous master key, for the one start that changes it
    #[arg(long, env = "MILLRACE_MASTER_KEY_OLD", hide_env_values = true)]
    pub master_key_old: Option<String>,
    /// A shell command that prints the master key, such as one that asks a key service
    #[arg(long, env = "MILLRACE_MASTER_KEY_COMMAND")]
    pub master_key_command: Option<String>,
    /// The walls around code that runs here [default: required]
    #[arg(long, env = "MILLRACE_SANDBOX")]
    pub sandbox: Option<Sandbox>,
    /// Addresses that components may reach although they are not public: CIDR[:PORT] or
    /// NAME[:PORT]; may be repeated, or a list with commas
    #[arg(long, env = "MILLRACE_EGRESS_ALLOW", value_name = "ADDRESS", value_delimiter = ',')]
    pub egress_allow: Vec<Allow>,
    /// The form of the log [default: text]
    #[arg(long, env = "MILLRACE_LOG_FORMAT")]
    pub log_format: Option<LogFormat>,
}

/// Where the master key is; at most one of the places is given.
#[derive(Default)]
pub struct MasterKeyConfig {
    pub file: Option<PathBuf>,
    pub key: Option<String>,
    pub old: Option<String>,
    pub command: Option<String>,
}

impl std::fmt::Debug for MasterKeyConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MasterKeyConfig").field("file", &self.file).finish_non_exhaustive()
    }
}

/// Settings, complete.
#[derive(Debug)]
pub struct Config {
    pub data_dir: PathBuf,
    pub database_url: Option<String>,
    pub database_wait: Duration,
    pub listen: String,
    pub base_url: Option<String>,
    pub endpoint_domain: Option<String>,
    pub own_hosts: Vec<String>,
    pub trusted_proxies: Vec<TrustedProxy>,
    pub proxy_protocol: bool,
    pub tls: Option<TlsFiles>,
    pub smtp_url: Option<String>,
    pub mail_from: String,
    pub oidc: Option<OidcConfig>,
    pub s3: Option<S3Config>,
    pub owner_email: String,
    pub node: PathBuf,
    pub npm_registry: NpmRegistry,
    pub http_body_max_bytes: usize,
    pub request_timeout_seconds: u32,
    pub connections_max: usize,
    pub requests_memory_mb: u32,
    pub upload_max_bytes: usize,
    pub uploads_kept_mb: u32,
    pub memory_max_mb: Option<u32>,
    pub timeout_max_seconds: u32,
    pub waiting_runs_max: u32,
    pub calls_per_isolate_max: u32,
    pub requests_per_minute_max: u32,
    pub keep: Retention,
    pub keep_max: Retention,
    pub keep_audit_days: u32,
    pub metrics_listen: Option<String>,
    pub traces: Option<TraceConfig>,
    pub requests_per_minute: u32,
    pub master_key: MasterKeyConfig,
    pub sandbox: Sandbox,
    pub egress_allow: Vec<Allow>,
    pub log_format: LogFormat,
}

impl Config {
    /// Half of the memory for requests, bytes: bodies may take one, events that wait the other.
    pub fn requests_half_bytes(&self) -> usize {
        (self.requests_memory_mb as usize) << 19
    }

    /// Flags and environment over the file over the defaults.
    pub fn read(args: ServeArgs) -> Result<Self> {
        let default_dir = || PathBuf::from("millrace-data");
        let beside = args.data_dir.clone().unwrap_or_else(default_dir).join("millrace.toml");
        let file = match &args.config {
            Some(path) => read_file(path)?,
            None if beside.exists() => read_file(&beside)?,
            None => ServeArgs::default(),
        };
        let s3 = s3(&args, &file)?;
        let oidc = oidc(&args, &file)?;
        let npm_registry = npm_registry(&args, &file)?;
        let master_key = master_key(&args, &file)?;
        let traces =
            traces(args.otlp_url.or(file.otlp_url), args.otlp_headers.or(file.otlp_headers))?;
        let keep_days = Some(args.keep_days.or(file.keep_days).unwrap_or(30));
        let config = Self {
            oidc,
            s3,
            master_key,
            traces,
            keep: Retention { keep_days, keep_count: args.keep_count.or(file.keep_count) },
            keep_max: Retention {
                keep_days: args.keep_days_max.or(file.keep_days_max),
                keep_count: args.keep_count_max.or(file.keep_count_max),
            },
            keep_audit_days: args.keep_audit_days.or(file.keep_audit_days).unwrap_or(365),
            metrics_listen: args.metrics_listen.or(file.metrics_listen),
            data_dir: args.data_dir.or(file.data_dir).unwrap_or_else(default_dir),
            database_url: args.database_url.or(file.database_url),
            database_wait: Duration::from_secs(u64::from(
                args.database_wait_seconds.or(file.database_wait_seconds).unwrap_or(30),
            )),
            listen: args.listen.or(file.listen).unwrap_or_else(|| "127.0.0.1:8787".into()),
            base_url: args
                .base_url
                .or(file.base_url)
                .map(|url| url.trim_end_matches('/').to_owned()),
            endpoint_domain: args
                .endpoint_domain
                .or(file.endpoint_domain)
                .map(|d| d.to_ascii_lowercase()),
            own_hosts: own_hosts(if args.own_host.is_empty() {
                file.own_host
            } else {
                args.own_host
            })?,
            trusted_proxies: if args.trusted_proxy.is_empty() {
                file.trusted_proxy
            } else {
                args.trusted_proxy
            },
            proxy_protocol: args.proxy_protocol.or(file.proxy_protocol).unwrap_or(false),
            tls: tls(args.tls_cert.or(file.tls_cert), args.tls_key.or(file.tls_key))?,
            smtp_url: args.smtp_url.or(file.smtp_url),
            mail_from: args
                .mail_from
                .or(file.mail_from)
                .unwrap_or_else(|| "Millrace <millrace@localhost>".into()),
            owner_email: args
                .owner_email
                .or(file.owner_email)
                .unwrap_or_else(|| "owner@localhost".into()),
            node: args.node.or(file.node).unwrap_or_else(|| "node".into()),
            npm_registry,
            http_body_max_bytes: args
                .http_body_max_bytes
                .or(file.http_body_max_bytes)
                .unwrap_or(512 * 1024),
            request_timeout_seconds: args
                .request_timeout_seconds
                .or(file.request_timeout_seconds)
                .unwrap_or(30),
            connections_max: args.connections_max.or(file.connections_max).unwrap_or(10_000),
            requests_memory_mb: args.requests_memory_mb.or(file.requests_memory_mb).unwrap_or(512),
            upload_max_bytes: args.upload_max_bytes.or(file.upload_max_bytes).unwrap_or(100 << 20),
            memory_max_mb: args.memory_max_mb.or(file.memory_max_mb),
            timeout_max_seconds: args
                .timeout_max_seconds
                .or(file.timeout_max_seconds)
                .unwrap_or(*checks::TIMEOUT_MAX_SECONDS.end()),
            waiting_runs_max: args.waiting_runs_max.or(file.waiting_runs_max).unwrap_or(100_000),
            calls_per_isolate_max: args
                .calls_per_isolate_max
                .or(file.calls_per_isolate_max)
                .unwrap_or(CALLS_PER_ISOLATE_MAX),
            requests_per_minute_max: args
                .requests_per_minute_max
                .or(file.requests_per_minute_max)
                .unwrap_or(1_000_000),
            uploads_kept_mb: args.uploads_kept_mb.or(file.uploads_kept_mb).unwrap_or(4096),
            requests_per_minute: args
                .requests_per_minute
                .or(file.requests_per_minute)
                .unwrap_or(6000),
            sandbox: args.sandbox.or(file.sandbox).unwrap_or_default(),
            egress_allow: if args.egress_allow.is_empty() {
                file.egress_allow
            } else {
                args.egress_allow
            },
            log_format: args.log_format.or(file.log_format).unwrap_or_default(),
        };
        config.check()?;
        Ok(config)
    }
}

fn master_key(args: &ServeArgs, file: &ServeArgs) -> Result<MasterKeyConfig> {
    let text = |field: fn(&ServeArgs) -> &Option<String>| {
        field(args).clone().or_else(|| field(file).clone()).filter(|text| !text.is_empty())
    };
    let found = MasterKeyConfig {
        file: args.master_key_file.clone().or_else(|| file.master_key_file.clone()),
        key: text(|a| &a.master_key),
        old: text(|a| &a.master_key_old),
        command: text(|a| &a.master_key_command),
    };
    if u8::from(found.file.is_some())
        + u8::from(found.key.is_some())
        + u8::from(found.command.is_some())
        > 1
    {
        bail!(
            "of master_key_file, master_key and master_key_command only one can be given: the master key has one place"
        );
    }
    if found.old.is_some() && found.key.is_none() {
        bail!("master_key_old belongs to master_key, the new key");
    }
    Ok(found)
}

fn read_file(path: &Path) -> Result<ServeArgs> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("could not read the configuration `{}`", path.display()))?;
    toml::from_str(&text)
        .with_context(|| format!("the configuration `{}` is not valid", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_win_over_the_file_and_unknown_keys_stop_the_start() {
        let dir = std::env::temp_dir().join(format!("millrace-config-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        let path = dir.join("millrace.toml");
        std::fs::write(&path, "listen = \"127.0.0.1:1\"\nkeep_days = 7\nsandbox = \"best-effort\"\ndatabase_url = \"postgres://db/app\"\negress_allow = [\"10.0.0.0/8:443\", \"db\"]\n").expect("writes");
        let args = ServeArgs {
            config: Some(path.clone()),
            listen: Some("127.0.0.1:2".into()),
            ..ServeArgs::default()
        };
        let config = Config::read(args).expect("reads");
        assert_eq!(
            (config.listen.as_str(), config.keep.keep_days, config.sandbox),
            ("127.0.0.1:2", Some(7), Sandbox::BestEffort)
        );
        assert_eq!(config.database_url.as_deref(), Some("postgres://db/app"));
        assert_eq!(
            config.egress_allow.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["10.0.0.0/8:443", "db"]
        );
        let args = ServeArgs {
            config: Some(path.clone()),
            egress_allow: vec!["::1".parse().expect("an address")],
            ..ServeArgs::default()
        };
        assert_eq!(Config::read(args).expect("reads").egress_allow.len(), 1);
        std::fs::write(&path, "egress_allow = [\"10.0.0.0/99\"]\n").expect("writes");
        let error = Config::read(ServeArgs { config: Some(path.clone()), ..ServeArgs::default() })
            .expect_err("refuses");
        assert!(format!("{error:#}").contains("10.0.0.0/99"), "{error:#}");
        std::fs::write(&path, "own_host = [\"Millrace.internal.\", \"10.0.0.7\"]\n")
            .expect("writes");
        let config = Config::read(ServeArgs { config: Some(path.clone()), ..ServeArgs::default() })
            .expect("reads");
        assert_eq!(config.own_hosts, ["millrace.internal", "10.0.0.7"]);
        let args = ServeArgs {
            config: Some(path.clone()),
            own_host: vec!["https://millrace.internal".into()],
            ..ServeArgs::default()
        };
        let error = Config::read(args).expect_err("refuses");
        assert!(format!("{error:#}").contains("https://millrace.internal"), "{error:#}");
        std::fs::write(&path, "lissten = \"x\"\n").expect("writes");
        let error = Config::read(ServeArgs { config: Some(path), ..ServeArgs::default() })
            .expect_err("refuses");
        assert!(format!("{error:#}").contains("lissten"), "{error:#}");
        std::fs::remove_dir_all(dir).expect("cleans");
    }
}
