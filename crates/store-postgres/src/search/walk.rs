//! The runs that have the words that are searched for, in their order.

use std::collections::HashSet;

use deadpool_postgres::Client;
use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, RunId};
use millrace_store::{Dialect, IndexQuery, LOOKED_AT_MAX, RunFilter, RunQuery, StoreResult};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::db::{database, text};
use crate::history;
use crate::rows::many;

/// Runs that are held against a filter at once.
const READ_AT_ONCE: usize = 2_500;
/// How many of the newest runs are looked through in their order for words that many runs have, in
/// one step after the other, before all that have them are taken from the index of words.
const NEWEST: [usize; 2] = [2_000, 100_000];

/// A run that has the words.
struct Candidate {
    id: String,
    at: Timestamp,
    duration_ms: Option<i64>,
}

/// What a walk found.
pub(super) struct Walked {
    pub(super) ids: Vec<String>,
    /// How far it looked, where it did not look at all.
    pub(super) cut: Option<Timestamp>,
    /// How many runs have the words, where all of them were read.
    pub(super) with_words: Option<usize>,
}

/// Runs that have the words, in the order that is asked for, until there are enough.
pub(super) struct Walk<'a> {
    pub(super) c: &'a Client,
    pub(super) org: &'a OrgId,
    pub(super) filter: &'a RunFilter,
    pub(super) query: &'a IndexQuery,
    /// Whether the newest runs are not looked through first.
    pub(super) is_rare: bool,
}

impl Walk<'_> {
    /// `count` runs within these times (inclusive) and beyond the cursor, in their order.
    pub(super) async fn ids(
        &self,
        within: (i64, i64),
        beyond: Option<(i64, &str)>,
        is_ascending: bool,
        count: usize,
    ) -> StoreResult<Walked> {
        let (than, order) = if is_ascending { (">", "ASC") } else { ("<", "DESC") };
        let order = format!("ORDER BY created_at {order}, run_id {order}");
        let wanted = if self.query.is_bounded() { LOOKED_AT_MAX } else { count };
        // A cursor that is beyond all: no text is greater than this one.
        let (at, id) =
            beyond.unwrap_or(if is_ascending { (i64::MIN, "") } else { (i64::MAX, "\u{10ffff}") });
        let place = format!(
            "org_id = $1 AND created_at >= $2 AND created_at <= $3 AND (created_at, run_id) {than} ($4, $5)"
        );
        let query = self.query.tsquery();
        let limit = i64::try_from(wanted).unwrap_or(i64::MAX);
        let id = text(id);
        let params: [Typed<'_>; 7] = [
            (&self.org.as_str(), Type::TEXT),
            (&within.0, Type::INT8),
            (&within.1, Type::INT8),
            (&at, Type::INT8),
            (&id, Type::TEXT),
            (&query, Type::TEXT),
            (&limit, Type::INT8),
        ];
        let read = |row: &Row| {
            Ok(Candidate {
                id: row.try_get(0).map_err(database)?,
                at: Timestamp(row.try_get(1).map_err(database)?),
                duration_ms: row.try_get(2).map_err(database)?,
            })
        };
        for most in NEWEST.into_iter().take(if self.is_rare { 0 } else { NEWEST.len() }) {
            let newest = format!(
                "SELECT run_id, created_at, duration_ms FROM (SELECT run_id, created_at, duration_ms, words FROM indexed_runs WHERE {place} {order} LIMIT {most}) AS newest
                 WHERE words @@ $6::text::tsquery {order} LIMIT $7"
            );
            let found = planned(self.c, &newest, &params, read).await?;
            let ids = self.fits(&found, count).await?;
            if ids.len() == count || found.len() == wanted {
                let cut = self.cut(&found, ids.len() == count);
                return Ok(Walked { ids, cut, with_words: None });
            }
        }
        let all = format!(
            "WITH found AS MATERIALIZED (SELECT run_id, created_at, duration_ms FROM indexed_runs WHERE words @@ $6::text::tsquery AND {place})
             SELECT run_id, created_at, duration_ms, (SELECT count(*) FROM found) FROM found {order} LIMIT $7"
        );
        let counted = |row: &Row| Ok((read(row)?, row.try_get::<_, i64>(3).map_err(database)?));
        let (found, counts): (Vec<_>, Vec<_>) =
            planned(self.c, &all, &params, counted).await?.into_iter().unzip();
        let with_words = counts.first().and_then(|all| usize::try_from(*all).ok());
        let ids = self.fits(&found, count).await?;
        let cut = self.cut(&found, ids.len() == count);
        Ok(Walked { ids, cut, with_words: Some(with_words.unwrap_or(0)) })
    }

    /// How far it was looked, where there may be more that fit.
    fn cut(&self, candidates: &[Candidate], is_enough: bool) -> Option<Timestamp> {
        let last = candidates.last()?;
        (self.query.is_bounded() && candidates.len() == LOOKED_AT_MAX && !is_enough)
            .then_some(last.at)
    }

    /// The first `count` of the candidates that fit, in their order.
    async fn fits(&self, candidates: &[Candidate], count: usize) -> StoreResult<Vec<String>> {
        let named: Option<HashSet<&str>> =
            self.filter.ids.as_ref().map(|ids| ids.iter().map(RunId::as_str).collect());
        let asked: Vec<_> = candidates
            .iter()
            .filter(|run| self.query.takes(run.duration_ms))
            .map(|run| &run.id)
            .filter(|id| named.as_ref().is_none_or(|named| named.contains(id.as_str())))
            .collect();
        if !self.query.needs_rows {
            return Ok(asked.into_iter().take(count).cloned().collect());
        }
        let mut fitting = Vec::new();
        for chunk in asked.chunks(READ_AT_ONCE) {
            let ids = chunk.iter().map(|id| RunId::from_row((*id).clone())).collect();
            let (sql, values) = RunQuery::new(
                Dialect::Postgres,
                self.org,
                &RunFilter { ids: Some(ids), ..self.filter.clone() },
            )
            .ids();
            let values = history::storable(values);
            let fit = many(self.c, &sql, &history::to_sql(&values), |row| {
                row.try_get::<_, String>(0).map_err(database)
            })
            .await?;
            let fit: HashSet<String> = fit.into_iter().collect();
            fitting.extend(chunk.iter().filter(|id| fit.contains(**id)).map(|id| (*id).clone()));
            if fitting.len() >= count {
                fitting.truncate(count);
                break;
            }
        }
        Ok(fitting)
    }
}

/// A parameter, with its type.
pub(super) type Typed<'a> = (&'a (dyn ToSql + Sync), Type);

/// The rows of a statement that is planned for these parameters: how many runs have a word is what
/// decides, and a plan for any words would not know.
pub(super) async fn planned<T>(
    c: &Client,
    sql: &str,
    params: &[Typed<'_>],
    read: impl Fn(&Row) -> StoreResult<T>,
) -> StoreResult<Vec<T>> {
    c.query_typed(sql, params).await.map_err(database)?.iter().map(read).collect()
}
