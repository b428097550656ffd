//! The state of the server for its operator: version, database, queue, processes, walls.

use std::sync::atomic::Ordering;

use millrace_model::clock::Timestamp;
use millrace_model::tenant::Caller;

use crate::observe::metrics::resident_bytes;
use crate::observe::readiness::Readiness;
use crate::{Engine, EngineError};

/// A server, as its operator sees it.
#[derive(Clone, Debug)]
pub struct System {
    /// When it started.
    pub started_at: Timestamp,
    /// The version of Node.js that runs components.
    pub node_version: String,
    /// Whether events are accepted, and what stands against it.
    pub readiness: Readiness,
    /// Whether the database is the server's own file, which no other server can use.
    pub is_single: bool,
    /// Servers that use the database, this one among them.
    pub servers: u64,
    /// Runs that are queued or under way, on all of them; none: the database does not answer.
    pub unfinished_runs: Option<u64>,
    /// Runs under way here, and those that wait for a place.
    pub runs: (usize, usize),
    /// Processes with code of components, and processes that wait for code.
    pub hosts: (usize, usize),
    /// What the database takes on its disk; none: it does not answer.
    pub stored_bytes: Option<u64>,
    /// Room on the disk of the data directory; none where that is not told.
    pub free_bytes: Option<u64>,
    /// Memory of the server's own process.
    pub resident_bytes: Option<u64>,
    /// The walls around components, in words.
    pub walls: String,
    /// Those that are missing, each with what it needs.
    pub walls_missing: Vec<&'static str>,
    /// What the operator opened of addresses that are closed to components.
    pub egress_allow: Vec<String>,
    /// Where mail goes, without credentials; none: it stays in the outbox.
    pub mail_server: Option<String>,
}

impl Engine {
    /// Whether the caller may know the server's own state.
    ///
    /// # Errors
    /// `Forbidden` for callers of another organization than the first.
    pub async fn check_operator(&self, caller: &Caller) -> Result<(), EngineError> {
        self.organizations().check_first(caller, "this is of the whole server; only a key or a person of the organization that was made first can read it").await
    }

    /// The server that answers.
    ///
    /// # Errors
    /// `Forbidden` for callers of another organization than the first.
    pub async fn system(&self, caller: &Caller) -> Result<System, EngineError> {
        self.check_operator(caller).await?;
        let (runner, config) = (&self.0.runner, &self.0.config);
        let (stats, walls) = (runner.stats(), runner.walls());
        Ok(System {
            started_at: self.0.started_at,
            node_version: runner.node_version().to_owned(),
            readiness: self.readiness().await,
            is_single: self.0.store.single_node(),
            servers: 1 + self.0.nodes.others.load(Ordering::SeqCst),
            unfinished_runs: self.0.store.unfinished_runs().await.ok(),
            runs: (self.0.admission.slots.held(), self.0.admission.slots.waiting()),
            hosts: (stats.hosts, stats.blank_hosts),
            stored_bytes: self.0.store.stored_bytes().await.ok(),
            free_bytes: Readiness::free_bytes(&self.0.ctx),
            resident_bytes: resident_bytes(),
            walls: walls.to_string(),
            walls_missing: walls.missing(),
            egress_allow: config.egress.get().allow.iter().map(ToString::to_string).collect(),
            mail_server: config.smtp_url.as_deref().map(place),
        })
    }
}

/// The host and port of a URL; its user and password are left out. A text that is no URL is not
/// shown, it may hold a password.
fn place(url: &str) -> String {
    let Ok(url) = url.parse::<url::Url>() else { return "an address that cannot be read".into() };
    let host = url.host_str().unwrap_or("");
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_mail_server_is_told_without_what_signs_in_there() {
        for (url, expected) in [
            ("smtps://user:p%40ss@mail.example:465?tls=required", "mail.example:465"),
            ("smtp://user:p@ss@mail.example", "mail.example"),
            ("smtp://user:pa/ss@mail.example", "an address that cannot be read"),
            ("smtp://[::1]:1025", "[::1]:1025"),
            ("smtp://user:pw@mail.example:587/path", "mail.example:587"),
            ("smtp://127.0.0.1:1025", "127.0.0.1:1025"),
            ("mail.example", "an address that cannot be read"),
        ] {
            assert_eq!(place(url), expected);
        }
    }
}
