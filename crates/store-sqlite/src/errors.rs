//! Groups of errors, and the runs that failed.

use millrace_model::clock::Timestamp;
use millrace_model::error_event::{
    CHANGES_MAX, ErrorGroup, ErrorGroupChange, ErrorState, ErrorVersion, GROUPS_MAX,
};
use millrace_model::ids::{ErrorGroupId, OrgId};
use millrace_model::page::{Listing, Page};
use millrace_model::run::Run;
use millrace_store::{
    ErrorGroupFilter, FailedRuns, FailedTime, StoreResult, run_row_columns, run_version,
};
use rusqlite::{Connection, params};

use crate::rows::{self, execute, known, many, newest_first, number, order};

/// Counts an error. A new group of an owner that has as many as it may is not stored; one that was
/// resolved before the run was accepted regresses.
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
    let regressed = execute(
        c,
        "UPDATE error_groups SET state = 'regressed', state_at = ?2
         WHERE id = ?1 AND state = 'resolved' AND state_at <= (SELECT created_at FROM runs WHERE id = ?3)",
        params![g.id.as_str(), g.last_at.ms(), g.last_run_id.as_str()],
    )?;
    if regressed > 0 {
        let change = ErrorGroupChange {
            at: g.last_at,
            state: ErrorState::Regressed,
            by: None,
            note: None,
            run_id: Some(g.last_run_id.clone()),
        };
        keep(c, &g.id, &change)?;
    }
    Ok(())
}

/// Whether a group is ignored.
pub(crate) fn is_ignored(c: &Connection, id: &ErrorGroupId) -> StoreResult<bool> {
    Ok(number(
        c,
        "SELECT EXISTS (SELECT 1 FROM error_groups WHERE id = ?1 AND state = 'ignored')",
        [id.as_str()],
    )? > 0)
}

/// False: there is no such group.
pub(crate) fn change(
    c: &Connection,
    org: &OrgId,
    id: &ErrorGroupId,
    change: &ErrorGroupChange,
) -> StoreResult<bool> {
    let changed = execute(
        c,
        "UPDATE error_groups SET state_at = iif(state = ?3, state_at, ?4), state = ?3, note = ?5 WHERE id = ?1 AND org_id = ?2",
        params![id.as_str(), org.as_str(), change.state.as_str(), change.at.ms(), change.note],
    )?;
    if changed > 0 {
        keep(c, id, change)?;
    }
    Ok(changed > 0)
}

/// Keeps a change, and forgets the oldest of too many.
fn keep(c: &Connection, id: &ErrorGroupId, change: &ErrorGroupChange) -> StoreResult<()> {
    execute(
        c,
        "INSERT INTO error_group_changes (group_id, seq, at, state, user_id, note, run_id)
         SELECT ?1, ifnull(max(seq), 0) + 1, ?2, ?3, ?4, ?5, ?6 FROM error_group_changes WHERE group_id = ?1",
        params![
            id.as_str(),
            change.at.ms(),
            change.state.as_str(),
            change.by.as_ref().map(|by| by.id.as_str()),
            change.note,
            change.run_id.as_ref().map(|run| run.as_str())
        ],
    )?;
    let oldest = "DELETE FROM error_group_changes WHERE group_id = ?1 AND seq <= (SELECT max(seq) FROM error_group_changes WHERE group_id = ?1) - ?2";
    execute(c, oldest, params![id.as_str(), CHANGES_MAX])?;
    Ok(())
}

/// Newest first.
pub(crate) fn changes(c: &Connection, id: &ErrorGroupId) -> StoreResult<Vec<ErrorGroupChange>> {
    let sql = "SELECT *, (SELECT username FROM users u WHERE u.id = user_id) AS author FROM error_group_changes WHERE group_id = ?1 ORDER BY seq DESC";
    many(c, sql, [id.as_str()], rows::error_group_change)
}

/// The newest failure first.
pub(crate) fn versions(
    c: &Connection,
    g: &ErrorGroup,
    scan: u32,
) -> StoreResult<Vec<ErrorVersion>> {
    let version = run_version("r");
    let sql = format!(
        "SELECT r.deployment_id, {version} AS version,
           count(*) AS count, min(r.created_at) AS first_at, max(r.created_at) AS last_at
         FROM (SELECT id, error_group FROM runs INDEXED BY runs_failed WHERE status = 'failed' AND owner_id = ?1 ORDER BY created_at DESC, id DESC LIMIT ?3) AS f
           CROSS JOIN runs AS r ON r.id = f.id
         WHERE f.error_group = ?2 AND r.deployment_id IS NOT NULL GROUP BY r.deployment_id ORDER BY last_at DESC, r.deployment_id"
    );
    many(c, &sql, params![g.owner, g.id.as_str(), scan], rows::error_version)
}

/// The newest first. The index alone is read.
pub(crate) fn failed_times(
    c: &Connection,
    org: &OrgId,
    within: (Timestamp, Timestamp),
    max: u32,
) -> StoreResult<Vec<FailedTime>> {
    let sql = "SELECT created_at, error_group FROM runs INDEXED BY runs_org_troubled
         WHERE org_id = ?1 AND created_at >= ?2 AND created_at < ?3 AND status IN ('failed', 'cancelled') AND status = 'failed' ORDER BY created_at DESC, id DESC LIMIT ?4";
    many(c, sql, params![org.as_str(), within.0.ms(), within.1.ms(), max], rows::failed_time)
}

/// The last seen first.
pub(crate) fn groups(
    c: &Connection,
    org: &OrgId,
    f: &ErrorGroupFilter,
    page: &Page,
) -> StoreResult<Listing<ErrorGroup>> {
    let (order, of) = (
        order(page),
        if f.owner.is_some() {
            "owner_id = ?2 AND org_id = ?1"
        } else {
            "org_id = ?1 AND ?2 IS NULL"
        },
    );
    let filter = format!(
        "{of} AND (?3 IS NULL OR instr(?3, ',' || state || ',') > 0) AND (?4 IS NULL OR class = ?4) AND last_at >= ?5"
    );
    let (states, since) = (f.states_text(), f.since.map_or(i64::MIN, Timestamp::ms));
    let mut items = many(
        c,
        &format!(
            "SELECT * FROM error_groups WHERE {filter}
               AND (?6 IS NULL OR (last_at, id) < (SELECT last_at, id FROM error_groups WHERE id = ?6 AND org_id = ?1))
               AND (?7 IS NULL OR (last_at, id) > (SELECT last_at, id FROM error_groups WHERE id = ?7 AND org_id = ?1))
             ORDER BY last_at {order}, id {order} LIMIT ?8"
        ),
        params![org.as_str(), f.owner, states, f.class, since, page.after, page.before, page.limit],
        rows::error_group,
    )?;
    if items.is_empty() {
        known(c, "error_groups", org.as_str(), page)?;
    }
    newest_first(&mut items, page);
    let total = number(
        c,
        &format!("SELECT count(*) FROM error_groups WHERE {filter}"),
        params![org.as_str(), f.owner, states, f.class, since],
    )?;
    Ok(Listing::of(items, u64::try_from(total).unwrap_or(0)))
}

/// What [`FailedRuns`] says; `?1` to `?8`. A quote within a string of JSON is escaped: the text
/// that tells a replay stands nowhere else in a context.
const FAILED: &str = "FROM runs INDEXED BY runs_failed WHERE status = 'failed' AND owner_id = ?1 AND org_id = ?2 AND kind = 'live'
  AND (?3 IS NULL OR error_class = ?3) AND (?4 IS NULL OR error_group = ?4) AND created_at >= ?5 AND created_at < ?6
  AND (?8 IS NULL OR (created_at, id) > (?7, ?8)) AND instr(context, ',\"replay\":true,') = 0
  AND NOT EXISTS (SELECT 1 FROM replayed_runs r JOIN runs n ON n.id = r.run_id WHERE r.original_id = runs.id AND n.status = 'succeeded')";

pub(crate) fn failed(c: &Connection, w: &FailedRuns) -> StoreResult<Vec<Run>> {
    let sql = format!("SELECT {} {FAILED} ORDER BY created_at, id LIMIT ?9", run_row_columns());
    let (from, to, after) = bounds(w);
    many(
        c,
        &sql,
        params![
            w.owner,
            w.org_id.as_str(),
            w.class,
            w.group.as_ref().map(|g| g.as_str()),
            from,
            to,
            after.map(|a| a.0),
            after.map(|a| a.1),
            w.limit
        ],
        rows::run,
    )
}

pub(crate) fn count_failed(c: &Connection, w: &FailedRuns) -> StoreResult<u64> {
    let sql = format!("SELECT count(*) FROM (SELECT 1 {FAILED} LIMIT ?9)");
    let (from, to, after) = bounds(w);
    let count = number(
        c,
        &sql,
        params![
            w.owner,
            w.org_id.as_str(),
            w.class,
            w.group.as_ref().map(|g| g.as_str()),
            from,
            to,
            after.map(|a| a.0),
            after.map(|a| a.1),
            w.limit
        ],
    )?;
    Ok(u64::try_from(count).unwrap_or(0))
}

fn bounds(w: &FailedRuns) -> (i64, i64, Option<(i64, &str)>) {
    (
        w.oldest(),
        w.to.map_or(i64::MAX, Timestamp::ms),
        w.after.as_ref().map(|(at, id)| (at.ms(), id.as_str())),
    )
}

/// Groups that were last seen before.
pub(crate) fn prune(c: &Connection, before: Timestamp, limit: u32) -> StoreResult<usize> {
    let old = "SELECT id FROM error_groups WHERE last_at < ?1 ORDER BY last_at, id LIMIT ?2";
    execute(
        c,
        &format!("DELETE FROM error_group_changes WHERE group_id IN ({old})"),
        params![before.ms(), limit],
    )?;
    execute(
        c,
        &format!("DELETE FROM error_groups WHERE id IN ({old})"),
        params![before.ms(), limit],
    )
}
