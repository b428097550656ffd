//! The index of texts of runs, a GIN index of `tsvector`, and searches in it.
//!
//! Such an index gives its rows in no order. So the newest runs are looked through in theirs, which
//! finds enough of what is frequent; what is rarer is taken from the index as a whole and sorted.

mod walk;

use deadpool_postgres::{Client, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::ids::{OrgId, RunId};
use millrace_model::page::{Listing, Page};
use millrace_model::search::AskedWord;
use millrace_store::{
    FACETS, FoundRuns, IndexQuery, IndexState, IndexStep, RunFilter, RunTexts, SWEPT_MAX,
    SearchTimes, StoreResult, run_text_columns,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::db::database;
use crate::history;
use crate::rows::{execute, many, one};
use walk::{Typed, Walk, planned};

/// The advisory lock of the index: one server at a time makes it.
const LOCK: i64 = 0x6d69_6c6c_7365_6b31;
/// Organizations that a step looks at.
const ORGS: i64 = 16;
/// Runs that go on that a step looks at, whether they ended.
const OPEN_LOOKED_AT: i64 = 500;
/// Runs that are counted exactly.
const COUNTED: usize = 1_000;
/// How many of the newest runs are counted first, where words are asked for that begin in some way.
const NEWEST_COUNTED: usize = 20_000;

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

/// How many runs within these times (inclusive) have the words, counted up to [`COUNTED`]; and
/// whether they are so rare that the newest runs are not worth being looked through. No number
/// where all of them are to be read and the `walk_counts` of those.
async fn with_words(
    c: &Client,
    org: &OrgId,
    (from, to): (i64, i64),
    query: &IndexQuery,
    walk_counts: bool,
) -> StoreResult<(Option<usize>, bool)> {
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
        return match count(&newest).await? {
            COUNTED => Ok((Some(COUNTED), false)),
            _ if walk_counts => Ok((None, true)),
            _ => Ok((Some(count(&of_all).await?), true)),
        };
    }
    let counted = count(&of_all).await?;
    Ok((Some(counted), counted < COUNTED))
}

pub(crate) async fn search(
    c: &Client,
    org: &OrgId,
    words: &[Vec<AskedWord>],
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
    let is_first = times.beyond.is_none() && !page.from_end();
    let (with_words, is_rare) =
        with_words(c, org, times.of_all, &query, is_first && !query.is_bounded()).await?;
    let walk = Walk { c, org, filter, query: &query, is_rare };
    // A first page is the beginning of what is counted.
    let (walked, total) = if query.is_bounded() {
        let mut all = walk.ids(times.of_all, None, false, COUNTED).await?;
        let total = all.ids.len();
        if is_first {
            all.cut = all.cut.filter(|_| total < limit);
            all.ids.truncate(limit);
            (all, total)
        } else {
            (walk.ids(times.within, times.beyond, page.from_end(), limit).await?, total)
        }
    } else {
        let walked = walk.ids(times.within, times.beyond, page.from_end(), limit).await?;
        let total = with_words.or(walked.with_words).map_or(0, |all| all.min(COUNTED));
        (walked, total)
    };
    let ids: Vec<_> = walked.ids.into_iter().map(RunId::from_row).collect();
    let listing = if ids.is_empty() {
        Listing::of(Vec::new(), total as u64)
    } else {
        let page = Page { limit: page.limit, room: page.room.clone(), ..Page::default() };
        Listing {
            total_count: total as u64,
            ..history::runs(c, org, &RunFilter { ids: Some(ids), ..filter.clone() }, whole, &page)
                .await?
        }
    };
    Ok(FoundRuns { listing, looked_at_from: walked.cut })
}
