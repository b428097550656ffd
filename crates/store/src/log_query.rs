//! SQL of the log of a workflow or source, for both engines.

use millrace_model::ids::OrgId;
use millrace_model::run::LogFilter;

use crate::{Dialect, SqlValue};

/// The newest lines that fit, the newest first, with their places.
pub fn log_query(
    dialect: Dialect,
    org: &OrgId,
    owner: &str,
    filter: &LogFilter,
    limit: u32,
) -> (String, Vec<SqlValue>) {
    let (sign, place, find) = match dialect {
        Dialect::Sqlite => ('?', "rowid", "instr"),
        Dialect::Postgres => ('$', "seq", "strpos"),
    };
    let mut values = vec![SqlValue::Text(owner.to_owned()), SqlValue::Text(org.to_string())];
    let mut bind = |value: SqlValue| {
        values.push(value);
        format!("{sign}{}", values.len())
    };
    let mut older = String::new();
    if let Some(before) = filter.before {
        let (at, number) =
            (bind(SqlValue::Number(before.at)), bind(SqlValue::Number(before.number)));
        older = format!(" AND (at, {place}) < ({at}, {number})");
    }
    let mut fits = String::new();
    if !filter.levels.is_empty() {
        let levels: Vec<_> =
            filter.levels.iter().map(|level| format!("'{}'", level.as_str())).collect();
        fits.push_str(&format!(" AND level IN ({})", levels.join(", ")));
    }
    if let Some(step) = &filter.step {
        fits.push_str(&format!(" AND step = {}", bind(SqlValue::Text(step.clone()))));
    }
    if let Some(text) = &filter.text {
        fits.push_str(&format!(
            " AND {find}(lower(text), lower({})) > 0",
            bind(SqlValue::Text(text.clone()))
        ));
    }
    // What a filter passes over is bounded: a page of a log without such lines ends.
    let looked_at = bind(SqlValue::Number(i64::from(if filter.narrows() {
        LogFilter::LINES_MAX
    } else {
        limit
    })));
    let limit = bind(SqlValue::Number(i64::from(limit)));
    let sql = format!(
        "SELECT * FROM (SELECT run_id, at, level, text, step, {place} AS place FROM logs WHERE owner_id = {sign}1 AND org_id = {sign}2{older}
           ORDER BY at DESC, {place} DESC LIMIT {looked_at}) AS newest
         WHERE at IS NOT NULL{fits} ORDER BY at DESC, place DESC LIMIT {limit}"
    );
    (sql, values)
}
