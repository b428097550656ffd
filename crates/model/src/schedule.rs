//! Schedules of timers (spec 2.7.2, reference 3): an interval, or a cron expression in a time zone.

use std::str::FromStr as _;

use chrono_tz::{TZ_VARIANTS, Tz};
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;

use cron::CronTimes;

mod cron;

/// The longest interval: a year.
pub const INTERVAL_SECONDS_MAX: i64 = 10 * 366 * 24 * 3600;

/// A clock that goes back by less is put right, and cron times between are not fired twice; by
/// more, it was wrong.
pub const BACK_MS_MAX: i64 = 3 * 3600 * 1000;

/// When a timer fires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Every so many seconds.
    IntervalSeconds(i64),
    /// A cron expression of five or six fields, or a word that stands for one.
    Cron {
        /// The expression as given.
        cron: String,
        /// An IANA time zone name.
        timezone: String,
    },
}

/// A schedule that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Zero, negative or too long.
    #[error(
        "`{value}` is not an interval: allowed are whole seconds from 1 to {INTERVAL_SECONDS_MAX}"
    )]
    Interval {
        /// The value given.
        value: String,
    },
    /// Not a cron expression.
    #[error(
        "`{value}` is not a cron expression: {reason}; allowed are five fields, or six that begin with seconds, such as `*/5 * * * *`, or a word such as `@daily`"
    )]
    Cron {
        /// The value given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Not an IANA time zone.
    #[error("`{value}` is not a time zone: give an IANA name such as `Europe/Berlin` or `UTC`")]
    Timezone {
        /// The value given.
        value: String,
    },
    /// A value that says two things.
    #[error("`{value}` is no schedule: {reason}")]
    Ambiguous {
        /// As given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A cron expression that no date fulfils.
    #[error("the cron expression `{value}` never fires")]
    Never {
        /// The value given.
        value: String,
    },
}

impl Schedule {
    /// An interval of whole seconds.
    pub fn interval(seconds: i64) -> Result<Self, ScheduleError> {
        if (1..=INTERVAL_SECONDS_MAX).contains(&seconds) {
            Ok(Self::IntervalSeconds(seconds))
        } else {
            Err(ScheduleError::Interval { value: seconds.to_string() })
        }
    }

    /// A cron expression; it is checked to fire at least once after `now`. The zone is kept as IANA
    /// writes it.
    pub fn cron(cron: &str, timezone: Option<&str>, now: Timestamp) -> Result<Self, ScheduleError> {
        let timezone = timezone.map(str::trim).filter(|t| !t.is_empty()).unwrap_or("UTC");
        // Not asked of schedules that were taken before: they go on.
        if let Some(reason) = cron::passed_over(cron) {
            return Err(ScheduleError::Cron { value: crate::shown(cron), reason });
        }
        let timezone = zone(timezone)?.name().to_owned();
        let schedule = Self::Cron { cron: cron.to_owned(), timezone };
        schedule.next_after(now, now)?;
        Ok(schedule)
    }

    /// The first time after `now`. `anchor` is the previous tick or the creation: intervals count
    /// from it, and ticks missed while the server was down are not made up for.
    pub fn next_after(
        &self,
        anchor: Timestamp,
        now: Timestamp,
    ) -> Result<Timestamp, ScheduleError> {
        match self {
            Self::IntervalSeconds(seconds) => {
                let step = seconds.saturating_mul(1000).max(1000);
                let missed = now.since(anchor).max(0) / step;
                Ok(anchor.plus_ms((missed + 1).saturating_mul(step)))
            }
            Self::Cron { cron, timezone } => {
                let zone = zone(timezone)?;
                let times = CronTimes::parse(cron)
                    .map_err(|reason| ScheduleError::Cron { value: crate::shown(cron), reason })?;
                let next = times.next_after(&now.datetime().with_timezone(&zone));
                next.map(|at| Timestamp(at.timestamp_millis()))
                    .ok_or_else(|| ScheduleError::Never { value: crate::shown(cron) })
            }
        }
    }

    /// The next `count` times after `now`, at least one; fewer than `count` of a date that comes
    /// only so often. `waits_for`: the next tick of a timer that has this schedule already, from
    /// which its interval goes on; without it, an interval begins now.
    pub fn next_times(
        &self,
        waits_for: Option<Timestamp>,
        now: Timestamp,
        count: usize,
    ) -> Result<Vec<Timestamp>, ScheduleError> {
        let mut last = match waits_for {
            Some(at) if at > now => at,
            at => self.next_after(at.unwrap_or(now), now)?,
        };
        let mut times = vec![last];
        while times.len() < count {
            last = match self.next_after(last, last) {
                Ok(next) => next,
                Err(ScheduleError::Never { .. }) => break,
                Err(error) => return Err(error),
            };
            times.push(last);
        }
        Ok(times)
    }

    /// Where a tick that waits for `next_at` belongs after the clock went back to `now`; none:
    /// where it is. An interval is never waited for longer than it is. Cron times that have fired
    /// are not fired again, unless the clock went back by more than [`BACK_MS_MAX`]: then it was
    /// wrong before, and the new time counts. `back_ms`: by how much; 0: nobody saw it.
    pub fn rewound(
        &self,
        next_at: Timestamp,
        now: Timestamp,
        back_ms: i64,
    ) -> Result<Option<Timestamp>, ScheduleError> {
        match self {
            Self::IntervalSeconds(seconds) => {
                let latest = now.plus_ms(seconds.saturating_mul(1000).max(1000));
                Ok((next_at > latest).then_some(latest))
            }
            Self::Cron { .. } => {
                // The tick before `next_at` has fired, so the clock went back by at least as much
                // as lies between it and now.
                let wrong_since = self.next_after(now, now.plus_ms(BACK_MS_MAX))?;
                let is_wrong = back_ms > BACK_MS_MAX || next_at > wrong_since;
                Ok(if is_wrong { Some(self.next_after(now, now)?) } else { None })
            }
        }
    }
}

/// The zone of a name, in letters of any case.
fn zone(name: &str) -> Result<Tz, ScheduleError> {
    let is_it = |zone: &&Tz| zone.name().eq_ignore_ascii_case(name);
    Tz::from_str(name)
        .ok()
        .or_else(|| TZ_VARIANTS.iter().find(is_it).copied())
        .ok_or_else(|| ScheduleError::Timezone { value: crate::shown(name) })
}

/// A zone's name as IANA writes it, and records show it; none: there is no such zone.
pub fn zone_name(given: &str) -> Option<&'static str> {
    zone(given.trim()).ok().map(|zone| zone.name())
}

/// Whether a name is that of UTC.
pub(crate) fn is_utc(given: &str) -> bool {
    zone_name(given) == Some("UTC")
}

/// A time in ISO 8601 as a clock in `timezone` shows it; an unknown zone is UTC.
pub fn local_iso(at: Timestamp, timezone: &str) -> String {
    let zone = Tz::from_str(timezone).unwrap_or(Tz::UTC);
    at.datetime().with_timezone(&zone).to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp(1_700_049_600_000);

    #[test]
    fn intervals_skip_what_was_missed() {
        let every_minute = Schedule::interval(60).expect("valid");
        assert_eq!(every_minute.next_after(NOON, NOON), Ok(NOON.plus_ms(60_000)));
        assert_eq!(every_minute.next_after(NOON, NOON.plus_ms(150_000)), Ok(NOON.plus_ms(180_000)));
    }

    #[test]
    fn the_next_times_of_an_interval_go_on_from_the_tick_that_its_timer_waits_for() {
        let every_minute = Schedule::interval(60).expect("valid");
        let times = |waits_for: Option<i64>| {
            let waits_for = waits_for.map(|ms| NOON.plus_ms(ms));
            let times = every_minute.next_times(waits_for, NOON, 3).expect("times");
            times.iter().map(|at| at.since(NOON) / 1000).collect::<Vec<_>>()
        };
        assert_eq!(times(None), [60, 120, 180]);
        assert_eq!(times(Some(20_000)), [20, 80, 140]);
        // One that is due, or was missed, is no time to come.
        assert_eq!(times(Some(0)), [60, 120, 180]);
        assert_eq!(times(Some(-130_000)), [50, 110, 170]);
    }

    #[test]
    fn an_interval_that_counts_from_no_time_goes_on() {
        let every_minute = Schedule::interval(60).expect("valid");
        for anchor in [i64::MIN, i64::MIN + 1, i64::MAX] {
            let next = every_minute.next_after(Timestamp(anchor), NOON).expect("a time");
            assert!(next > Timestamp(anchor) || anchor == i64::MAX, "{anchor}");
        }
    }

    #[test]
    fn cron_fires_in_its_time_zone() {
        let daily = Schedule::cron("30 9 * * *", Some("Europe/Berlin"), NOON).expect("valid");
        assert_eq!(daily.next_after(NOON, NOON).expect("fires").iso(), "2023-11-16T08:30:00.000Z");
    }

    #[test]
    fn a_time_zone_is_taken_in_any_case_and_kept_as_iana_writes_it() {
        for (given, kept) in [
            ("Europe/Berlin", "Europe/Berlin"),
            ("europe/berlin", "Europe/Berlin"),
            (" Europe/Berlin ", "Europe/Berlin"),
            ("utc", "UTC"),
            ("", "UTC"),
            ("  ", "UTC"),
            ("america/port-au-prince", "America/Port-au-Prince"),
        ] {
            let timezone = kept.to_owned();
            let schedule = Schedule::Cron { cron: "0 9 * * *".into(), timezone };
            assert_eq!(Schedule::cron("0 9 * * *", Some(given), NOON), Ok(schedule), "{given}");
            assert!(given.trim().is_empty() || zone_name(given) == Some(kept), "{given}");
        }
    }

    #[test]
    fn cron_has_five_fields_or_six_or_is_a_word() {
        for (cron, next) in [
            ("30 9 * * *", "2023-11-16T09:30:00.000Z"),
            ("15 30 9 * * *", "2023-11-16T09:30:15.000Z"),
            ("@daily", "2023-11-16T00:00:00.000Z"),
        ] {
            assert_eq!(
                Schedule::cron(cron, None, NOON)
                    .and_then(|s| s.next_after(NOON, NOON))
                    .expect(cron)
                    .iso(),
                next,
                "{cron}"
            );
        }
    }

    #[test]
    fn an_interval_is_never_waited_for_longer_than_it_is() {
        let every_minute = Schedule::interval(60).expect("valid");
        assert_eq!(every_minute.rewound(NOON.plus_ms(60_000), NOON, 0), Ok(None));
        assert_eq!(
            every_minute.rewound(NOON.plus_ms(3_600_000), NOON, 0),
            Ok(Some(NOON.plus_ms(60_000)))
        );
    }

    #[test]
    fn a_cron_time_fires_twice_only_where_the_clock_was_wrong() {
        let hour = 3_600_000;
        let daily = Schedule::cron("0 12 * * *", None, NOON).expect("valid");
        // It fired at noon, and waits for tomorrow's.
        let tomorrow = NOON.plus_ms(24 * hour);
        for back in [1_000, hour, 3 * hour - 1_000] {
            assert_eq!(daily.rewound(tomorrow, NOON.plus_ms(-back), back), Ok(None), "{back}");
        }
        assert_eq!(daily.rewound(tomorrow, NOON.plus_ms(-4 * hour), 0), Ok(Some(NOON)));
        // Four hours, of which three were after the tick.
        assert_eq!(daily.rewound(tomorrow, NOON.plus_ms(-hour), 4 * hour), Ok(Some(NOON)));
        // Years ahead, as a machine without a clock of its own may be until it asks for the time.
        assert_eq!(
            daily.rewound(NOON.plus_ms(24 * hour * 3_650), NOON.plus_ms(-hour), 0),
            Ok(Some(NOON))
        );
        // Nothing happened: the next tick is the next one.
        assert_eq!(daily.rewound(tomorrow, NOON.plus_ms(1_000), 0), Ok(None));
    }

    #[test]
    fn bad_schedules_say_what_is_allowed() {
        assert!(Schedule::interval(0).is_err());
        assert!(Schedule::interval(-5).is_err());
        assert!(matches!(
            Schedule::cron("61 * * * *", None, NOON),
            Err(ScheduleError::Cron { .. })
        ));
        let allowed = "allowed are five fields, or six that begin with seconds, such as `*/5 * * * *`, or a word such as `@daily`";
        for (cron, why) in [
            ("nonsense", "it has 1 field"),
            ("", "it has 0 fields"),
            ("* * * *", "it has 4 fields"),
            ("0 0 12 * * * 2030", "it has 7 fields"),
            ("* * * * * * * *", "it has 8 fields"),
            (
                "60 * * * *",
                "the minute `60` cannot be read; it is made of numbers from 0 to 59, such as `0`, `0,30`, `0-30` or `*/5`",
            ),
            (
                "0 0 32 * *",
                "the day of the month `32` cannot be read; it is made of numbers from 1 to 31, such as `1`, `1,15`, `1-7` or `L`",
            ),
            (
                "0 0 * 13 *",
                "the month `13` cannot be read; it is made of numbers from 1 to 12 or names from JAN to DEC, such as `1`, `JAN,JUL`, `1-6` or `*/3`",
            ),
            (
                "0 0 9 * * 8",
                "the day of the week `8` cannot be read; it is made of numbers from 0 to 7 or names from SUN to SAT, such as `1`, `MON,FRI`, `1-5` or `5#1`",
            ),
            (
                "61 0 9 * * *",
                "the second `61` cannot be read; it is made of numbers from 0 to 59, such as `0`, `0,30`, `0-30` or `*/5`",
            ),
            (
                "0 24 * * *",
                "the hour `24` cannot be read; it is made of numbers from 0 to 23, such as `9`, `9,17`, `9-17` or `*/2`",
            ),
            (
                "*/0 9 * * *",
                "the minute `*/0` cannot be read; it is made of numbers from 0 to 59, such as `0`, `0,30`, `0-30` or `*/5`",
            ),
            ("0 9 * * 1,", "the day of the week `1,` has nothing before or after a comma"),
            ("0,,5 9 * * *", "the minute `0,,5` has nothing before or after a comma"),
            ("0 9 * * MONDAY", "`MONDAY` is no name; names are SUN, MON, TUE, WED, THU, FRI, SAT"),
            (
                "0 9 * * mon-friday",
                "`FRIDAY` is no name; names are SUN, MON, TUE, WED, THU, FRI, SAT",
            ),
            (
                "0 0 9 1 January *",
                "`JANUARY` is no name; names are JAN, FEB, MAR, APR, MAY, JUN, JUL, AUG, SEP, OCT, NOV, DEC",
            ),
        ] {
            let error = Schedule::cron(cron, None, NOON).expect_err(cron).to_string();
            assert_eq!(error, format!("`{cron}` is not a cron expression: {why}; {allowed}"));
        }
        let before = Schedule::Cron { cron: "0 9 * * 1,".into(), timezone: "UTC".into() };
        assert!(before.next_after(NOON, NOON).is_ok(), "what was taken before goes on");
        for taken in [
            "0 9 * * MON-FRI",
            "0 9 ? * +1",
            "0 9 LW * 5L",
            "0 9 * jan,Dec Mon#1",
            "0 9 * * FRIL",
            "0 9 L * *",
        ] {
            assert!(Schedule::cron(taken, None, NOON).is_ok(), "{taken}");
        }
        assert!(matches!(
            Schedule::cron("@sometimes", None, NOON),
            Err(ScheduleError::Cron { .. })
        ));
        assert!(matches!(
            Schedule::cron("* * * * *", Some("Mars/Base"), NOON),
            Err(ScheduleError::Timezone { .. })
        ));
        assert!(Schedule::cron("0 0 30 2 *", None, NOON).is_err());
    }
}
