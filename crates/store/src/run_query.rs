//! SQL of the list of runs: the conditions of a [`RunFilter`], and the index that answers each, for
//! both engines.

use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::page::Page;
use millrace_model::run::RunStatus;

use crate::search::RUN_DURATION;
use crate::{RUN_EVENT, RunFilter};

/// Bytes of a run's result up to which a light record reads it.
pub const LIGHT_RESULT_BYTES: usize = 64 << 10;

/// A parameter of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlValue {
    /// A text.
    Text(String),
    /// An integer.
    Number(i64),
}

/// How a database writes what differs between the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Parameters are `?1`; indexes are named, because its planner has no statistics.
    Sqlite,
    /// Parameters are `$1`.
    Postgres,
}

/// Rows that one partial index holds.
struct Branch {
    index: Option<&'static str>,
    /// The predicate of the index as its definition writes it, and what narrows it down.
    condition: String,
}

/// A filter as SQL.
pub struct RunQuery {
    dialect: Dialect,
    values: Vec<SqlValue>,
    branches: Vec<Branch>,
    /// Conditions of every branch, other than the organization of an owner's runs and the times.
    conditions: String,
    /// That the runs of an owner are the organization's, row by row.
    of_org: String,
    /// The same for all runs of the owner, by its first one: no row is read for it.
    owner_of_org: String,
    from: i64,
    to: i64,
}

impl RunQuery {
    /// The filter within an organization.
    pub fn new(dialect: Dialect, org: &OrgId, filter: &RunFilter) -> Self {
        let (from, to) = (
            filter.from.map_or(i64::MIN, Timestamp::ms),
            filter.to.map_or(i64::MAX, Timestamp::ms),
        );
        let (of_org, owner_of_org) = (String::new(), String::new());
        let mut query = Self {
            dialect,
            values: Vec::new(),
            branches: branches(filter),
            conditions: String::new(),
            of_org,
            owner_of_org,
            from,
            to,
        };
        let org = query.bind(SqlValue::Text(org.to_string()));
        // Runs that are named are read by their ids: in the order of time SQLite would look for
        // them through all others.
        let no_index = if dialect == Dialect::Sqlite && is_by_id(filter) { "+" } else { "" };
        match &filter.owner {
            Some(owner) => {
                let owner = query.bind(SqlValue::Text(owner.clone()));
                query.conditions = format!("{no_index}owner_id = {owner}");
                query.of_org = format!(" AND {no_index}org_id = {org}");
                query.owner_of_org = format!(
                    " AND (SELECT org_id FROM runs WHERE owner_id = {owner} LIMIT 1) = {org}"
                );
            }
            None => query.conditions = format!("{no_index}org_id = {org}"),
        }
        let trace = match dialect {
            Dialect::Sqlite => "json_extract(context, '$.trace_id')",
            Dialect::Postgres => "substring(context from '\"trace_id\":\"([^\"]*)\"')",
        };
        let texts = [
            ("kind", filter.kind.map(|kind| kind.as_str().to_owned())),
            ("deployment_id", filter.deployment_id.clone()),
            ("trigger_id", filter.trigger_id.clone()),
            ("error_class", filter.error_class.clone()),
            ("error_group", filter.error_group.clone()),
            (trace, filter.trace_id.clone()),
        ];
        for (column, text) in texts {
            if let Some(text) = text {
                let value = query.bind(SqlValue::Text(text));
                query.conditions.push_str(&format!(" AND {column} = {value}"));
            }
        }
        if let Some(ids) = &filter.ids {
            // One parameter however many they are: the statement is prepared once.
            let ids: Vec<_> = ids.iter().map(RunId::as_str).collect();
            let ids = query.bind(SqlValue::Text(serde_json::json!(ids).to_string()));
            query.conditions.push_str(&match dialect {
                Dialect::Sqlite => format!(" AND id IN (SELECT value FROM json_each({ids}))"),
                Dialect::Postgres => format!(
                    " AND id = ANY (ARRAY(SELECT jsonb_array_elements_text({ids}::text::jsonb)))"
                ),
            });
        }
        if let Some(run) = &filter.replay_of {
            let value = query.bind(SqlValue::Text(run.to_string()));
            query.conditions.push_str(&format!(
                " AND id IN (SELECT run_id FROM replayed_runs WHERE original_id = {value})"
            ));
        }
        if let Some(ms) = filter.min_ms {
            let value = query.bind(SqlValue::Number(ms));
            query.conditions.push_str(&format!(" AND {RUN_DURATION} >= {value}"));
        }
        query
    }

    fn bind(&mut self, value: SqlValue) -> String {
        self.values.push(value);
        let sign = if self.dialect == Dialect::Sqlite { '?' } else { '$' };
        format!("{sign}{}", self.values.len())
    }

    fn branch(&self, branch: &Branch, columns: &str, rest: &str) -> String {
        let hint = match (self.dialect, branch.index) {
            (Dialect::Sqlite, Some(index)) => format!(" INDEXED BY {index}"),
            _ => String::new(),
        };
        let Self { conditions, .. } = self;
        format!("SELECT {columns} FROM runs{hint} WHERE {}{conditions}{rest}", branch.condition)
    }

    /// A page. `cursors`: when the runs that its cursors name were accepted.
    pub fn page(
        mut self,
        columns: &str,
        page: &Page,
        cursors: (Option<Timestamp>, Option<Timestamp>),
    ) -> (String, Vec<SqlValue>) {
        // An index takes one bound on each side: the tighter one is given to it, so that a page far
        // down is not reached through those before it.
        let newest = cursors.0.map_or(i64::MAX, Timestamp::ms).min(self.to.saturating_sub(1));
        let oldest = cursors.1.map_or(i64::MIN, Timestamp::ms).max(self.from);
        let (oldest, newest) =
            (self.bind(SqlValue::Number(oldest)), self.bind(SqlValue::Number(newest)));
        let mut rest =
            format!("{} AND created_at >= {oldest} AND created_at <= {newest}", self.of_org);
        for (time, id, than) in [(cursors.0, &page.after, '<'), (cursors.1, &page.before, '>')] {
            if let (Some(time), Some(id)) = (time, id) {
                let (time, id) =
                    (self.bind(SqlValue::Number(time.ms())), self.bind(SqlValue::Text(id.clone())));
                rest.push_str(&format!(" AND (created_at, id) {than} ({time}, {id})"));
            }
        }
        let limit = self.bind(SqlValue::Number(i64::from(page.limit)));
        let order = if page.from_end() { "ASC" } else { "DESC" };
        let order = format!("ORDER BY created_at {order}, id {order}");
        rest.push_str(&format!(" {order} LIMIT {limit}"));
        let branches: Vec<_> = self
            .branches
            .iter()
            .map(|branch| {
                format!("SELECT * FROM ({}) AS part", self.branch(branch, "id, created_at", &rest))
            })
            .collect();
        let ids = match branches.as_slice() {
            [one] => one.clone(),
            many => format!("{} {order} LIMIT {limit}", many.join(" UNION ALL ")),
        };
        (
            format!(
                "SELECT {columns} FROM runs WHERE id IN (SELECT id FROM ({ids}) AS page) {order}"
            ),
            self.values,
        )
    }

    /// The page of whole runs that follows one, the oldest first; from the first without one.
    pub fn oldest_after(
        self,
        after: Option<&(Timestamp, RunId)>,
        limit: u32,
    ) -> (String, Vec<SqlValue>) {
        // Nothing is as old as this cursor, and no id is before the empty one.
        let (at, id) =
            after.map_or((Timestamp(i64::MIN), String::new()), |(at, id)| (*at, id.to_string()));
        let page = Page { limit, before: Some(id), ..Page::default() };
        self.page(&run_columns(true), &page, (None, Some(at)))
    }

    /// The ids of those that fit, in no order, for a filter that names runs: its times are not
    /// looked at.
    pub fn ids(self) -> (String, Vec<SqlValue>) {
        let branches: Vec<_> =
            self.branches.iter().map(|branch| self.branch(branch, "id", &self.of_org)).collect();
        (branches.join(" UNION ALL "), self.values)
    }

    /// How many fit; each part of them is counted up to `max`.
    pub fn count(mut self, max: i64) -> (String, Vec<SqlValue>) {
        let (from, to) =
            (self.bind(SqlValue::Number(self.from)), self.bind(SqlValue::Number(self.to)));
        let max = self.bind(SqlValue::Number(max));
        let rest = format!(
            "{} AND created_at >= {from} AND created_at < {to} LIMIT {max}",
            self.owner_of_org
        );
        let branches: Vec<_> = self
            .branches
            .iter()
            .map(|branch| {
                format!("SELECT * FROM ({}) AS part", self.branch(branch, "1 AS one", &rest))
            })
            .collect();
        (format!("SELECT count(*) FROM ({}) AS counted", branches.join(" UNION ALL ")), self.values)
    }
}

/// Columns of a listed run, as both engines name them; not `whole`: without its event, and without
/// a large result.
pub fn run_columns(whole: bool) -> String {
    let event = if whole { RUN_EVENT } else { "''" };
    let result = if whole {
        "result".to_owned()
    } else {
        format!("CASE WHEN octet_length(result) <= {LIGHT_RESULT_BYTES} THEN result END AS result")
    };
    let (row, version) = (row_columns(event, &result), run_version("runs"));
    format!(
        "{row},
         (SELECT original_id FROM replayed_runs WHERE run_id = runs.id) AS replay_of,
         (SELECT event_edited FROM replayed_runs WHERE run_id = runs.id) AS event_edited,
         (SELECT max(run_id) FROM replayed_runs WHERE original_id = runs.id) AS replayed_by,
         {version} AS version"
    )
}

/// The number of a run's version, of a workflow or a source, as both engines read it. `runs`: the
/// table of the run, or its alias.
pub fn run_version(runs: &str) -> String {
    format!(
        "coalesce((SELECT d.version FROM deployments d WHERE d.id = {runs}.deployment_id), \
         (SELECT d.version FROM source_deployments d WHERE d.id = {runs}.deployment_id))"
    )
}

/// Columns of a run and of nothing beside it, as both engines name them. Its table or alias is
/// `runs`.
pub fn run_row_columns() -> String {
    row_columns(RUN_EVENT, "result")
}

fn row_columns(event: &str, result: &str) -> String {
    format!(
        "id, org_id, owner_id, deployment_id, kind, trigger_id, {event} AS event, context, status, attempt, created_at, started_at, finished_at, {result}, error"
    )
}

/// The bytes of the texts among [`run_columns`].
pub fn run_column_bytes(whole: bool) -> String {
    let result = "coalesce(octet_length(result), 0)";
    let texts = "octet_length(context) + coalesce(octet_length(error), 0)";
    if whole {
        return format!("octet_length({RUN_EVENT}) + {result} + {texts} AS bytes");
    }
    format!(
        "CASE WHEN {result} <= {LIGHT_RESULT_BYTES} THEN {result} ELSE 0 END + {texts} AS bytes"
    )
}

/// Whether the runs are named, by themselves or by what they replay.
fn is_by_id(filter: &RunFilter) -> bool {
    filter.replay_of.is_some() || filter.ids.is_some()
}

/// The indexes that hold what is asked for. Their predicates are written literally, so that a
/// planner knows them again.
fn branches(filter: &RunFilter) -> Vec<Branch> {
    use RunStatus::{Cancelled, Failed, Paused, Queued, Running, Succeeded};
    let of = |statuses: &[RunStatus]| {
        let texts: Vec<_> =
            statuses.iter().map(|status| format!("'{}'", status.as_str())).collect();
        format!("status IN ({}) AND ", texts.join(", "))
    };
    let asked = &filter.statuses;
    let is_asked = |status: &RunStatus| asked.contains(status);
    let all = |index: Option<&'static str>| {
        let condition = if asked.is_empty() { String::new() } else { of(asked) };
        vec![Branch { index, condition }]
    };
    if is_by_id(filter) {
        return all(None);
    }
    if filter.trace_id.is_some() {
        return all(Some("runs_trace"));
    }
    // Of an error's class or group only failed runs have any.
    let failed = [Failed];
    let asked: Vec<_> = if filter.error_class.is_some() || filter.error_group.is_some() {
        if !asked.is_empty() && !is_asked(&Failed) {
            return vec![Branch { index: None, condition: "1 = 0 AND ".into() }];
        }
        failed.to_vec()
    } else {
        asked.clone()
    };
    let has_owner = filter.owner.is_some();
    let index = if has_owner { "runs_owner" } else { "runs_org" };
    // Those that succeed are most: they are found in the order of all.
    if asked.is_empty() || (!has_owner && asked.contains(&Succeeded)) {
        return all(Some(index));
    }
    let ended: &[(&'static str, &[RunStatus], &str)] = if has_owner {
        &[
            ("runs_failed", &[Failed], "status = 'failed' AND "),
            ("runs_ended", &[Succeeded, Cancelled], "status IN ('succeeded', 'cancelled') AND "),
        ]
    } else {
        &[("runs_org_troubled", &[Failed, Cancelled], "status IN ('failed', 'cancelled') AND ")]
    };
    let waiting: &[(&'static str, &[RunStatus], &str)] = &[
        ("runs_unfinished", &[Queued, Running], "status IN ('queued', 'running') AND "),
        ("runs_paused", &[Paused], "status = 'paused' AND "),
    ];
    let parts = waiting.iter().chain(ended).filter_map(|(index, holds, predicate)| {
        let wanted: Vec<_> =
            holds.iter().copied().filter(|status| asked.contains(status)).collect();
        let narrower = if wanted.len() < holds.len() { of(&wanted) } else { String::new() };
        (!wanted.is_empty())
            .then(|| Branch { index: Some(*index), condition: format!("{predicate}{narrower}") })
    });
    parts.collect()
}
