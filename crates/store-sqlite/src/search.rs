//! The index of texts of runs, in FTS5, and searches in it.
//!
//! Its rows are numbered by the time of acceptance, so that FTS5 gives the newest first without
//! reading the others.

use std::collections::HashSet;

use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::page::{Listing, Page};
use millrace_model::search::AskedWord;
use millrace_store::{
    Dialect, FACETS, FoundRuns, IndexQuery, IndexState, IndexStep, LOOKED_AT_MAX, RunFilter,
    RunQuery, RunTexts, SWEPT_MAX, SearchTimes, StoreError, StoreResult, run_text_columns,
};
use rusqlite::{Connection, Row, params};

use crate::db::database;
use crate::history;
use crate::rows::{execute, many, number, one};

/// Numbers for runs of one millisecond: two to the power of it. More of them take those of the
/// next.
const NUMBER_BITS: u32 = 12;
/// Organizations that a step looks at.
const ORGS: u32 = 16;
/// Runs that go on that a step looks at, whether they ended.
const OPEN_LOOKED_AT: u32 = 500;
/// Runs that are counted exactly.
const COUNTED: usize = 1_000;

/// What a step takes into the index, found by a reader.
#[derive(Default)]
pub(crate) struct Found {
    runs: Vec<RunTexts>,
    marks: Vec<Mark>,
    looked_at: u32,
}

enum Mark {
    First(String),
    Newest(String, i64, String),
    Sweep(String, i64, String),
    Swept(String),
}

impl Found {
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.marks.is_empty()
    }
}

/// `open_after`: runs that go on are looked at in the order of their ids, a part of them in a step.
pub(crate) fn find(
    c: &Connection,
    step: &IndexStep,
    open_after: &mut String,
) -> StoreResult<Found> {
    let mut found = Found::default();
    let text = |row: &Row<'_>, at: usize| row.get::<_, String>(at).map_err(database);
    let without = "SELECT id FROM organizations WHERE id NOT IN (SELECT org_id FROM run_index_marks) AND EXISTS (SELECT 1 FROM runs WHERE org_id = organizations.id) LIMIT ?1";
    found.marks.extend(many(c, without, [ORGS], |row| text(row, 0))?.into_iter().map(Mark::First));

    let newer = "SELECT org_id, newest_at, newest_id FROM run_index_marks AS m
         WHERE EXISTS (SELECT 1 FROM runs INDEXED BY runs_org WHERE org_id = m.org_id AND (created_at, id) > (m.newest_at, m.newest_id) AND created_at <= ?1) LIMIT ?2";
    let newer = many(c, newer, params![step.until.ms(), ORGS], |row| {
        Ok((text(row, 0)?, row.get::<_, i64>(1).map_err(database)?, text(row, 2)?))
    })?;
    let mut left = step.limit;
    let orgs = u32::try_from(newer.len()).unwrap_or(ORGS);
    for (n, (org, at, id)) in (0..).zip(newer) {
        let sql = format!(
            "SELECT {} FROM runs INDEXED BY runs_org WHERE org_id = ?1 AND (created_at, id) > (?2, ?3) AND created_at <= ?4 ORDER BY created_at, id LIMIT ?5",
            run_text_columns()
        );
        let runs =
            many(c, &sql, params![org, at, id, step.until.ms(), left.div_ceil(orgs - n)], texts)?;
        left -= u32::try_from(runs.len()).unwrap_or(left);
        found
            .marks
            .extend(runs.last().map(|last| Mark::Newest(org, last.created_at, last.id.clone())));
        found.runs.extend(runs);
    }

    let open = "SELECT run_id, (SELECT finished_at IS NOT NULL FROM runs WHERE id = run_id) FROM indexed_runs INDEXED BY indexed_runs_open WHERE is_ended = 0 AND run_id > ?1 ORDER BY run_id LIMIT ?2";
    let open = many(c, open, params![*open_after, OPEN_LOOKED_AT], |row| {
        Ok((text(row, 0)?, row.get::<_, Option<bool>>(1).map_err(database)?))
    })?;
    let is_last = open.len() < OPEN_LOOKED_AT as usize;
    open_after.clear();
    let mut ended = Vec::new();
    for (id, has_ended) in open {
        if ended.len() == step.limit as usize {
            break;
        }
        if !is_last {
            open_after.clone_from(&id);
        }
        if has_ended == Some(true) {
            ended.push(id);
        }
    }
    found.runs.extend(by_ids(c, &ended)?);

    let sweep = "SELECT org_id, sweep_at, sweep_id FROM run_index_marks WHERE sweep_at IS NOT NULL ORDER BY org_id LIMIT 1";
    if let Some((org, at, id)) = one(c, sweep, [], |row| {
        Ok((text(row, 0)?, row.get::<_, i64>(1).map_err(database)?, text(row, 2)?))
    })? {
        let entries = "SELECT id, created_at, EXISTS (SELECT 1 FROM indexed_runs WHERE run_id = runs.id) FROM runs INDEXED BY runs_org
             WHERE org_id = ?1 AND (created_at, id) < (?2, ?3) ORDER BY created_at DESC, id DESC LIMIT ?4";
        let read = |row: &Row<'_>| {
            Ok((
                text(row, 0)?,
                row.get::<_, i64>(1).map_err(database)?,
                row.get::<_, bool>(2).map_err(database)?,
            ))
        };
        let entries = many(c, entries, params![org, at, id, SWEPT_MAX], read)?;
        let (mut missing, mut last) = (Vec::new(), None);
        let is_bottom = entries.len() < SWEPT_MAX as usize;
        let mut is_cut = false;
        for (id, at, is_indexed) in entries {
            if missing.len() == step.limit as usize {
                is_cut = true;
                break;
            }
            found.looked_at += 1;
            if !is_indexed {
                missing.push(id.clone());
            }
            last = Some((at, id));
        }
        found.runs.extend(by_ids(c, &missing)?);
        found.marks.push(match last {
            Some((at, id)) if is_cut || !is_bottom => Mark::Sweep(org, at, id),
            _ => Mark::Swept(org),
        });
    }
    found.looked_at += u32::try_from(found.runs.len() + found.marks.len()).unwrap_or(u32::MAX);
    Ok(found)
}

fn by_ids(c: &Connection, ids: &[String]) -> StoreResult<Vec<RunTexts>> {
    let sql = format!(
        "SELECT {} FROM runs WHERE id IN (SELECT value FROM json_each(?1))",
        run_text_columns()
    );
    many(c, &sql, [serde_json::Value::from(ids.to_vec()).to_string()], texts)
}

fn texts(row: &Row<'_>) -> StoreResult<RunTexts> {
    let text = |at: usize| row.get::<_, Option<String>>(at).map_err(database);
    let facets = FACETS
        .iter()
        .enumerate()
        .map(|(n, name)| Ok((*name, text(n + 4)?)))
        .collect::<StoreResult<Vec<_>>>()?;
    Ok(RunTexts {
        id: row.get(0).map_err(database)?,
        org_id: row.get(1).map_err(database)?,
        created_at: row.get(2).map_err(database)?,
        is_ended: row.get(3).map_err(database)?,
        facets,
        texts: [text(11)?, text(12)?, text(13)?],
        duration_ms: row.get(14).map_err(database)?,
    })
}

/// A run with the words that it is found by, as FTS5 takes them.
pub(crate) struct Indexed {
    id: String,
    created_at: i64,
    is_ended: bool,
    duration_ms: Option<i64>,
    words: String,
}

pub(crate) struct Written {
    runs: Vec<Indexed>,
    marks: Vec<Mark>,
    pub(crate) looked_at: u32,
}

/// Out of the writer: it takes the time.
pub(crate) fn split(found: Found) -> Written {
    let indexed = |run: RunTexts| Indexed {
        words: run.words().join(" "),
        id: run.id,
        created_at: run.created_at,
        is_ended: run.is_ended,
        duration_ms: run.duration_ms,
    };
    Written {
        runs: found.runs.into_iter().map(indexed).collect(),
        marks: found.marks,
        looked_at: found.looked_at,
    }
}

pub(crate) fn write(c: &Connection, written: &Written, step: &IndexStep) -> StoreResult<()> {
    for run in &written.runs {
        take_in(c, run)?;
    }
    for mark in &written.marks {
        match mark {
            Mark::First(org) => execute(
                c,
                "INSERT OR IGNORE INTO run_index_marks (org_id, newest_at, newest_id, sweep_at, sweep_id) VALUES (?1, ?2, '', ?2, '')",
                params![org, step.until.ms()],
            )?,
            Mark::Newest(org, at, id) => execute(
                c,
                "UPDATE run_index_marks SET newest_at = ?2, newest_id = ?3 WHERE org_id = ?1",
                params![org, at, id],
            )?,
            Mark::Sweep(org, at, id) => execute(
                c,
                "UPDATE run_index_marks SET sweep_at = ?2, sweep_id = ?3 WHERE org_id = ?1",
                params![org, at, id],
            )?,
            Mark::Swept(org) => execute(
                c,
                "UPDATE run_index_marks SET sweep_at = NULL, swept_at = ?2 WHERE org_id = ?1",
                params![org, step.now.ms()],
            )?,
        };
    }
    let again = "UPDATE run_index_marks SET sweep_at = newest_at, sweep_id = newest_id WHERE sweep_at IS NULL AND swept_at < ?1";
    execute(c, again, [step.swept_before.ms()])?;
    Ok(())
}

pub(crate) fn is_sweep_due(c: &Connection, step: &IndexStep) -> StoreResult<bool> {
    Ok(number(
        c,
        "SELECT count(*) FROM run_index_marks WHERE sweep_at IS NULL AND swept_at < ?1",
        [step.swept_before.ms()],
    )? > 0)
}

fn take_in(c: &Connection, run: &Indexed) -> StoreResult<()> {
    let known =
        one(c, "SELECT number, is_ended FROM indexed_runs WHERE run_id = ?1", [&run.id], |row| {
            Ok((row.get::<_, i64>(0).map_err(database)?, row.get::<_, bool>(1).map_err(database)?))
        })?;
    let at = match known {
        Some((_, is_ended)) if is_ended || !run.is_ended => return Ok(()),
        Some((at, _)) => {
            execute(c, "DELETE FROM run_words WHERE rowid = ?1", [at])?;
            execute(
                c,
                "UPDATE indexed_runs SET is_ended = 1, duration_ms = ?2 WHERE number = ?1",
                params![at, run.duration_ms],
            )?;
            at
        }
        None => {
            // It may have gone since it was read.
            if number(c, "SELECT count(*) FROM runs WHERE id = ?1", [&run.id])? == 0 {
                return Ok(());
            }
            let first = run.created_at << NUMBER_BITS;
            let newest = "SELECT coalesce(max(number) + 1, ?1) FROM indexed_runs WHERE number >= ?1 AND number < ?1 + ?2";
            let mut at = number(c, newest, params![first, 1_i64 << NUMBER_BITS])?;
            while number(c, "SELECT count(*) FROM indexed_runs WHERE number = ?1", [at])? > 0 {
                at += 1;
            }
            execute(
                c,
                "INSERT INTO indexed_runs (number, run_id, is_ended, duration_ms) VALUES (?1, ?2, ?3, ?4)",
                params![at, run.id, run.is_ended, run.duration_ms],
            )?;
            at
        }
    };
    execute(c, "INSERT INTO run_words (rowid, words) VALUES (?1, ?2)", params![at, run.words])?;
    Ok(())
}

/// Takes the words of a run away that is about to lose its texts; they come anew once it is looked
/// at.
pub(crate) fn forget(c: &Connection, run: &RunId) -> StoreResult<()> {
    execute(
        c,
        "DELETE FROM run_words WHERE rowid = (SELECT number FROM indexed_runs WHERE run_id = ?1)",
        [run.as_str()],
    )?;
    Ok(())
}

pub(crate) fn state(c: &Connection, org: &OrgId) -> StoreResult<IndexState> {
    let mark = one(
        c,
        "SELECT newest_at, newest_id, sweep_at, swept_at FROM run_index_marks WHERE org_id = ?1",
        [org.as_str()],
        |row| {
            let number = |at: usize| row.get::<_, Option<i64>>(at).map_err(database);
            Ok((
                number(0)?.unwrap_or_default(),
                row.get::<_, String>(1).map_err(database)?,
                number(2)?,
                number(3)?,
            ))
        },
    )?;
    let (at, id, sweep_at, swept_at) = mark.unwrap_or((i64::MIN, String::new(), None, None));
    let next = "SELECT created_at FROM runs INDEXED BY runs_org WHERE org_id = ?1 AND (created_at, id) > (?2, ?3) ORDER BY created_at, id LIMIT 1";
    let until = one(c, next, params![org.as_str(), at, id], |row| {
        row.get(0).map(Timestamp).map_err(database)
    })?;
    Ok(IndexState { until, from: sweep_at.filter(|_| swept_at.is_none()).map(Timestamp) })
}

/// Ids with the times of acceptance, and how far was looked, where not all was looked at.
type Walked = (Vec<(i64, String)>, Option<Timestamp>);

/// Runs that have the words, in the order that is asked for, until there are enough.
struct Walk<'a> {
    c: &'a Connection,
    org: &'a OrgId,
    filter: &'a RunFilter,
    query: &'a IndexQuery,
}

impl Walk<'_> {
    /// Ids of `count` runs within these times (inclusive) and beyond the cursor, in their order;
    /// and how far it looked, where it did not look at all.
    fn ids(
        &self,
        within: (i64, i64),
        beyond: Option<(i64, &str)>,
        is_ascending: bool,
        count: usize,
    ) -> StoreResult<Walked> {
        let order = if is_ascending { "ASC" } else { "DESC" };
        // The ways of both tables are said: FTS5 gives the order, and each row of it is looked up.
        let sql = format!(
            "SELECT w.rowid, i.run_id, i.duration_ms FROM run_words AS w CROSS JOIN indexed_runs AS i ON i.number = w.rowid
             WHERE run_words MATCH ?1 AND w.rowid >= ?2 AND w.rowid <= ?3 ORDER BY w.rowid {order}"
        );
        let bound = |ms: i64| ms.clamp(0, i64::MAX >> (NUMBER_BITS + 1));
        let (low, high) = (
            bound(within.0) << NUMBER_BITS,
            (bound(within.1) << NUMBER_BITS) | ((1 << NUMBER_BITS) - 1),
        );
        let mut statement = self.c.prepare_cached(&sql).map_err(database)?;
        let mut rows = statement.query(params![self.query.fts5(), low, high]).map_err(database)?;
        let is_beyond = |ms: i64, id: &str| {
            beyond
                .is_none_or(|place| if is_ascending { (ms, id) > place } else { (ms, id) < place })
        };
        let (mut fitting, mut candidates, mut looked_at, mut cut) =
            (Vec::new(), Vec::new(), 0, None);
        let flush = |candidates: &mut Vec<(i64, String)>, fitting: &mut Vec<(i64, String)>| {
            let fits = if self.query.needs_rows { Some(self.fits(candidates)?) } else { None };
            fitting.extend(
                candidates
                    .drain(..)
                    .filter(|(_, id)| fits.as_ref().is_none_or(|fits| fits.contains(id))),
            );
            Ok::<_, StoreError>(())
        };
        let chunk = if self.query.needs_rows { 200 } else { 1 };
        let mut last = None;
        while let Some(row) = rows.next().map_err(database)? {
            let ms = row.get::<_, i64>(0).map_err(database)? >> NUMBER_BITS;
            // Runs of one millisecond have no order in the index: all of them are taken.
            if last.is_some_and(|last| last != ms) {
                if candidates.len() >= chunk {
                    flush(&mut candidates, &mut fitting)?;
                }
                if fitting.len() >= count {
                    break;
                }
                if self.query.is_bounded() && looked_at >= LOOKED_AT_MAX {
                    cut = last.map(Timestamp);
                    break;
                }
            }
            last = Some(ms);
            looked_at += 1;
            let id = row.get::<_, String>(1).map_err(database)?;
            let duration_ms = row.get(2).map_err(database)?;
            if is_beyond(ms, &id) && self.query.takes(duration_ms) {
                candidates.push((ms, id));
            }
        }
        flush(&mut candidates, &mut fitting)?;
        fitting.sort_unstable();
        if !is_ascending {
            fitting.reverse();
        }
        fitting.truncate(count);
        Ok((fitting, cut))
    }

    fn fits(&self, candidates: &[(i64, String)]) -> StoreResult<HashSet<String>> {
        let asked = |id: &String| {
            self.filter.ids.as_ref().is_none_or(|ids| ids.iter().any(|asked| asked.as_str() == id))
        };
        let ids: Vec<_> = candidates
            .iter()
            .map(|(_, id)| id)
            .filter(|id| asked(id))
            .map(|id| RunId::from_row(id.clone()))
            .collect();
        if ids.is_empty() {
            return Ok(HashSet::new());
        }
        let named = RunFilter { ids: Some(ids), ..self.filter.clone() };
        let (sql, values) = RunQuery::new(Dialect::Sqlite, self.org, &named).ids();
        Ok(many(self.c, &sql, history::to_sql(&values).as_slice(), |row| {
            row.get::<_, String>(0).map_err(database)
        })?
        .into_iter()
        .collect())
    }
}

pub(crate) fn search(
    c: &Connection,
    org: &OrgId,
    words: &[Vec<AskedWord>],
    filter: &RunFilter,
    whole: bool,
    page: &Page,
) -> StoreResult<FoundRuns> {
    let query = IndexQuery::new(org, words, filter);
    let walk = Walk { c, org, filter, query: &query };
    let cursors = (
        history::time_of(c, org, "after", &page.after)?,
        history::time_of(c, org, "before", &page.before)?,
    );
    let times = SearchTimes::new(filter, page, cursors);
    let limit = page.limit as usize;
    // A first page is the beginning of what is counted.
    let counted =
        if query.is_bounded() { Some(walk.ids(times.of_all, None, false, COUNTED)?) } else { None };
    let (found, looked_at_from) = match &counted {
        Some((ids, looked_at_from)) if times.beyond.is_none() && !page.from_end() => (
            ids.iter().take(limit).cloned().collect(),
            looked_at_from.filter(|_| ids.len() < limit),
        ),
        _ => walk.ids(times.within, times.beyond, page.from_end(), limit)?,
    };
    let total = if let Some((ids, _)) = counted {
        ids.len()
    } else {
        let bound = |ms: i64| ms.clamp(0, i64::MAX >> (NUMBER_BITS + 1));
        let sql = "SELECT count(*) FROM (SELECT 1 FROM run_words WHERE run_words MATCH ?1 AND rowid >= ?2 AND rowid <= ?3 LIMIT ?4)";
        let (from, to) = times.of_all;
        let high = (bound(to) << NUMBER_BITS) | ((1 << NUMBER_BITS) - 1);
        usize::try_from(number(
            c,
            sql,
            params![query.fts5(), bound(from) << NUMBER_BITS, high, COUNTED as i64],
        )?)
        .unwrap_or(0)
    };
    let ids: Vec<_> = found.into_iter().map(|(_, id)| RunId::from_row(id)).collect();
    let listing = if ids.is_empty() {
        Listing::of(Vec::new(), total as u64)
    } else {
        let page = Page { limit: page.limit, room: page.room.clone(), ..Page::default() };
        Listing {
            total_count: total as u64,
            ..history::runs(c, org, &RunFilter { ids: Some(ids), ..filter.clone() }, whole, &page)?
        }
    };
    Ok(FoundRuns { listing, looked_at_from })
}
