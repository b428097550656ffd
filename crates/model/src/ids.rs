//! Typed ids with a prefix (reference 1), and where their randomness comes from.

use std::sync::atomic::{AtomicI64, Ordering};

use rand::Rng as _;

use crate::clock::Timestamp;

const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Seconds between the Unix epoch and the epoch of a KSUID.
const KSUID_EPOCH_SECS: i64 = 1_400_000_000;

/// The source of ids. One for a process; event ids rise strictly within it.
#[derive(Debug, Default)]
pub struct IdSource {
    last_event: AtomicI64,
    /// The sequence that the event ids of a millisecond begin with.
    first_seq: i64,
}

impl IdSource {
    /// For one of several servers: its event ids begin at a random place of each millisecond, so
    /// that those of two servers hardly ever meet. Half of a millisecond's ids are left to count
    /// on.
    pub fn of_many() -> Self {
        Self {
            last_event: AtomicI64::default(),
            first_seq: i64::from(rand::rng().next_u32() >> 13),
        }
    }

    /// `len` random characters of `[0-9A-Za-z]`.
    pub fn base62(&self, len: usize) -> String {
        let mut rng = rand::rng();
        (0..len).map(|_| char::from(BASE62[(rng.next_u32() % 62) as usize])).collect()
    }

    /// Random bytes for keys and nonces.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        rand::rng().fill_bytes(&mut bytes);
        bytes
    }

    /// A KSUID: 27 characters of base 62, ordered by the second (facts 0), and ours within it by
    /// the millisecond: what is written together lies together in the database. 118 bits are
    /// random. Ids of runs, contexts, traces and emissions.
    pub fn ksuid(&self, now: Timestamp) -> String {
        let secs = u32::try_from(now.secs() - KSUID_EPOCH_SECS).unwrap_or(0);
        let random = u128::from_be_bytes(self.bytes()) >> 10;
        let millis = now.ms().rem_euclid(1000).unsigned_abs();
        let payload = (u128::from(millis) << 118) | random;
        let word = |at: u32| (payload >> (96 - 32 * at)) as u32;
        base62_of([secs, word(0), word(1), word(2), word(3)])
    }

    /// The next event id `<epoch_ms>-<sequence>`, greater than all before it in this process, also
    /// when the clock steps back.
    pub fn event_id(&self, now: Timestamp) -> EventId {
        let floor = (now.ms() << 20) | self.first_seq;
        let before = self
            .last_event
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| {
                Some(if last < floor { floor } else { last + 1 })
            })
            .unwrap_or(0);
        let id = if before < floor { floor } else { before + 1 };
        EventId { ms: id >> 20, seq: id & 0xF_FFFF }
    }
}

/// A number of 160 bits, its highest word first, as 27 digits.
fn base62_of(mut words: [u32; 5]) -> String {
    // Five digits at a time: that many fit into a word.
    const PIECE: u64 = 62_u64.pow(5);
    let mut digits = [b'0'; 27];
    for piece in digits.rchunks_mut(5) {
        let mut rest = 0;
        for word in &mut words {
            let value = (rest << 32) | u64::from(*word);
            *word = (value / PIECE) as u32;
            rest = value % PIECE;
        }
        for digit in piece.iter_mut().rev() {
            *digit = BASE62[(rest % 62) as usize];
            rest /= 62;
        }
    }
    digits.iter().map(|&b| char::from(b)).collect()
}

/// `<epoch_ms>-<sequence>`: the id of an event in a stream, and its cursor (spec 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// When the event was indexed, epoch milliseconds.
    pub ms: i64,
    /// Its place within that millisecond.
    pub seq: i64,
}

impl EventId {
    /// One integer that orders as the id does: 44 bits of milliseconds and 20 of sequence.
    pub const fn ordinal(self) -> i64 {
        (self.ms << 20) | self.seq
    }

    /// The ordinal before those of all events from `time` on, for any time.
    pub const fn ordinal_at(time: Timestamp) -> i64 {
        let ms = time.ms();
        (if ms < 0 {
            0
        } else if ms >= 1 << 43 {
            (1 << 43) - 1
        } else {
            ms
        }) << 20
    }

    /// The id that [`EventId::ordinal`] gave.
    pub const fn from_ordinal(ordinal: i64) -> Self {
        Self { ms: ordinal >> 20, seq: ordinal & 0xF_FFFF }
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}

impl std::str::FromStr for EventId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let parse = || {
            let (ms, seq) = text.split_once('-')?;
            let (ms, seq): (i64, i64) = (ms.parse().ok()?, seq.parse().ok()?);
            ((0..1 << 43).contains(&ms) && (0..1 << 20).contains(&seq)).then_some(Self { ms, seq })
        };
        parse().ok_or_else(|| InvalidId { value: text.into(), expected: "<epoch_ms>-<sequence>" })
    }
}

/// A text that is not an id of the kind asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{value}` is not an id of the form `{expected}`")]
pub struct InvalidId {
    /// The text given.
    pub value: String,
    /// The form it should have.
    pub expected: &'static str,
}

macro_rules! id_type {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string" })
            }
        }

        impl $name {
            /// What every id of this kind starts with.
            pub const PREFIX: &'static str = $prefix;

            /// A new random id.
            pub fn generate(ids: &IdSource) -> Self {
                Self(format!("{}{}", $prefix, ids.base62(12)))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// An id read from a database row, which was checked when it was written.
            pub fn from_row(text: String) -> Self {
                Self(text)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let tail = text.strip_prefix($prefix).unwrap_or("");
                if (1..=64).contains(&tail.len()) && tail.bytes().all(|b| b.is_ascii_alphanumeric()) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(InvalidId { value: crate::shown(&text), expected: concat!($prefix, "…") })
                }
            }
        }
    )*};
}

id_type! {
    /// A user.
    UserId = "u_";
    /// An organization (the API also says workspace).
    OrgId = "o_";
    /// A project of an organization.
    ProjectId = "proj_";
    /// A saved component.
    ComponentId = "sc_";
    /// A source: a deployed component.
    SourceId = "dc_";
    /// A workflow.
    WorkflowId = "p_";
    /// A deployment: an immutable version of a workflow.
    DeploymentId = "d_";
    /// A step of a workflow ("cell").
    StepId = "c_";
    /// An HTTP interface.
    HttpInterfaceId = "hi_";
    /// A timer interface.
    TimerId = "ti_";
    /// A subscription.
    SubscriptionId = "sub_";
    /// A subscription of all that is made from now on.
    AutoSubscriptionId = "asub_";
    /// A webhook.
    WebhookId = "wh_";
    /// An event on its way to a webhook.
    WebhookDeliveryId = "whd_";
    /// A run of a workflow or source.
    RunId = "run_";
    /// An API key's record.
    ApiKeyId = "key_";
    /// A queued or sent e-mail.
    MailId = "mail_";
    /// An app.
    AppId = "app_";
    /// A registry: a tree of components.
    RegistryId = "reg_";
    /// A connected account ("auth provision").
    AccountId = "apn_";
    /// A connection of an account at its provider, as it was begun.
    ConnectionId = "cn_";
    /// A data store.
    DataStoreId = "ds_";
    /// Something that code sent to the outside.
    DeliveryId = "dl_";
    /// A file that a request to an endpoint carried.
    UploadId = "upl_";
    /// A key that secrets are sealed under.
    DataKeyId = "dk_";
    /// A record of who changed what.
    AuditId = "aud_";
    /// An OAuth client.
    OauthClientId = "oc_";
    /// A group of errors.
    ErrorGroupId = "eg_";
    /// A replay of many runs.
    ReplayId = "rpl_";
    /// A person's session in a browser.
    SessionId = "ses_";
    /// A link that works once.
    LinkId = "lnk_";
    /// A form in which props are filled in: the `dynamic_props_id` of the API.
    FormId = "dyp_";
}

impl RunId {
    /// A new id that orders by the millisecond: runs that are written together lie together.
    pub fn at(ids: &IdSource, now: Timestamp) -> Self {
        Self(format!("{}{}", Self::PREFIX, ids.ksuid(now)))
    }
}

impl AuditId {
    /// A new id that orders by the millisecond.
    pub fn at(ids: &IdSource, now: Timestamp) -> Self {
        Self(format!("{}{}", Self::PREFIX, ids.ksuid(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_ids_rise_even_when_the_clock_steps_back() {
        let ids = IdSource::default();
        let a = ids.event_id(Timestamp(1_000));
        let b = ids.event_id(Timestamp(1_000));
        let c = ids.event_id(Timestamp(900));
        assert_eq!(
            (a.to_string(), b.to_string(), c.to_string()),
            ("1000-0".into(), "1000-1".into(), "1000-2".into())
        );
        assert_eq!("1000-2".parse::<EventId>().map(EventId::ordinal), Ok(c.ordinal()));
        assert_eq!(EventId::from_ordinal(c.ordinal()), c);
    }

    #[test]
    fn event_ids_of_one_of_many_rise_and_stay_within_their_millisecond() {
        for _ in 0..100 {
            let ids = IdSource::of_many();
            let (a, b, c) = (
                ids.event_id(Timestamp(1_000)),
                ids.event_id(Timestamp(1_000)),
                ids.event_id(Timestamp(1_001)),
            );
            assert!(a < b && b < c && (a.ms, b.ms, c.ms) == (1_000, 1_000, 1_001), "{a} {b} {c}");
            assert!(a.seq < 1 << 19 && a.to_string().parse() == Ok(a));
        }
    }

    #[test]
    fn a_time_of_any_size_has_an_ordinal() {
        let at = |ms| EventId::ordinal_at(Timestamp(ms));
        assert_eq!((at(i64::MIN), at(-1), at(5)), (0, 0, EventId { ms: 5, seq: 0 }.ordinal()));
        assert!(at(i64::MAX) > at(1 << 42) && at(i64::MAX) == at(1 << 43));
    }

    #[test]
    fn a_ksuid_has_27_characters_and_orders_by_millisecond() {
        let ids = IdSource::default();
        let times = [
            1_600_000_000_000,
            1_600_000_000_001,
            1_600_000_000_999,
            1_600_000_001_000,
            1_700_000_000_000,
        ];
        let made = times.map(|ms| ids.ksuid(Timestamp(ms)));
        assert!(made.is_sorted() && made.iter().all(|id| id.len() == 27), "{made:?}");
        assert_ne!(ids.ksuid(Timestamp(times[0])), ids.ksuid(Timestamp(times[0])));
    }

    #[test]
    fn digits_are_those_of_the_whole_number() {
        assert_eq!(base62_of([0; 5]), "0".repeat(27));
        assert_eq!(
            base62_of([u32::MAX; 5]),
            "aWgEPTl1tmebfsQzFP4bxwgy80V",
            "the greatest KSUID there is"
        );
        assert_eq!(base62_of([0, 0, 0, 1, 0]), format!("{:0>27}", "4gfFC4"), "2 to the 32nd");
    }

    #[test]
    fn ids_of_another_kind_are_refused() {
        assert!("dc_abc".parse::<SourceId>().is_ok());
        for bad in ["p_abc", "dc_", "dc_a/b", "", "dc_é"] {
            assert!(bad.parse::<SourceId>().is_err(), "{bad}");
        }
    }
}
