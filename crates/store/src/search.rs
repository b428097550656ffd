//! Search over the texts of runs: an index of words that is made behind the runs, and what it is
//! asked.

use async_trait::async_trait;
use millrace_model::clock::Timestamp;
use millrace_model::ids::OrgId;
use millrace_model::page::{Listing, Page};
use millrace_model::run::RunStatus;
use millrace_model::search::{AskedWord, words_of_run};

use crate::{ListedRun, RUN_EVENT, RunFilter, StoreResult};

/// Characters of each text of a run that are read for the index.
pub const INDEXED_CHARS: usize = millrace_model::search::TEXT_BYTES_MAX;
/// Runs whose words fit, but of which a row must be read to know whether the filter does, that a
/// page looks at.
pub const LOOKED_AT_MAX: usize = 20_000;
/// Entries of the list of runs that a step of the sweep passes.
pub const SWEPT_MAX: u32 = 500;

/// A step of the index.
#[derive(Clone, Copy, Debug)]
pub struct IndexStep {
    /// The current time.
    pub now: Timestamp,
    /// Runs that were accepted later are left to a later step: most of them have ended by then.
    pub until: Timestamp,
    /// Organizations whose runs were all looked at before are looked at again.
    pub swept_before: Timestamp,
    /// Runs of a kind that are indexed at most.
    pub limit: u32,
}

/// What is in the index of an organization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexState {
    /// When the first run was accepted that is not in it; none: all are.
    pub until: Option<Timestamp>,
    /// Runs accepted before are not all in it yet; none: they are.
    pub from: Option<Timestamp>,
}

/// A page of a search.
#[derive(Clone, Debug)]
pub struct FoundRuns {
    /// Runs that fit, newest first; `total_count` is at most 1000.
    pub listing: Listing<ListedRun>,
    /// When the last run was accepted that was looked at, where there are too many to look at all.
    pub looked_at_from: Option<Timestamp>,
}

/// What the index reads of a run.
#[derive(Clone, Debug)]
pub struct RunTexts {
    /// Its id.
    pub id: String,
    /// Its organization.
    pub org_id: String,
    /// When it was accepted.
    pub created_at: i64,
    /// Whether nothing of it changes any more.
    pub is_ended: bool,
    /// Its duration in milliseconds, once it has ended.
    pub duration_ms: Option<i64>,
    /// What filters ask for, by name: `owner_id`, `kind` and so on.
    pub facets: Vec<(&'static str, Option<String>)>,
    /// JSON texts, which may be cut.
    pub texts: [Option<String>; 3],
}

/// [`run_duration_ms`](millrace_model::run::run_duration_ms) as both engines compute it of a row.
pub(crate) const RUN_DURATION: &str =
    "CASE WHEN finished_at < started_at THEN 0 ELSE finished_at - started_at END";

/// Columns of runs that [`RunTexts`] are read from, in their order, as both engines name them:
/// seven facets, then error, event, result and duration.
pub fn run_text_columns() -> String {
    format!(
        "id, org_id, created_at, finished_at IS NOT NULL AS is_ended, owner_id, kind, status, deployment_id, trigger_id, error_class, error_group,
         substr(error, 1, {INDEXED_CHARS}) AS error, substr({RUN_EVENT}, 1, {INDEXED_CHARS}) AS event, substr(result, 1, {INDEXED_CHARS}) AS result,
         {RUN_DURATION} AS duration_ms"
    )
}

/// Names of the facets among [`run_text_columns`].
pub const FACETS: [&str; 7] =
    ["owner_id", "kind", "status", "deployment_id", "trigger_id", "error_class", "error_group"];

/// What stands for the status of a run that goes on: it changes.
const OPEN: &str = "open";

impl RunTexts {
    /// All that the run is found by.
    pub fn words(&self) -> Vec<String> {
        let [error, event, result] = &self.texts;
        let mut words: Vec<String> =
            words_of_run(error.as_deref(), event.as_deref().unwrap_or(""), result.as_deref())
                .into_iter()
                .collect();
        words.push(facet("org_id", &self.org_id));
        for (name, value) in &self.facets {
            match value {
                Some(_) if *name == "status" && !self.is_ended => words.push(facet(name, OPEN)),
                Some(value) => words.push(facet(name, value)),
                None => {}
            }
        }
        words
    }
}

/// A word for what a filter asks for. No word of a text has a `_`.
fn facet(name: &str, value: &str) -> String {
    // FNV-1a: the words stay the same with each release.
    let hash = name
        .bytes()
        .chain([b'='])
        .chain(value.bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("f_{hash:016x}")
}

/// What the index is asked: of each group a word at least.
pub struct IndexQuery {
    /// Words, and whether words count that begin with it.
    pub groups: Vec<Vec<AskedWord>>,
    /// Whether the index alone cannot tell: rows are read.
    pub needs_rows: bool,
    /// Milliseconds that a run took at least.
    pub min_ms: Option<i64>,
}

impl IndexQuery {
    /// The words and the filter within an organization.
    pub fn new(org: &OrgId, words: &[Vec<AskedWord>], filter: &RunFilter) -> Self {
        let word = |text: String| AskedWord { text, is_prefix: false };
        let mut groups = words.to_vec();
        groups.push(vec![word(facet("org_id", org.as_str()))]);
        let asked = [
            ("owner_id", filter.owner.clone()),
            ("kind", filter.kind.map(|kind| kind.as_str().to_owned())),
            ("deployment_id", filter.deployment_id.clone()),
            ("trigger_id", filter.trigger_id.clone()),
            ("error_class", filter.error_class.clone()),
            ("error_group", filter.error_group.clone()),
        ];
        groups.extend(
            asked
                .into_iter()
                .filter_map(|(name, value)| value.map(|value| vec![word(facet(name, &value))])),
        );
        let goes_on = |status: &&RunStatus| {
            matches!(status, RunStatus::Queued | RunStatus::Running | RunStatus::Paused)
        };
        let is_open_asked = filter.statuses.iter().any(|status| goes_on(&status));
        if !filter.statuses.is_empty() {
            let mut any: Vec<_> = filter
                .statuses
                .iter()
                .filter(|status| !goes_on(status))
                .map(|status| word(facet("status", status.as_str())))
                .collect();
            any.extend(is_open_asked.then(|| word(facet("status", OPEN))));
            groups.push(any);
        }
        let needs_rows = is_open_asked
            || filter.trace_id.is_some()
            || filter.replay_of.is_some()
            || filter.ids.is_some();
        Self { groups, needs_rows, min_ms: filter.min_ms }
    }

    /// Whether words alone do not decide: [`LOOKED_AT_MAX`] runs that have them are looked at.
    pub fn is_bounded(&self) -> bool {
        self.needs_rows || self.min_ms.is_some()
    }

    /// Whether a run that took so long is asked for; none: it goes on.
    pub fn takes(&self, duration_ms: Option<i64>) -> bool {
        self.min_ms.is_none_or(|least| duration_ms.is_some_and(|ms| ms >= least))
    }

    /// As FTS5 of SQLite reads it.
    pub fn fts5(&self) -> String {
        self.joined(" AND ", " OR ", |word| {
            format!("\"{}\"{}", word.text, if word.is_prefix { "*" } else { "" })
        })
    }

    /// As a `tsquery` of Postgres reads it.
    pub fn tsquery(&self) -> String {
        self.joined(" & ", " | ", |word| {
            format!("'{}'{}", word.text, if word.is_prefix { ":*" } else { "" })
        })
    }

    fn joined(&self, all: &str, any: &str, write: impl Fn(&AskedWord) -> String) -> String {
        let groups = self
            .groups
            .iter()
            .map(|group| format!("({})", group.iter().map(&write).collect::<Vec<_>>().join(any)));
        groups.collect::<Vec<_>>().join(all)
    }
}

/// Times of acceptance that a search looks at, milliseconds, both ends included.
#[derive(Clone, Copy, Debug)]
pub struct SearchTimes<'a> {
    /// What the filter allows.
    pub of_all: (i64, i64),
    /// What of it the page's cursor leaves.
    pub within: (i64, i64),
    /// The run of the cursor.
    pub beyond: Option<(i64, &'a str)>,
}

impl<'a> SearchTimes<'a> {
    /// `cursors`: when the runs were accepted that `after` and `before` name.
    pub fn new(
        filter: &RunFilter,
        page: &'a Page,
        (after, before): (Option<Timestamp>, Option<Timestamp>),
    ) -> Self {
        let (from, to) = (
            filter.from.map_or(i64::MIN, Timestamp::ms),
            filter.to.map_or(i64::MAX, |to| to.ms().saturating_sub(1)),
        );
        let beyond = match (after, &page.after, before, &page.before) {
            (Some(time), Some(id), ..) | (_, _, Some(time), Some(id)) => {
                Some((time.ms(), id.as_str()))
            }
            _ => None,
        };
        let within = (
            before.map_or(from, |before| before.ms().max(from)),
            after.map_or(to, |after| after.ms().min(to)),
        );
        Self { of_all: (from, to), within, beyond }
    }
}

/// Search over the texts of runs.
#[async_trait]
pub trait Search: Send + Sync + 'static {
    /// Takes runs into the index that are not in it, or that ended since, and says how many were
    /// looked at; none: there is nothing to do, or another server does it. What it does and how far
    /// it came are one transaction.
    async fn index_runs(&self, step: IndexStep) -> StoreResult<u32>;
    /// What is in the index.
    async fn index_state(&self, org: &OrgId) -> StoreResult<IndexState>;
    /// Runs that have all words and fit, as [`crate::History::list_runs`] gives them.
    async fn search_runs(
        &self,
        org: &OrgId,
        words: &[Vec<AskedWord>],
        filter: &RunFilter,
        whole: bool,
        page: &Page,
    ) -> StoreResult<FoundRuns>;
}
