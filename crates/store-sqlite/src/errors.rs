//! Groups of errors, and the runs that failed.

use millrace_model::clock::Timestamp;
use millrace_model::error_event::{ErrorGroup, GROUPS_MAX};
use millrace_model::ids::OrgId;
use millrace_model::page::{Listing, Page};
use millrace_model::run::Run;
use millrace_store::{FailedRuns, StoreResult};
use rusqlite::{Connection, params};

use crate::rows::{self, execute, known, many, newest_first, number, order};

/// Counts an error. A new group of an owner that has as many as it may is not stored.
pub(crate) fn count(c: &Connection, g: &ErrorGroup) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO error_groups (id, org_id, owner_id, class, step, frame, message, last_run_id, first_at, last_at, count)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, 1
         WHERE EXISTS (SELECT 1 FROM error_groups WHERE id = ?1)
            OR (SELECT count(*) FROM (SELECT 1 FROM error_groups WHERE owner_id = ?3 LIMIT ?10)) < ?10
         ON CONFLICT (id) DO UPDATE SET message = excluded.message, last_run_id = excluded.last_run_id, last_at = max(last_at, excluded.last_at), count = count + 1",
        params![g.id.as_str(), g.org_id.as_str(), g.owner, g.class, g.step, g.frame, g.message, g.last_run_id.as_str(), g.last_at.ms(), GROUPS_MAX],
    )?;
    Ok(())
}

/// The last seen first.
pub(crate) fn groups(c: &Connection, org: &OrgId, owner: Option<&str>, page: &Page) -> StoreResult<Listing<ErrorGroup>> {
    let (order, filter) = (order(page), if owner.is_some() { "owner_id = ?2 AND org_id = ?1" } else { "org_id = ?1 AND ?2 IS NULL" });
    let mut items = many(
        c,
        &format!(
            "SELECT * FROM error_groups WHERE {filter}
               AND (?3 IS NULL OR (last_at, id) < (SELECT last_at, id FROM error_groups WHERE id = ?3 AND org_id = ?1))
               AND (?4 IS NULL OR (last_at, id) > (SELECT last_at, id FROM error_groups WHERE id = ?4 AND org_id = ?1))
             ORDER BY last_at {order}, id {order} LIMIT ?5"
        ),
        params![org.as_str(), owner, page.after, page.before, page.limit],
        rows::error_group,
    )?;
    if items.is_empty() {
        known(c, "error_groups", org.as_str(), page)?;
    }
    newest_first(&mut items, page);
    let total = number(c, &format!("SELECT count(*) FROM error_groups WHERE {filter}"), params![org.as_str(), owner])?;
    Ok(Listing { items, total_count: u64::try_from(total).unwrap_or(0) })
}

/// What [`FailedRuns`] says; `?1` to `?8`. A quote within a string of JSON is escaped: the text that tells a replay stands nowhere else in a context.
const FAILED: &str = "FROM runs INDEXED BY runs_failed WHERE status = 'failed' AND owner_id = ?1 AND org_id = ?2 AND kind = 'live'
  AND (?3 IS NULL OR error_class = ?3) AND (?4 IS NULL OR error_group = ?4) AND created_at >= ?5 AND created_at < ?6
  AND (?8 IS NULL OR (created_at, id) > (?7, ?8)) AND instr(context, ',\"replay\":true,') = 0
  AND NOT EXISTS (SELECT 1 FROM replayed_runs r JOIN runs n ON n.id = r.run_id WHERE r.original_id = runs.id AND n.status = 'succeeded')";

pub(crate) fn failed(c: &Connection, w: &FailedRuns) -> StoreResult<Vec<Run>> {
    let sql = format!("SELECT * {FAILED} ORDER BY created_at, id LIMIT ?9");
    let (from, to, after) = bounds(w);
    many(
        c,
        &sql,
        params![w.owner, w.org_id.as_str(), w.class, w.group.as_ref().map(|g| g.as_str()), from, to, after.map(|a| a.0), after.map(|a| a.1), w.limit],
        rows::run,
    )
}

pub(crate) fn count_failed(c: &Connection, w: &FailedRuns) -> StoreResult<u64> {
    let sql = format!("SELECT count(*) FROM (SELECT 1 {FAILED} LIMIT ?9)");
    let (from, to, after) = bounds(w);
    let count = number(
        c,
        &sql,
        params![w.owner, w.org_id.as_str(), w.class, w.group.as_ref().map(|g| g.as_str()), from, to, after.map(|a| a.0), after.map(|a| a.1), w.limit],
    )?;
    Ok(u64::try_from(count).unwrap_or(0))
}

fn bounds(w: &FailedRuns) -> (i64, i64, Option<(i64, &str)>) {
    (w.oldest(), w.to.map_or(i64::MAX, Timestamp::ms), w.after.as_ref().map(|(at, id)| (at.ms(), id.as_str())))
}

/// Groups that were last seen before.
pub(crate) fn prune(c: &Connection, before: Timestamp, limit: u32) -> StoreResult<usize> {
    execute(c, "DELETE FROM error_groups WHERE id IN (SELECT id FROM error_groups WHERE last_at < ?1 LIMIT ?2)", params![before.ms(), limit])
}
