//! The index of texts of runs, a GIN index of `tsvector`, and searches in it.
//!
//! Such an index gives its rows in no order. So the newest runs are looked through in theirs, which
//! finds enough of what is frequent; what is rarer is taken from the index as a whole and sorted.

use std::collections::HashSet;

use deadpool_postgres::{Client, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::page::{Listing, Page};
use millrace_model::search::AskedWord;
use millrace_store::{
    Dialect, FACETS, FoundRuns, IndexQuery, IndexState, IndexStep, LOOKED_AT_MAX, RunFilter,
    RunQuery, RunTexts, SWEPT_MAX, SearchTimes, StoreResult, run_text_columns,
};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::db::{database, text};
use crate::history;
use crate::rows::{execute, many, one};

/// The advisory lock of the index: one server at a time makes it.
const LOCK: i64 = 0x6d69_6c6c_7365_6b31;
/// Organizations that a step looks at.
const ORGS: i64 = 16;
/// Runs that go on that a step looks at, whether they ended.
const OPEN_LOOKED_AT: i64 = 500;
/// Runs that are held against a filter at once.
const READ_AT_ONCE: usize = 2_500;
/// Runs that are counted exactly.
const COUNTED: usize = 1_000;
/// How many of the newest runs are counted first, where words are asked for that begin in some way.
const NEWEST_COUNTED: usize = 20_000;
/// How many of the newest runs are looked through in their order for words that many runs have, in
/// one step after the other, before all that have them are taken from the index of words.
const NEWEST: [usize; 2] = [2_000, 100_000];

/// Whether a step has nothing to do. It is asked first: a transaction twice a second would be seen
/// by all that count them.
pub(crate) async fn is_idle(c: &Client, step: &IndexStep) -> StoreResult<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM run_index_marks AS m WHERE m.sweep_at IS NOT NULL OR m.swept_at < $2
           OR EXISTS (SELECT 1 FROM runs WHERE org_id = m.org_id AND (created_at, id) > (m.newest_at, m.newest_id) AND created_at <= $1))
         AND NOT EXISTS (SELECT 1 FROM organizations WHERE id NOT IN (SELECT org_id FROM run_index_marks) AND EXISTS (SELECT 1 FROM runs WHERE org_id = organizations.id))
         AND NOT EXISTS (SELECT 1 FROM (SELECT run_id FROM indexed_runs WHERE NOT is_ended ORDER BY run_id LIMIT $3) AS open JOIN runs ON id = run_id WHERE finished_at IS NOT NULL)
         AND (SELECT count(*) FROM (SELECT 1 FROM indexed_runs WHERE NOT is_ended LIMIT $3) AS open) < $3";
    let idle = one(c, sql, &[&step.until.ms(), &step.swept_before.ms(), &OPEN_LOOKED_AT], |row| {
        row.try_get(0).map_err(database)
    })
    .await?;
    Ok(idle == Some(true))
}

/// `open_after`: runs that go on are looked at in the order of their ids, a part of them in a step.
pub(crate) async fn index(
    t: &Transaction<'_>,
    step: &IndexStep,
    open_after: &mut String,
) -> StoreResult<u32> {
    let is_free = one(t, "SELECT pg_try_advisory_xact_lock($1)", &[&LOCK], |row| {
        row.try_get::<_, bool>(0).map_err(database)
    })
    .await?;
    if is_free != Some(true) {
        return Ok(0);
    }
    let first = "INSERT INTO run_index_marks (org_id, newest_at, newest_id, sweep_at, sweep_id)
         SELECT id, $1::bigint, '', $1::bigint, '' FROM organizations WHERE id NOT IN (SELECT org_id FROM run_index_marks)
           AND EXISTS (SELECT 1 FROM runs WHERE org_id = organizations.id) LIMIT $2 ON CONFLICT DO NOTHING";
    let mut looked_at = execute(t, first, &[&step.until.ms(), &ORGS]).await?;
    looked_at += newer(t, step).await?;
    looked_at += ended(t, step, open_after).await?;
    looked_at += sweep(t, step).await?;
    let again = "UPDATE run_index_marks SET sweep_at = newest_at, sweep_id = newest_id WHERE sweep_at IS NULL AND swept_at < $1";
    looked_at += execute(t, again, &[&step.swept_before.ms()]).await?;
    Ok(u32::try_from(looked_at).unwrap_or(u32::MAX))
}

/// The place of a run in the order of an organization's runs, after its organization.
fn place(row: &Row) -> StoreResult<(String, i64, String)> {
    Ok((
        row.try_get(0).map_err(database)?,
        row.try_get(1).map_err(database)?,
        row.try_get(2).map_err(database)?,
    ))
}

async fn newer(t: &Transaction<'_>, step: &IndexStep) -> StoreResult<u64> {
    let sql = "SELECT org_id, newest_at, newest_id FROM run_index_marks AS m
         WHERE EXISTS (SELECT 1 FROM runs WHERE org_id = m.org_id AND (created_at, id) > (m.newest_at, m.newest_id) AND created_at <= $1) LIMIT $2";
    let orgs = many(t, sql, &[&step.until.ms(), &ORGS], place).await?;
    let (mut left, mut looked_at, count) = (step.limit, 0, u32::try_from(orgs.len()).unwrap_or(1));
    for (n, (org, at, id)) in (0..).zip(orgs) {
        let sql = format!(
            "SELECT {} FROM runs WHERE org_id = $1 AND (created_at, id) > ($2, $3) AND created_at <= $4 ORDER BY created_at, id LIMIT $5",
            run_text_columns()
        );
        let limit = i64::from(left.div_ceil(count - n));
        let runs = many(t, &sql, &[&org, &at, &id, &step.until.ms(), &limit], texts).await?;
        left -= u32::try_from(runs.len()).unwrap_or(left);
        looked_at += runs.len() as u64;
        if let Some(last) = runs.last() {
            let mark =
                "UPDATE run_index_marks SET newest_at = $2, newest_id = $3 WHERE org_id = $1";
            execute(t, mark, &[&org, &last.created_at, &last.id]).await?;
        }
        take_in(t, runs).await?;
    }
    Ok(looked_at)
}

/// Runs that ended since they were taken in.
async fn ended(t: &Transaction<'_>, step: &IndexStep, open_after: &mut String) -> StoreResult<u64> {
    let sql = "SELECT run_id, finished_at IS NOT NULL FROM indexed_runs JOIN runs ON runs.id = run_id WHERE NOT is_ended AND run_id > $1 ORDER BY run_id LIMIT $2";
    let read = |row: &Row| {
        Ok((
            row.try_get::<_, String>(0).map_err(database)?,
            row.try_get::<_, bool>(1).map_err(database)?,
        ))
    };
    let open = many(t, sql, &[&*open_after, &OPEN_LOOKED_AT], read).await?;
    let is_last = (open.len() as i64) < OPEN_LOOKED_AT;
    open_after.clear();
    let mut ended = Vec::new();
    for (id, has_ended) in open {
        if ended.len() == step.limit as usize {
            break;
        }
        if !is_last {
            open_after.clone_from(&id);
        }
        if has_ended {
            ended.push(id);
        }
    }
    take_in(t, by_ids(t, &ended).await?).await?;
    Ok(ended.len() as u64)
}

/// Passes some runs of one organization, from the newest to the oldest, and takes in those that are
/// missing.
async fn sweep(t: &Transaction<'_>, step: &IndexStep) -> StoreResult<u64> {
    let sql = "SELECT org_id, sweep_at, sweep_id FROM run_index_marks WHERE sweep_at IS NOT NULL ORDER BY org_id LIMIT 1";
    let Some((org, at, id)) = one(t, sql, &[], place).await? else { return Ok(0) };
    let entries = "SELECT id, created_at, EXISTS (SELECT 1 FROM indexed_runs WHERE run_id = runs.id) FROM runs
         WHERE org_id = $1 AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $4";
    let read = |row: &Row| {
        Ok((
            row.try_get::<_, String>(0).map_err(database)?,
            row.try_get::<_, i64>(1).map_err(database)?,
            row.try_get::<_, bool>(2).map_err(database)?,
        ))
    };
    let entries = many(t, entries, &[&org, &at, &id, &i64::from(SWEPT_MAX)], read).await?;
    let is_bottom = entries.len() < SWEPT_MAX as usize;
    let (mut missing, mut last, mut is_cut, mut looked_at) = (Vec::new(), None, false, 1);
    for (id, at, is_indexed) in entries {
        if missing.len() == step.limit as usize {
            is_cut = true;
            break;
        }
        looked_at += 1;
        if !is_indexed {
            missing.push(id.clone());
        }
        last = Some((at, id));
    }
    take_in(t, by_ids(t, &missing).await?).await?;
    match last {
        Some((at, id)) if is_cut || !is_bottom => {
            execute(
                t,
                "UPDATE run_index_marks SET sweep_at = $2, sweep_id = $3 WHERE org_id = $1",
                &[&org, &at, &id],
            )
            .await?
        }
        _ => {
            execute(
                t,
                "UPDATE run_index_marks SET sweep_at = NULL, swept_at = $2 WHERE org_id = $1",
                &[&org, &step.now.ms()],
            )
            .await?
        }
    };
    Ok(looked_at)
}

async fn by_ids(t: &Transaction<'_>, ids: &[String]) -> StoreResult<Vec<RunTexts>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    many(t, &format!("SELECT {} FROM runs WHERE id = ANY($1)", run_text_columns()), &[&ids], texts)
        .await
}

fn texts(row: &Row) -> StoreResult<RunTexts> {
    let text = |at: usize| row.try_get::<_, Option<String>>(at).map_err(database);
    let facets = FACETS
        .iter()
        .enumerate()
        .map(|(n, name)| Ok((*name, text(n + 4)?)))
        .collect::<StoreResult<Vec<_>>>()?;
    Ok(RunTexts {
        id: row.try_get(0).map_err(database)?,
        org_id: row.try_get(1).map_err(database)?,
        created_at: row.try_get(2).map_err(database)?,
        is_ended: row.try_get(3).map_err(database)?,
        facets,
        texts: [text(11)?, text(12)?, text(13)?],
        duration_ms: row.try_get(14).map_err(database)?,
    })
}

async fn take_in(t: &Transaction<'_>, runs: Vec<RunTexts>) -> StoreResult<()> {
    // One that was removed since it was read is not taken in; its row is locked by the reference
    // from then on.
    let sql = "INSERT INTO indexed_runs (run_id, org_id, created_at, is_ended, words, duration_ms)
         SELECT id, org_id, created_at, $2, array_to_tsvector($3::text[]), $4 FROM runs WHERE id = $1
         ON CONFLICT (run_id) DO UPDATE SET is_ended = excluded.is_ended, words = excluded.words, duration_ms = excluded.duration_ms WHERE NOT indexed_runs.is_ended";
    for run in runs {
        execute(t, sql, &[&run.id, &run.is_ended, &run.words(), &run.duration_ms]).await?;
    }
    Ok(())
}

/// Takes the words of a run away that is about to lose its texts; they come anew once it is looked
/// at.
pub(crate) async fn forget(t: &Transaction<'_>, run: &RunId) -> StoreResult<()> {
    execute(t, "UPDATE indexed_runs SET words = '' WHERE run_id = $1", &[&run.as_str()])
        .await
        .map(|_| ())
}

pub(crate) async fn state(c: &Client, org: &OrgId) -> StoreResult<IndexState> {
    let mark = one(
        c,
        "SELECT newest_at, newest_id, sweep_at, swept_at FROM run_index_marks WHERE org_id = $1",
        &[&org.as_str()],
        |row| {
            let number = |at: usize| row.try_get::<_, Option<i64>>(at).map_err(database);
            Ok((
                number(0)?.unwrap_or_default(),
                row.try_get::<_, String>(1).map_err(database)?,
                number(2)?,
                number(3)?,
            ))
        },
    )
    .await?;
    let (at, id, sweep_at, swept_at) = mark.unwrap_or((i64::MIN, String::new(), None, None));
    let next = "SELECT created_at FROM runs WHERE org_id = $1 AND (created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT 1";
    let until = one(c, next, &[&org.as_str(), &at, &id], |row| {
        row.try_get(0).map(Timestamp).map_err(database)
    })
    .await?;
    Ok(IndexState { until, from: sweep_at.filter(|_| swept_at.is_none()).map(Timestamp) })
}

/// A run that has the words.
struct Candidate {
    id: String,
    at: Timestamp,
    duration_ms: Option<i64>,
}

/// Runs that have the words, in the order that is asked for, until there are enough.
struct Walk<'a> {
    c: &'a Client,
    org: &'a OrgId,
    filter: &'a RunFilter,
    query: &'a IndexQuery,
    /// Whether the newest runs are not looked through first.
    is_rare: bool,
}

impl Walk<'_> {
    /// Ids of `count` runs within these times (inclusive) and beyond the cursor, in their order;
    /// and how far it looked, where it did not look at all.
    async fn ids(
        &self,
        within: (i64, i64),
        beyond: Option<(i64, &str)>,
        is_ascending: bool,
        count: usize,
    ) -> StoreResult<(Vec<String>, Option<Timestamp>)> {
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
                return Ok((ids, cut));
            }
        }
        let all = format!(
            "WITH found AS MATERIALIZED (SELECT run_id, created_at, duration_ms FROM indexed_runs WHERE words @@ $6::text::tsquery AND {place})
             SELECT run_id, created_at, duration_ms FROM found {order} LIMIT $7"
        );
        let found = planned(self.c, &all, &params, read).await?;
        let ids = self.fits(&found, count).await?;
        let cut = self.cut(&found, ids.len() == count);
        Ok((ids, cut))
    }

    /// How far it was looked, where there may be more that fit.
    fn cut(&self, candidates: &[Candidate], is_enough: bool) -> Option<Timestamp> {
        let last = candidates.last()?;
        (self.query.is_bounded() && candidates.len() == LOOKED_AT_MAX && !is_enough)
            .then_some(last.at)
    }

    /// The first `count` of the candidates that fit, in their order.
    async fn fits(&self, candidates: &[Candidate], count: usize) -> StoreResult<Vec<String>> {
        let named: HashSet<&str> = self.filter.ids.iter().map(RunId::as_str).collect();
        let asked: Vec<_> = candidates
            .iter()
            .filter(|run| self.query.takes(run.duration_ms))
            .map(|run| &run.id)
            .filter(|id| named.is_empty() || named.contains(id.as_str()))
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
                &RunFilter { ids, ..self.filter.clone() },
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

/// How many runs within these times (inclusive) have the words, counted up to [`COUNTED`]; and
/// whether they are so rare that the newest runs are not worth being looked through.
async fn with_words(
    c: &Client,
    org: &OrgId,
    (from, to): (i64, i64),
    query: &IndexQuery,
) -> StoreResult<(usize, bool)> {
    const PLACE: &str = "org_id = $1 AND created_at >= $2 AND created_at <= $3";
    let (words, most) = (query.tsquery(), COUNTED as i64);
    let params: [Typed<'_>; 5] = [
        (&org.as_str(), Type::TEXT),
        (&from, Type::INT8),
        (&to, Type::INT8),
        (&words, Type::TEXT),
        (&most, Type::INT8),
    ];
    let count = async |runs: &str| {
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM {runs} AND words @@ $4::text::tsquery LIMIT $5) AS counted"
        );
        let counts =
            planned(c, &sql, &params, |row| row.try_get::<_, i64>(0).map_err(database)).await?;
        StoreResult::Ok(
            counts.first().and_then(|count| usize::try_from(*count).ok()).unwrap_or_default(),
        )
    };
    let of_all = format!("indexed_runs WHERE {PLACE}");
    // The index reads all words that begin so before it gives the first run: where enough of the
    // newest runs have one, it is not asked.
    if query.groups.iter().flatten().any(|word| word.is_prefix) {
        let newest = format!(
            "(SELECT words FROM indexed_runs WHERE {PLACE} ORDER BY created_at DESC, run_id DESC LIMIT {NEWEST_COUNTED}) AS newest WHERE true"
        );
        let counted = count(&newest).await?;
        return match counted {
            COUNTED => Ok((counted, false)),
            _ => Ok((count(&of_all).await?, true)),
        };
    }
    let counted = count(&of_all).await?;
    Ok((counted, counted < COUNTED))
}

/// A parameter, with its type.
type Typed<'a> = (&'a (dyn ToSql + Sync), Type);

/// The rows of a statement that is planned for these parameters: how many runs have a word is what
/// decides, and a plan for any words would not know.
async fn planned<T>(
    c: &Client,
    sql: &str,
    params: &[Typed<'_>],
    read: impl Fn(&Row) -> StoreResult<T>,
) -> StoreResult<Vec<T>> {
    c.query_typed(sql, params).await.map_err(database)?.iter().map(read).collect()
}

pub(crate) async fn search(
    c: &Client,
    org: &OrgId,
    words: &[AskedWord],
    filter: &RunFilter,
    whole: bool,
    page: &Page,
) -> StoreResult<FoundRuns> {
    let query = IndexQuery::new(org, words, filter);
    let cursors = (
        history::time_of(c, org, "after", &page.after).await?,
        history::time_of(c, org, "before", &page.before).await?,
    );
    let times = SearchTimes::new(filter, page, cursors);
    let limit = page.limit as usize;
    let (with_words, is_rare) = with_words(c, org, times.of_all, &query).await?;
    let walk = Walk { c, org, filter, query: &query, is_rare };
    // A first page is the beginning of what is counted.
    let counted = if query.is_bounded() {
        Some(walk.ids(times.of_all, None, false, COUNTED).await?)
    } else {
        None
    };
    let (found, looked_at_from) = match &counted {
        Some((ids, looked_at_from)) if times.beyond.is_none() && !page.from_end() => (
            ids.iter().take(limit).cloned().collect(),
            looked_at_from.filter(|_| ids.len() < limit),
        ),
        _ => walk.ids(times.within, times.beyond, page.from_end(), limit).await?,
    };
    let total = counted.map_or(with_words, |(ids, _)| ids.len());
    let ids: Vec<_> = found.into_iter().map(RunId::from_row).collect();
    let listing = if ids.is_empty() {
        Listing::of(Vec::new(), total as u64)
    } else {
        let page = Page { limit: page.limit, room: page.room.clone(), ..Page::default() };
        Listing {
            total_count: total as u64,
            ..history::runs(c, org, &RunFilter { ids, ..filter.clone() }, whole, &page).await?
        }
    };
    Ok(FoundRuns { listing, looked_at_from })
}
