//! Groups of errors, and the runs that failed.

use deadpool_postgres::{Client, Transaction};
use millrace_model::clock::Timestamp;
use millrace_model::error_event::{ErrorGroup, GROUPS_MAX};
use millrace_model::ids::OrgId;
use millrace_model::page::{Listing, Page};
use millrace_model::run::Run;
use millrace_store::{FailedRuns, StoreResult};
use tokio_postgres::types::ToSql;

use crate::db::text;
use crate::rows::{self, counted_first, execute, known, many, newest_first, number, order};

/// Counts an error. A new group of an owner that has as many as it may is not stored; servers that count at once may go a few beyond.
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
    Ok(())
}

/// The last seen first.
pub(crate) async fn groups(c: &Client, org: &OrgId, owner: Option<&str>, page: &Page) -> StoreResult<Listing<ErrorGroup>> {
    let (order, filter) = (order(page), if owner.is_some() { "owner_id = $2 AND org_id = $1" } else { "org_id = $1 AND $2::text IS NULL" });
    let (org, limit) = (org.as_str(), i64::from(page.limit));
    let (after, before) = (page.after.as_deref().map(text), page.before.as_deref().map(text));
    let items = format!(
        "SELECT {} FROM error_groups WHERE {filter}
           AND ($3::text IS NULL OR (last_at, id) < (SELECT last_at, id FROM error_groups WHERE id = $3 AND org_id = $1))
           AND ($4::text IS NULL OR (last_at, id) > (SELECT last_at, id FROM error_groups WHERE id = $4 AND org_id = $1))
         ORDER BY last_at {order}, id {order} LIMIT $5",
        rows::ERROR_GROUP
    );
    let count = format!("SELECT count(*) FROM error_groups WHERE {filter}");
    let all: [&(dyn ToSql + Sync); 5] = [&org, &owner, &after, &before, &limit];
    let mut listing = counted_first(number(c, &count, &all[..2]), many(c, &items, &all, rows::error_group)).await?;
    if listing.items.is_empty() {
        known(c, "error_groups", &org, page).await?;
    }
    newest_first(&mut listing.items, page);
    Ok(listing)
}

/// What [`FailedRuns`] says; `$1` to `$8`. A quote within a string of JSON is escaped: the text that tells a replay stands nowhere else in a context.
const FAILED: &str = "FROM runs WHERE status = 'failed' AND owner_id = $1 AND org_id = $2 AND kind = 'live'
  AND ($3::text IS NULL OR error_class = $3) AND ($4::text IS NULL OR error_group = $4) AND created_at >= $5 AND created_at < $6
  AND ($8::text IS NULL OR (created_at, id) > ($7::bigint, $8)) AND position(',\"replay\":true,' in context) = 0
  AND NOT EXISTS (SELECT 1 FROM replayed_runs r JOIN runs n ON n.id = r.run_id WHERE r.original_id = runs.id AND n.status = 'succeeded')";

pub(crate) async fn failed(c: &Client, w: &FailedRuns) -> StoreResult<Vec<Run>> {
    let sql = format!("SELECT {} {FAILED} ORDER BY created_at, id LIMIT $9", rows::RUN);
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
        [&w.owner, &self.org, &self.class, &self.group, &self.from, &self.to, &self.after_at, &self.after_id, &self.limit]
    }
}

/// Groups that were last seen before.
pub(crate) async fn prune(t: &Transaction<'_>, before: Timestamp, limit: i64) -> StoreResult<u64> {
    let sql = "DELETE FROM error_groups WHERE id IN (SELECT id FROM error_groups WHERE last_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)";
    execute(t, sql, &[&before.ms(), &limit]).await
}
