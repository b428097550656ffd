//! API keys: creation, scopes and rate limits.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use millrace_model::ids::{ApiKeyId, OrgId};
use millrace_model::page::{Listing, Page};
use millrace_model::rate::Bucket;
use millrace_model::tenant::{ApiKey, Caller, Scope, Scopes};
use millrace_model::{IdSource, Timestamp};
use parking_lot::Mutex;

use crate::EngineError;
use crate::ctx::Ctx;
use crate::tenants::key_watch::KeyWatch;
use crate::tenants::oauth_clients::TOKEN_PREFIX;
use crate::tenants::people::{SESSION_PREFIX, caller_by_session};
use crate::tenants::secrets::{Keyring, same, sha256_hex};
use crate::tenants::wrong_keys::{Asker, WrongKeys};

/// What every key begins with; tokens begin with `mrt_`.
const KEY_PREFIX: &str = "mr_";
/// What the codes of [`Keys::asked_by`] are made for.
const ASKED_BY_PURPOSE: &str = "asked by";
/// How much random text of a key or token follows.
pub(crate) const KEY_CHARS: usize = 40;
/// How long a look-up of a key is used: another server on the same database may have revoked it
/// since.
const CACHED_MS: i64 = 15_000;
/// Keys whose requests are counted at once.
const BUCKETS_MAX: usize = 20_000;
/// Keys of one organization.
const KEYS_MAX: u64 = 1_000;
/// How long a rotated key may go on at most.
pub const GRACE_MAX: Duration = Duration::from_secs(30 * 24 * 3600);
/// The most requests a minute that a key may have.
pub const RATE_MAX: u32 = 1_000_000;

/// A key to be made.
#[derive(Clone, Debug)]
pub struct NewApiKey {
    /// What the owner calls it.
    pub name: String,
    /// What it may do.
    pub scopes: Scopes,
    /// Requests a minute; none: the server's setting.
    pub rate_per_minute: Option<u32>,
    /// When it ends; none: never.
    pub expires_at: Option<Timestamp>,
}

/// What changes of a key; absent things stay.
#[derive(Clone, Debug, Default)]
pub struct UpdateApiKey {
    /// A new name.
    pub name: Option<String>,
    /// A new end; `Some(None)`: never.
    pub expires_at: Option<Option<Timestamp>>,
}

/// How much each key asked for lately. What is forgotten counts from new: a key may then ask once
/// more as much.
#[derive(Default)]
pub(crate) struct Rates(Mutex<HashMap<ApiKeyId, Bucket>>);

impl Rates {
    /// Counts a request; the milliseconds to wait where there were too many.
    fn count(&self, key: &ApiKeyId, per_minute: u32, now: Timestamp) -> Result<(), i64> {
        let mut buckets = self.0.lock();
        if let Some(bucket) = buckets.get_mut(key) {
            return bucket.take(per_minute, now);
        }
        if buckets.len() >= BUCKETS_MAX {
            buckets.retain(|_, bucket| !bucket.is_full_again(now));
            if buckets.len() >= BUCKETS_MAX {
                buckets.clear();
            }
        }
        buckets
            .entry(key.clone())
            .or_insert_with(|| Bucket::new(per_minute, now))
            .take(per_minute, now)
    }
}

/// The API keys of all organizations, and who asks by keys, tokens and sessions.
pub struct Keys {
    ctx: Arc<Ctx>,
    keyring: Arc<Keyring>,
    rates: Rates,
    pub(super) wrong_keys: WrongKeys,
}

impl Keys {
    pub(crate) fn new(ctx: Arc<Ctx>, keyring: Arc<Keyring>) -> Self {
        Self { ctx, keyring, rates: Rates::default(), wrong_keys: WrongKeys::default() }
    }

    /// Who makes a request: its client's address, unless this server itself says in [`ASKED_BY`]
    /// that a component does.
    ///
    /// [`ASKED_BY`]: crate::ASKED_BY
    pub fn asker(&self, address: Option<IpAddr>, asked_by: Option<&str>) -> Option<Asker> {
        let own = asked_by.and_then(|text| {
            let org: OrgId = text.split_once('-')?.0.parse().ok()?;
            same(self.asked_by(&org).as_bytes(), text.as_bytes())
                .then_some(Asker::Organization(org))
        });
        own.or(address.map(Asker::Address))
    }

    /// The value of [`ASKED_BY`] for components of an organization.
    ///
    /// [`ASKED_BY`]: crate::ASKED_BY
    pub(crate) fn asked_by(&self, org: &OrgId) -> String {
        format!("{org}-{}", self.keyring.code(ASKED_BY_PURPOSE, org.as_str()))
    }

    /// Whether a text has the form of an API key or token, which is looked at no further.
    pub fn has_form_of_key(text: &str) -> bool {
        let tail = text.strip_prefix(TOKEN_PREFIX).or_else(|| text.strip_prefix(KEY_PREFIX));
        tail.is_some_and(|tail| {
            tail.len() == KEY_CHARS && tail.bytes().all(|b| b.is_ascii_alphanumeric())
        })
    }

    /// Whose key it is; `from`: who shows it. `Unauthorized` where it is none, or has ended.
    /// `WrongKeys` where too many wrong ones came from there: then only keys that were good before
    /// are looked at.
    pub async fn authenticate(
        &self,
        key: &str,
        from: Option<&Asker>,
    ) -> Result<Caller, EngineError> {
        if key.is_empty() || key.len() > 256 {
            return Err(EngineError::Unauthorized);
        }
        // The key has 238 bits of entropy: a plain hash cannot be reversed. Only hashes are stored
        // and compared, here and by the database, so that the time of a look-up tells at most how
        // much of two hashes is the same, and nothing of a key.
        let (hash, now) = (sha256_hex(key.as_bytes()), self.ctx.now());
        let caller = match self.ctx.cache.caller(&hash, now.plus_ms(-CACHED_MS)) {
            Some(caller) => caller,
            None => {
                if let Some(wait) = from.and_then(|from| self.wrong_keys.wait(from, &hash, now)) {
                    return Err(EngineError::WrongKeys { wait });
                }
                let read_at = self.ctx.cache.generation();
                let found = if key.starts_with(TOKEN_PREFIX) {
                    self.ctx.store.caller_by_token_hash(&hash).await?
                } else if key.starts_with(SESSION_PREFIX) {
                    caller_by_session(&self.ctx, &hash).await?
                } else {
                    self.ctx.store.caller_by_key_hash(&hash).await?
                };
                let Some(caller) = found else {
                    if let Some(from) = from {
                        self.wrong_keys.count(from, now);
                    }
                    return Err(EngineError::Unauthorized);
                };
                self.wrong_keys.was_good(&hash);
                self.ctx.cache.callers.put(read_at, hash, (now, caller.clone()));
                caller
            }
        };
        if caller.ends_at.is_some_and(|end| end <= now) {
            Err(EngineError::Unauthorized)
        } else {
            Ok(caller)
        }
    }

    /// Watches a valid key, whose caller has this organization and these scopes.
    pub fn watch(self: &Arc<Self>, key: &str, org: &OrgId, scopes: &Scopes) -> KeyWatch {
        let opened_by = (org.clone(), scopes.clone());
        KeyWatch::new(self.clone(), key, opened_by, self.ctx.cache.caller_changes())
    }

    /// Counts a request of the caller's key. `TooMany`.
    pub fn count_request(&self, caller: &Caller) -> Result<(), EngineError> {
        let config = &self.ctx.config;
        let own = caller.rate_per_minute.map(|rate| rate.min(config.requests_per_minute_max));
        let per_minute = own.unwrap_or(config.requests_per_minute);
        if per_minute == 0 {
            return Ok(());
        }
        let counted = self.rates.count(&caller.key_id, per_minute, self.ctx.now());
        counted.map_err(|wait_ms| EngineError::TooMany {
            per_minute,
            wait: Duration::from_millis(wait_ms.unsigned_abs()),
        })
    }

    /// Makes a key of the caller's organization; the key itself is shown this once.
    pub async fn create(
        &self,
        caller: &Caller,
        new: NewApiKey,
    ) -> Result<(ApiKey, String), EngineError> {
        let name = key_name(&new.name)?;
        self.check_end(new.expires_at)?;
        check_rate(new.rate_per_minute, self.ctx.config.requests_per_minute_max)?;
        if self
            .ctx
            .store
            .list_api_keys(&caller.org_id, &Page { limit: 1, ..Page::default() })
            .await?
            .total_count
            >= KEYS_MAX
        {
            let message = format!(
                "the organization has {KEYS_MAX} keys, the most it may have; revoke some first"
            );
            return Err(EngineError::Conflict { code: "too_many_keys", message });
        }
        let text = new_key_text(&self.ctx.ids);
        let key = ApiKey {
            id: ApiKeyId::generate(&self.ctx.ids),
            org_id: caller.org_id.clone(),
            user_id: caller.user_id.clone(),
            name,
            key_hash: sha256_hex(text.as_bytes()),
            scopes: new.scopes,
            rate_per_minute: new.rate_per_minute,
            expires_at: new.expires_at,
            old: None,
            created_at: self.ctx.now(),
        };
        self.ctx.store.create_api_key(key.clone()).await?;
        Ok((key, text))
    }

    /// The organization's keys, newest first; never the keys themselves.
    pub async fn list(&self, caller: &Caller, page: &Page) -> Result<Listing<ApiKey>, EngineError> {
        Ok(self.ctx.store.list_api_keys(&caller.org_id, page).await?)
    }

    /// A key's record.
    pub async fn get(&self, caller: &Caller, id: &ApiKeyId) -> Result<ApiKey, EngineError> {
        self.ctx
            .store
            .api_key(&caller.org_id, id)
            .await?
            .ok_or_else(|| EngineError::not_found("API key", id))
    }

    /// Gives a key another name or end.
    pub async fn update(
        &self,
        caller: &Caller,
        id: &ApiKeyId,
        update: UpdateApiKey,
    ) -> Result<ApiKey, EngineError> {
        let _turn = self.ctx.changes.turn(id.as_str()).await;
        let mut key = self.get(caller, id).await?;
        if let Some(name) = &update.name {
            key.name = key_name(name)?;
        }
        if let Some(end) = update.expires_at {
            self.check_end(end)?;
            key.expires_at = end;
        }
        self.put_key(key).await
    }

    /// Ends a key at once. Not the one that asks: who has no other key would be locked out.
    pub async fn revoke(&self, caller: &Caller, id: &ApiKeyId) -> Result<(), EngineError> {
        if *id == caller.key_id {
            let message = format!(
                "`{id}` is the key of this request; revoke it with another key, or rotate it"
            );
            return Err(EngineError::Conflict { code: "own_key", message });
        }
        let there = self.ctx.store.delete_api_key(&caller.org_id, id).await?;
        self.ctx.cache.forget_callers();
        if there { Ok(()) } else { Err(EngineError::not_found("API key", id)) }
    }

    /// Puts a new key in the place of one; that one is taken for `grace` longer. The new key is
    /// shown this once.
    pub async fn rotate(
        &self,
        caller: &Caller,
        id: &ApiKeyId,
        grace: Duration,
    ) -> Result<(ApiKey, String), EngineError> {
        if grace > GRACE_MAX {
            return Err(EngineError::invalid(
                "grace_seconds",
                format!(
                    "`grace_seconds` is {}, allowed are 0 to {}",
                    grace.as_secs(),
                    GRACE_MAX.as_secs()
                ),
            ));
        }
        let _turn = self.ctx.changes.turn(id.as_str()).await;
        let mut key = self.get(caller, id).await?;
        let text = new_key_text(&self.ctx.ids);
        let before = std::mem::replace(&mut key.key_hash, sha256_hex(text.as_bytes()));
        key.old = (!grace.is_zero()).then(|| {
            (before, self.ctx.now().plus_ms(i64::try_from(grace.as_millis()).unwrap_or(i64::MAX)))
        });
        Ok((self.put_key(key).await?, text))
    }

    async fn put_key(&self, key: ApiKey) -> Result<ApiKey, EngineError> {
        self.ctx.store.update_api_key(key.clone()).await?;
        self.ctx.cache.forget_callers();
        Ok(key)
    }

    fn check_end(&self, end: Option<Timestamp>) -> Result<(), EngineError> {
        match end {
            Some(end) if end <= self.ctx.now() => Err(EngineError::invalid(
                "expires_at",
                format!("`expires_at` is {}, which is not in the future", end.secs()),
            )),
            _ => Ok(()),
        }
    }
}

/// Whether the caller's key or role allows what needs `scope`. `ScopeMissing`.
pub fn check_scope(caller: &Caller, scope: Scope) -> Result<(), EngineError> {
    if caller.scopes.allow(scope) {
        return Ok(());
    }
    Err(EngineError::ScopeMissing {
        needed: scope,
        has: caller.scopes.clone(),
        is_session: caller.session.is_some(),
    })
}

/// The text of a new key.
pub(crate) fn new_key_text(ids: &IdSource) -> String {
    format!("{KEY_PREFIX}{}", ids.base62(KEY_CHARS))
}

pub(crate) fn key_name(name: &str) -> Result<String, EngineError> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > 100 || name.chars().any(char::is_control) {
        return Err(EngineError::invalid("name", "the name has 1 to 100 characters on one line"));
    }
    Ok(name.to_owned())
}

/// `max`: what the operator allows.
fn check_rate(rate: Option<u32>, max: u32) -> Result<(), EngineError> {
    match rate {
        Some(rate) if (max.saturating_add(1)..=RATE_MAX).contains(&rate) => {
            Err(EngineError::invalid(
                "rate_per_minute",
                format!(
                    "`rate_per_minute` is {rate}, more than this server's operator allows: {max} (--requests-per-minute-max)"
                ),
            ))
        }
        Some(rate) if !(1..=RATE_MAX).contains(&rate) => Err(EngineError::invalid(
            "rate_per_minute",
            format!("`rate_per_minute` is {rate}, allowed are 1 to {RATE_MAX} requests"),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_counted_for_itself_and_the_memory_is_bounded() {
        let (rates, now) = (Rates::default(), Timestamp(0));
        let key = |n: usize| ApiKeyId::from_row(format!("key_{n}"));
        assert_eq!((rates.count(&key(0), 1, now), rates.count(&key(1), 1, now)), (Ok(()), Ok(())));
        assert_eq!(rates.count(&key(0), 1, now), Err(60_000));
        for n in 0..2 * BUCKETS_MAX {
            let _ = rates.count(&key(n), 1, now);
        }
        assert!(rates.0.lock().len() <= BUCKETS_MAX);
    }
}
