//! Passwords: argon2id hashes, and throttling of wrong ones.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use millrace_model::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::EngineError;
use crate::tenants::wrong_keys::Asker;

/// Characters of a password. The most bounds what is hashed, not what is safe.
const LEN: std::ops::RangeInclusive<usize> = 12..=256;
/// Different characters of a password: one key held down is none.
const DIFFERENT_MIN: usize = 5;
/// Hashes at once: each takes 19 MiB of memory and tens of milliseconds of a CPU.
const HASHES_AT_ONCE: usize = 2;
/// Wrong passwords in a minute: for one address of e-mail from one place, for one from anywhere,
/// and from one place.
const WRONG_OF_BOTH: u32 = 10;
const WRONG_OF_LOGIN: u32 = 100;
const WRONG_OF_PLACE: u32 = 300;
const SPAN_MS: i64 = 60_000;
/// Counts that are remembered. What is forgotten counts from new.
const REMEMBERED_MAX: usize = 20_000;

/// argon2id with the parameters of every password. Each call is the same work.
#[derive(Clone, Default)]
struct Hasher {
    /// Calls so far: a test holds that the same work is done whether or not there is a login.
    #[cfg(test)]
    calls: Arc<std::sync::atomic::AtomicU32>,
}

impl Hasher {
    fn argon2(&self) -> Argon2<'static> {
        #[cfg(test)]
        self.calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Argon2::default()
    }

    fn hash(&self, password: &str) -> Result<String, argon2::password_hash::Error> {
        self.argon2().hash_password(password.as_bytes()).map(|hash| hash.to_string())
    }

    fn fits(&self, password: &str, hash: &PasswordHash) -> bool {
        self.argon2().verify_password(password.as_bytes(), hash).is_ok()
    }
}

/// Hashes and verifies passwords, a few at once.
pub(crate) struct Passwords {
    hasher: Hasher,
    running: Arc<Semaphore>,
    /// Held while a link for a forgotten password is made: of several questions at once, each would
    /// find that there is none yet.
    pub(crate) reset: tokio::sync::Mutex<()>,
    wrong: Mutex<HashMap<Counted, (Timestamp, u32)>>,
}

/// What wrong passwords are counted by.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Counted {
    Both(String, Option<Asker>),
    Login(String),
    Place(Asker),
}

impl Default for Passwords {
    fn default() -> Self {
        Self {
            hasher: Hasher::default(),
            running: Arc::new(Semaphore::new(HASHES_AT_ONCE)),
            reset: tokio::sync::Mutex::default(),
            wrong: Mutex::default(),
        }
    }
}

impl Passwords {
    /// The hash of a new password, with a salt of its own.
    pub(crate) async fn hash(
        &self,
        field: &'static str,
        password: &str,
    ) -> Result<String, EngineError> {
        check(field, password)?;
        let (hasher, password) = (self.hasher.clone(), password.to_owned());
        self.run(move || hasher.hash(&password))
            .await?
            .map_err(|e| EngineError::internal("could not hash a password", e.to_string()))
    }

    /// Whether the password fits the hash. Where there is none, as much work is done: the time of
    /// an answer does not say whether there is a login.
    pub(crate) async fn fits(
        &self,
        password: &str,
        hash: Option<String>,
    ) -> Result<bool, EngineError> {
        let password: String = password.chars().take(LEN.end() + 1).collect();
        let hasher = self.hasher.clone();
        self.run(move || match hash.as_deref().map(PasswordHash::new) {
            Some(Ok(hash)) => hasher.fits(&password, &hash),
            _ => {
                let _ = hasher.hash(&password);
                false
            }
        })
        .await
    }

    /// How often argon2 was used so far.
    #[cfg(test)]
    pub(crate) fn hashes(&self) -> u32 {
        self.hasher.calls.load(std::sync::atomic::Ordering::SeqCst)
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let failed = |e: Box<dyn std::error::Error + Send + Sync>| {
            EngineError::internal("could not check a password", e)
        };
        let permit = self.running.clone().acquire_owned().await.map_err(|e| failed(e.into()))?;
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        })
        .await
        .map_err(|e| failed(e.into()))
    }

    /// Counts a try before it is made, so that tries at once are no way around. `WrongPasswords`
    /// where there were too many.
    pub(crate) fn count(
        &self,
        email: &str,
        from: Option<&Asker>,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        let from = from.map(Asker::whole);
        let mut bounds = vec![
            (Counted::Both(email.to_owned(), from.clone()), WRONG_OF_BOTH),
            (Counted::Login(email.to_owned()), WRONG_OF_LOGIN),
        ];
        bounds.extend(from.map(|from| (Counted::Place(from), WRONG_OF_PLACE)));
        self.count_within(bounds, now)
    }

    /// Counts an answer of a provider that somebody brings, before the provider is asked about it,
    /// with the wrong passwords from the same place.
    pub(crate) fn count_answer(
        &self,
        from: Option<&Asker>,
        now: Timestamp,
    ) -> Result<(), EngineError> {
        self.count_within(
            from.map(|from| (Counted::Place(from.whole()), WRONG_OF_PLACE)).into_iter().collect(),
            now,
        )
    }

    fn count_within(&self, bounds: Vec<(Counted, u32)>, now: Timestamp) -> Result<(), EngineError> {
        let mut wrong = self.wrong.lock();
        let left = |since: Timestamp| since.ms() + SPAN_MS - now.ms();
        for (counted, max) in &bounds {
            if let Some((since, count)) = wrong.get(counted)
                && *count >= *max
                && (1..=SPAN_MS).contains(&left(*since))
            {
                return Err(EngineError::WrongPasswords {
                    wait: Duration::from_millis(left(*since).unsigned_abs()),
                });
            }
        }
        if wrong.len() + bounds.len() > REMEMBERED_MAX {
            wrong.retain(|_, (since, _)| (1..=SPAN_MS).contains(&left(*since)));
            if wrong.len() + bounds.len() > REMEMBERED_MAX {
                wrong.clear();
            }
        }
        for (counted, _) in bounds {
            let entry = wrong.entry(counted).or_insert((now, 0));
            if !(1..=SPAN_MS).contains(&left(entry.0)) {
                *entry = (now, 0);
            }
            entry.1 += 1;
        }
        Ok(())
    }

    /// The answer was one that signs in.
    pub(crate) fn answer_was_right(&self, from: Option<&Asker>) {
        let Some(from) = from else { return };
        if let Some((_, count)) = self.wrong.lock().get_mut(&Counted::Place(from.whole())) {
            *count = count.saturating_sub(1);
        }
    }

    /// The try was no wrong one.
    pub(crate) fn was_right(&self, email: &str, from: Option<&Asker>) {
        let from = from.map(Asker::whole);
        let mut wrong = self.wrong.lock();
        wrong.remove(&Counted::Both(email.to_owned(), from.clone()));
        for counted in
            std::iter::once(Counted::Login(email.to_owned())).chain(from.map(Counted::Place))
        {
            if let Some((_, count)) = wrong.get_mut(&counted) {
                *count = count.saturating_sub(1);
            }
        }
    }
}

/// That a password may be set.
fn check(field: &'static str, password: &str) -> Result<(), EngineError> {
    let length = password.chars().count();
    if !LEN.contains(&length) {
        let (least, most) = (LEN.start(), LEN.end());
        return Err(EngineError::invalid(
            field,
            format!("the password has {length} characters, allowed are {least} to {most}"),
        ));
    }
    let different = password.chars().collect::<BTreeSet<_>>().len();
    if different < DIFFERENT_MIN {
        return Err(EngineError::invalid(
            field,
            format!(
                "the password has {different} different characters, at least {DIFFERENT_MIN} are needed"
            ),
        ));
    }
    Ok(())
}

/// The address of a client as text, for people to recognize it.
pub(crate) fn place(address: Option<IpAddr>) -> String {
    address.map(|address| address.to_canonical().to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(n: u8) -> Option<Asker> {
        Some(Asker::Address([10, 0, 0, n].into()))
    }

    #[tokio::test]
    async fn a_password_fits_its_hash_alone() {
        let passwords = Passwords::default();
        let hash = passwords.hash("password", "a long password").await.expect("hashes");
        assert!(
            hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$") && !hash.contains("long"),
            "{hash}"
        );
        assert_ne!(
            passwords.hash("password", "a long password").await.expect("hashes"),
            hash,
            "each has a salt of its own"
        );
        for (password, expected) in
            [("a long password", true), ("another password", false), ("", false)]
        {
            assert_eq!(
                passwords.fits(password, Some(hash.clone())).await.ok(),
                Some(expected),
                "{password}"
            );
        }
        assert_eq!(passwords.fits("a long password", None).await.ok(), Some(false));
        assert!(
            passwords.hash("password", "short").await.is_err()
                && passwords.hash("password", &"x".repeat(257)).await.is_err()
        );
    }

    #[test]
    fn wrong_passwords_wait_for_their_login_and_place_only() {
        let (passwords, now) = (Passwords::default(), Timestamp(0));
        for n in 0..WRONG_OF_BOTH {
            assert!(passwords.count("a@x", from(1).as_ref(), now).is_ok(), "{n}");
        }
        assert!(
            matches!(passwords.count("a@x", from(1).as_ref(), Timestamp(1_000)), Err(EngineError::WrongPasswords { wait }) if wait.as_secs() == 59)
        );
        assert!(
            passwords.count("b@x", from(1).as_ref(), now).is_ok()
                && passwords.count("a@x", from(2).as_ref(), now).is_ok()
        );
        assert!(
            passwords.count("a@x", from(1).as_ref(), Timestamp(SPAN_MS)).is_ok(),
            "it counts from new"
        );
        let passwords = Passwords::default();
        for n in 0..WRONG_OF_LOGIN {
            assert!(passwords.count("a@x", from(n as u8).as_ref(), now).is_ok(), "{n}");
        }
        assert!(passwords.count("a@x", from(200).as_ref(), now).is_err(), "from anywhere");
    }

    #[test]
    fn a_password_has_enough_different_characters() {
        assert!(check("password", "correct horse").is_ok());
        for (password, found) in [
            ("            ", "has 1 different"),
            ("abababababab", "has 2 different"),
            ("short", "has 5 characters"),
        ] {
            let error = check("password", password).expect_err("refused");
            assert!(error.to_string().contains(found), "{error}");
        }
    }

    #[test]
    fn right_passwords_are_not_counted_and_the_memory_is_bounded() {
        let (passwords, now) = (Passwords::default(), Timestamp(0));
        for _ in 0..2 * WRONG_OF_PLACE {
            assert!(passwords.count("a@x", from(1).as_ref(), now).is_ok());
            passwords.was_right("a@x", from(1).as_ref());
        }
        for n in 0..2 * REMEMBERED_MAX {
            let _ = passwords.count(&n.to_string(), None, now);
        }
        assert!(passwords.wrong.lock().len() <= REMEMBERED_MAX);
    }
}
