//! Lifetime of access tokens: when one ends by its provider's answer, and how long before that it
//! is refreshed.

use std::time::Duration;

use millrace_model::Timestamp;
use millrace_model::account::Account;
use serde_json::{Map, Value};

/// Key of the lifetime beside the sealed values of an account, milliseconds. `$auth` never has it.
pub(in crate::tenants) const LIFE: &str = "$token_life_ms";
/// A token is refreshed at most so long before it ends, and at most a fifth of its lifetime: one
/// that lives for five minutes must not be refreshed by each run.
const AHEAD_MS: i64 = 5 * 60 * 1000;
const AHEAD_PART: i64 = 5;
/// A token that lives longer has no end, milliseconds (a hundred years).
const LIFE_MAX_MS: i64 = 100 * 365 * 86_400 * 1000;
/// Fields that name the end as a point in time.
const ENDS: [&str; 3] = ["expires_at", "expires_on", "expires"];
/// Smaller numbers are no seconds since the epoch (2001), but a duration.
pub(in crate::tenants) const EPOCH_SECS_MIN: f64 = 1e9;
/// Larger numbers are milliseconds since the epoch (1973), and no seconds (5138).
const EPOCH_MS_MIN: f64 = 1e11;

/// How long a token lives from now on; none: without an end. `expires_in` comes first, as it does
/// not depend on the provider's clock.
pub(super) fn life_ms(
    expires_in: Option<Duration>,
    answer: &Map<String, Value>,
    now: Timestamp,
) -> Option<i64> {
    let named = match expires_in {
        Some(life) => Some(i64::try_from(life.as_millis()).unwrap_or(i64::MAX)),
        None => ENDS
            .iter()
            .find_map(|name| point_in_time(answer.get(*name)?))
            .map(|end| end.since(now).max(0)),
    };
    named.filter(|life| *life <= LIFE_MAX_MS)
}

/// How long before its end the token of an account is refreshed. `life`: the stored lifetime, which
/// accounts of an older version are without; they were changed last when they got their token, or
/// later.
pub(super) fn ahead_ms(account: &Account, life: Option<i64>) -> i64 {
    let of_record = || account.expires_at.map_or(0, |end| end.since(account.updated_at));
    (life.unwrap_or_else(of_record).max(0) / AHEAD_PART).min(AHEAD_MS)
}

/// Whether an account's token ends so soon that its lifetime matters.
pub(super) fn may_end_soon(account: &Account, now: Timestamp) -> bool {
    account.expires_at.is_some_and(|end| end <= now.plus_ms(AHEAD_MS))
}

/// Seconds or milliseconds since the epoch, or a date; without an offset in UTC.
fn point_in_time(given: &Value) -> Option<Timestamp> {
    let number = match given {
        Value::String(text) => match text.trim().parse::<f64>() {
            Ok(number) => number,
            Err(_) => return date(text.trim()),
        },
        given => given.as_f64()?,
    };
    let ms = if number >= EPOCH_MS_MIN { number } else { number * 1000.0 };
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float stops at the bounds")]
    let at = Timestamp(ms as i64);
    (number.is_finite() && number >= EPOCH_SECS_MIN).then_some(at)
}

fn date(text: &str) -> Option<Timestamp> {
    Timestamp::parse_iso(text)
        .or_else(|| Timestamp::parse_iso(&format!("{}Z", text.replacen(' ', "T", 1))))
        .or_else(|| Timestamp::parse_http(text))
}

#[cfg(test)]
mod tests {
    use millrace_model::ids::{AccountId, OrgId};
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp(1_795_348_800_000);

    fn life(answer: &Value) -> Option<i64> {
        life_ms(None, answer.as_object().expect("an object"), NOW)
    }

    #[test]
    fn the_end_of_a_token_is_read_in_all_forms_that_providers_have() {
        let (secs, ms) = (NOW.secs() + 3600, NOW.ms() + 3_600_000);
        for answer in [
            json!({ "expires_at": secs }),
            json!({ "expires_on": secs.to_string() }),
            json!({ "expires": ms }),
            json!({ "expires": secs }),
            json!({ "expires_at": "2026-11-22T13:00:00Z" }),
            json!({ "expires_at": "2026-11-22T14:00:00.000+01:00" }),
            json!({ "expires": "2026-11-22 13:00:00" }),
            json!({ "expires": "Sun, 22 Nov 2026 13:00:00 GMT" }),
            json!({ "expires_at": null, "expires": secs }),
        ] {
            assert_eq!(life(&answer), Some(3_600_000), "{answer}");
        }
        for answer in [
            json!({}),
            json!({ "expires": 3600 }),
            json!({ "expires_at": "never" }),
            json!({ "expires_at": -1 }),
            json!({ "expires_at": [1] }),
            json!({ "expires_at": 1e30 }),
        ] {
            assert_eq!(life(&answer), None, "{answer}");
        }
        assert_eq!(life(&json!({ "expires_at": NOW.secs() - 1 })), Some(0));
        let both = json!({ "expires_at": secs });
        let both = both.as_object().expect("an object");
        assert_eq!(life_ms(Some(Duration::from_secs(9)), both, NOW), Some(9_000));
        assert_eq!(life_ms(Some(Duration::from_secs(u64::MAX)), both, NOW), None);
    }

    #[test]
    fn a_token_is_refreshed_a_fifth_of_its_life_ahead_and_five_minutes_at_most() {
        let account = |life_ms| Account {
            id: AccountId::from_row("apn_1".into()),
            org_id: OrgId::from_row("o_1".into()),
            app: "acme".into(),
            name: "Acme".into(),
            external_user_id: None,
            credentials: String::new(),
            healthy: true,
            problem: None,
            expires_at: Some(NOW.plus_ms(life_ms)),
            version: 1,
            created_at: NOW,
            updated_at: NOW,
        };
        for (life, ahead) in [
            (0, 0),
            (60_000, 12_000),
            (300_000, 60_000),
            (1_500_000, 300_000),
            (3_600_000, 300_000),
        ] {
            assert_eq!(ahead_ms(&account(life), None), ahead);
            assert_eq!(ahead_ms(&account(1), Some(life)), ahead);
        }
        assert_eq!(ahead_ms(&account(-1), None), 0);
        assert!(may_end_soon(&account(300_000), NOW) && !may_end_soon(&account(300_001), NOW));
    }
}
