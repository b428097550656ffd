//! Groups of errors, and the runs that failed.

use deadpool_postgres::{Client, Transaction};
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
use tokio_postgres::types::ToSql;

use crate::db::text;
use crate::rows::{self, counted_first, execute, known, many, newest_first, number, order};

/// Counts an error; a group that was resolved before the run was accepted regresses. A new group of
/// an owner that has as many as it may is not stored; servers that count at once may go a few
/// beyond.
pub(crate) async fn count(t: &Transaction<'_>, g: &ErrorGroup) -> StoreResult<()> {
    execute(
        t,
        "INSERT INTO error_groups (id, org_id, owner_id, class, step, frame, message, last_run_id, first_at, last_at, count)
         SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::bigint, $9::bigint, 1
         WHERE EXISTS (SELECT 1 FROM error_groups WHERE id = $1)
            OR (SELECT count(*) FROM (SELECT 1 FROM error_groups WHERE owner_id = $3 LIMIT $10) AS g) < $10
         ON CONFLICT (id) DO UPDATE SET message = excluded.message, last_run_id = excluded.last_run_id,
            last_at = greatest(error_groups.last_at, excluded.last_at), count = error_groups.count + 1",
        &[
            &g.id.as_str(),
            &g.org_id.as_str(),
            &g.owner,
            &text(&g.class),
            &text(&g.step),
            &text(&g.frame),
            &text(&g.message),
            &g.last_run_id.as_str(),
            &g.last_at.ms(),
            &GROUPS_MAX,
        ],
    )
    .await?;
    let regressed = execute(
        t,
        "UPDATE error_groups SET state = 'regressed', state_at = $2
         WHERE id = $1 AND state = 'resolved' AND state_at <= (SELECT created_at FROM runs WHERE id = $3)",
        &[&g.id.as_str(), &g.last_at.ms(), &g.last_run_id.as_str()],
    )
    .await?;
    if regressed > 0 {
        let change = ErrorGroupChange {
            at: g.last_at,
            state: ErrorState::Regressed,
            by: None,
            note: None,
            run_id: Some(g.last_run_id.clone()),
        };
        keep(t, &g.id, &change).await?;
    }
    Ok(())
}

/// Whether a group is ignored.
pub(crate) async fn is_ignored(t: &Transaction<'_>, id: &ErrorGroupId) -> StoreResult<bool> {
    Ok(number(
        t,
        "SELECT count(*) FROM error_groups WHERE id = $1 AND state = 'ignored'",
        &[&id.as_str()],
    )
    .await?
        > 0)
}

/// False: there is no such group. The group's row is locked first, so that changes of several
/// servers are numbered one after the other.
pub(crate) async fn change(
    t: &Transaction<'_>,
    org: &OrgId,
    id: &ErrorGroupId,
    change: &ErrorGroupChange,
) -> StoreResult<bool> {
    let changed = execute(
        t,
        "UPDATE error_groups SET state_at = CASE WHEN state = $3 THEN state_at ELSE $4 END, state = $3, note = $5 WHERE id = $1 AND org_id = $2",
        &[&id.as_str(), &org.as_str(), &change.state.as_str(), &change.at.ms(), &change.note.as_deref().map(text)],
    )
    .await?;
    if changed > 0 {
        keep(t, id, change).await?;
    }
    Ok(changed > 0)
}

/// Keeps a change, and forgets the oldest of too many.
async fn keep(
    t: &Transaction<'_>,
    id: &ErrorGroupId,
    change: &ErrorGroupChange,
) -> StoreResult<()> {
    execute(
        t,
        "INSERT INTO error_group_changes (group_id, seq, at, state, user_id, note, run_id)
         SELECT $1::text, coalesce(max(seq), 0) + 1, $2::bigint, $3::text, $4::text, $5::text, $6::text FROM error_group_changes WHERE group_id = $1",
        &[
            &id.as_str(),
            &change.at.ms(),
            &change.state.as_str(),
            &change.by.as_ref().map(|by| by.id.as_str()),
            &change.note.as_deref().map(text),
            &change.run_id.as_ref().map(|run| run.as_str()),
        ],
    )
    .await?;
    let oldest = "DELETE FROM error_group_changes WHERE group_id = $1 AND seq <= (SELECT max(seq) FROM error_group_changes WHERE group_id = $1) - $2::bigint";
    execute(t, oldest, &[&id.as_str(), &i64::from(CHANGES_MAX)]).await?;
    Ok(())
}

/// Newest first.
pub(crate) async fn changes(c: &Client, id: &ErrorGroupId) -> StoreResult<Vec<ErrorGroupChange>> {
    let sql = "SELECT at, state, user_id, note, run_id, (SELECT username FROM users u WHERE u.id = user_id) AS author
               FROM error_group_changes WHERE group_id = $1 ORDER BY seq DESC";
    many(c, sql, &[&id.as_str()], rows::error_group_change).await
}

/// The newest failure first.
pub(crate) async fn versions(
    c: &Client,
    g: &ErrorGroup,
    scan: u32,
) -> StoreResult<Vec<ErrorVersion>> {
    let version = run_version("r");
    let sql = format!(
        "SELECT r.deployment_id, {version} AS version,
           count(*) AS count, min(r.created_at) AS first_at, max(r.created_at) AS last_at
         FROM (SELECT id, error_group FROM runs WHERE status = 'failed' AND owner_id = $1 ORDER BY created_at DESC, id DESC LIMIT $3) AS f
           JOIN runs AS r ON r.id = f.id
         WHERE f.error_group = $2 AND r.deployment_id IS NOT NULL GROUP BY r.deployment_id ORDER BY last_at DESC, r.deployment_id"
    );
    many(c, &sql, &[&g.owner, &g.id.as_str(), &i64::from(scan)], rows::error_version).await
}

/// The newest first. The index alone is read.
pub(crate) async fn failed_times(
    c: &Client,
    org: &OrgId,
    within: (Timestamp, Timestamp),
    max: u32,
) -> StoreResult<Vec<FailedTime>> {
    let sql = "SELECT created_at, error_group FROM runs
         WHERE org_id = $1 AND created_at >= $2 AND created_at < $3 AND status IN ('failed', 'cancelled') AND status = 'failed' ORDER BY created_at DESC, id DESC LIMIT $4";
    many(
        c,
        sql,
        &[&org.as_str(), &within.0.ms(), &within.1.ms(), &i64::from(max)],
        rows::failed_time,
    )
    .await
}

/// The last seen first.
pub(crate) async fn groups(
    c: &Client,
    org: &OrgId,
    f: &ErrorGroupFilter,
    page: &Page,
) -> StoreResult<Listing<ErrorGroup>> {
    let (order, of) = (
        order(page),
        if f.owner.is_some() {
            "owner_id = $2 AND org_id = $1"
        } else {
            "org_id = $1 AND $2::text IS NULL"
        },
    );
    let filter = format!(
        "{of} AND ($3::text IS NULL OR position(',' || state || ',' in $3) > 0) AND ($4::text IS NULL OR class = $4) AND last_at >= $5"
    );
    let (states, class, since) =
        (f.states_text(), f.class.as_deref().map(text), f.since.map_or(i64::MIN, Timestamp::ms));
    let (org, limit) = (org.as_str(), i64::from(page.limit));
    let (after, before) = (page.after.as_deref().map(text), page.before.as_deref().map(text));
    let items = format!(
        "SELECT {} FROM error_groups WHERE {filter}
           AND ($6::text IS NULL OR (last_at, id) < (SELECT last_at, id FROM error_groups WHERE id = $6 AND org_id = $1))
           AND ($7::text IS NULL OR (last_at, id) > (SELECT last_at, id FROM error_groups WHERE id = $7 AND org_id = $1))
         ORDER BY last_at {order}, id {order} LIMIT $8",
        rows::ERROR_GROUP
    );
    let count = format!("SELECT count(*) FROM error_groups WHERE {filter}");
    let all: [&(dyn ToSql + Sync); 8] =
        [&org, &f.owner, &states, &class, &since, &after, &before, &limit];
    let mut listing = counted_first(
        number(c, &count, &all[..5]),
        rows::readable(c, "error_groups", &items, &all, rows::error_group),
    )
    .await?;
    if listing.items.is_empty() {
        known(c, "error_groups", &org, page).await?;
    }
    newest_first(&mut listing.items, page);
    Ok(listing)
}

/// What [`FailedRuns`] says; `$1` to `$8`. A quote within a string of JSON is escaped: the text
/// that tells a replay stands nowhere else in a context.
const FAILED: &str = "FROM runs WHERE status = 'failed' AND owner_id = $1 AND org_id = $2 AND kind = 'live'
  AND ($3::text IS NULL OR error_class = $3) AND ($4::text IS NULL OR error_group = $4) AND created_at >= $5 AND created_at < $6
  AND ($8::text IS NULL OR (created_at, id) > ($7::bigint, $8)) AND position(',\"replay\":true,' in context) = 0
  AND NOT EXISTS (SELECT 1 FROM replayed_runs r JOIN runs n ON n.id = r.run_id WHERE r.original_id = runs.id AND n.status = 'succeeded')";

pub(crate) async fn failed(c: &Client, w: &FailedRuns) -> StoreResult<Vec<Run>> {
    let sql = format!("SELECT {} {FAILED} ORDER BY created_at, id LIMIT $9", run_row_columns());
    let b = Bounds::of(w);
    many(c, &sql, &b.params(w), rows::run).await
}

pub(crate) async fn count_failed(c: &Client, w: &FailedRuns) -> StoreResult<u64> {
    let sql = format!("SELECT count(*) FROM (SELECT 1 {FAILED} LIMIT $9) AS f");
    let b = Bounds::of(w);
    let count = number(c, &sql, &b.params(w)).await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// What the parameters borrow from.
struct Bounds<'a> {
    org: &'a str,
    class: Option<std::borrow::Cow<'a, str>>,
    group: Option<&'a str>,
    from: i64,
    to: i64,
    after_at: Option<i64>,
    after_id: Option<&'a str>,
    limit: i64,
}

impl<'a> Bounds<'a> {
    fn of(w: &'a FailedRuns) -> Self {
        Self {
            org: w.org_id.as_str(),
            class: w.class.as_deref().map(text),
            group: w.group.as_ref().map(|g| g.as_str()),
            from: w.oldest(),
            to: w.to.map_or(i64::MAX, Timestamp::ms),
            after_at: w.after.as_ref().map(|(at, _)| at.ms()),
            after_id: w.after.as_ref().map(|(_, id)| id.as_str()),
            limit: i64::from(w.limit),
        }
    }

    fn params<'b>(&'b self, w: &'b FailedRuns) -> [&'b (dyn ToSql + Sync); 9] {
        [
            &w.owner,
            &self.org,
            &self.class,
            &self.group,
            &self.from,
            &self.to,
            &self.after_at,
            &self.after_id,
            &self.limit,
        ]
    }
}

/// Groups that were last seen before.
pub(crate) async fn prune(t: &Transaction<'_>, before: Timestamp, limit: i64) -> StoreResult<u64> {
    let sql =
        "WITH old AS (DELETE FROM error_groups WHERE id IN (SELECT id FROM error_groups WHERE last_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id),
                 changes AS (DELETE FROM error_group_changes WHERE group_id IN (SELECT id FROM old))
               SELECT count(*) FROM old";
    let gone = number(t, sql, &[&before.ms(), &limit]).await?;
    Ok(u64::try_from(gone).unwrap_or(0))
}
