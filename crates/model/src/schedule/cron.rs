//! Cron expressions in a time zone whose clocks change, by the rule of Vixie cron (crontab(5),
//! cron(8)).

use chrono::{DateTime, NaiveDateTime, Offset as _, TimeDelta, TimeZone as _};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds};

/// The words of crontab(5) that stand for five fields.
const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// Six fields that list all of their values have 600 characters.
const EXPRESSION_BYTES_MAX: usize = 1_000;

/// Longer than any change of clocks for summer or winter.
const CHANGE_MAX: TimeDelta = TimeDelta::hours(3);

/// A cron expression that was read.
pub(super) struct CronTimes {
    times: Cron,
    /// Where seconds, minutes or hours begin with `*`, it fires at each instant that shows such a
    /// time: not at times that clocks leave out, and twice at times that they show twice. Otherwise
    /// it fires once for each time of the day: as clocks leave it out, right after; as they show it
    /// twice, at the first.
    is_wildcard: bool,
}

impl CronTimes {
    /// Five fields, six that begin with seconds, or a word; else what is wrong.
    pub(super) fn parse(expression: &str) -> Result<Self, String> {
        let expression = expression.trim();
        // It is read again for each of its ticks.
        if expression.len() > EXPRESSION_BYTES_MAX {
            return Err(format!("it has more than {EXPRESSION_BYTES_MAX} characters"));
        }
        let nickname = NICKNAMES.iter().find(|(word, _)| word.eq_ignore_ascii_case(expression));
        let fields: Vec<&str> =
            nickname.map_or(expression, |(_, fields)| fields).split_whitespace().collect();
        if expression.starts_with('@') && nickname.is_none() {
            let words: Vec<&str> = NICKNAMES.iter().map(|(word, _)| *word).collect();
            return Err(format!("the words are {}", words.join(", ")));
        }
        // The parser knows a seventh field, of years (reference 3 does not), and tells of that.
        if !(5..=6).contains(&fields.len()) {
            return Err(format!(
                "it has {} field{}",
                fields.len(),
                if fields.len() == 1 { "" } else { "s" }
            ));
        }
        if let Some(why) = long_name(&fields) {
            return Err(why);
        }
        let times = read(&fields).map_err(|error| wrong_field(&fields).unwrap_or(error))?;
        let is_wildcard =
            fields.iter().take(fields.len() - 3).any(|field| field.starts_with(['*', '?']));
        Ok(Self { times, is_wildcard })
    }

    /// The first instant after `now`; none where no date fulfils the expression.
    pub(super) fn next_after(&self, now: &DateTime<Tz>) -> Option<DateTime<Tz>> {
        if self.is_wildcard { self.next_instant(now) } else { self.next_time_of_day(now) }
    }

    fn next_time_of_day(&self, now: &DateTime<Tz>) -> Option<DateTime<Tz>> {
        let zone = now.timezone();
        let mut shown = now.naive_local();
        loop {
            shown = self.next_shown(shown, false)?;
            let at = zone
                .from_local_datetime(&shown)
                .earliest()
                .unwrap_or_else(|| end_of_gap(zone, shown));
            // Not so where clocks show the hour for the second time.
            if at > *now {
                return Some(at);
            }
        }
    }

    fn next_instant(&self, now: &DateTime<Tz>) -> Option<DateTime<Tz>> {
        let zone = now.timezone();
        let (mut from, mut inclusive) = (*now, false);
        loop {
            let offset = from.offset().fix();
            let at =
                zone.from_utc_datetime(&(self.next_shown(from.naive_local(), inclusive)? - offset));
            let soon = (from + CHANGE_MAX).min(at);
            from = if soon.offset().fix() != offset {
                change_between(&from, &soon)
            } else if at.offset().fix() != offset {
                change_between(&soon, &at)
            } else {
                return Some(at);
            };
            inclusive = true;
        }
    }

    /// The next time that the expression names, where no clock is ever changed.
    fn next_shown(&self, from: NaiveDateTime, inclusive: bool) -> Option<NaiveDateTime> {
        self.times.find_next_occurrence(&from.and_utc(), inclusive).ok().map(|at| at.naive_utc())
    }
}

/// The fields from the last to the first: their names, and what they are made of. Fewer than six
/// begin with the minute.
const FIELDS: [(&str, &str); 6] = [
    (
        "day of the week",
        "numbers from 0 to 7 or names from SUN to SAT, such as `1`, `MON,FRI`, `1-5` or `5#1`",
    ),
    (
        "month",
        "numbers from 1 to 12 or names from JAN to DEC, such as `1`, `JAN,JUL`, `1-6` or `*/3`",
    ),
    ("day of the month", "numbers from 1 to 31, such as `1`, `1,15`, `1-7` or `L`"),
    ("hour", "numbers from 0 to 23, such as `9`, `9,17`, `9-17` or `*/2`"),
    ("minute", "numbers from 0 to 59, such as `0`, `0,30`, `0-30` or `*/5`"),
    ("second", "numbers from 0 to 59, such as `0`, `0,30`, `0-30` or `*/5`"),
];

/// Reads the fields. Where both name days, a day of either fires; where one of them begins with
/// `*`, as `*/2` does, it has to be a day of both (crontab(5)).
fn read(fields: &[&str]) -> Result<Cron, String> {
    let is_both = fields.iter().rev().step_by(2).take(2).any(|field| field.starts_with('*'));
    let parser = CronParser::builder().seconds(Seconds::Optional).dom_and_dow(is_both).build();
    parser.parse(&fields.join(" ")).map_err(|error| error.to_string())
}

/// The first field that cannot be read, of which the parser says nothing.
fn wrong_field(fields: &[&str]) -> Option<String> {
    let wrong = (0..fields.len()).find(|at| {
        let mut alone = vec!["*"; fields.len()];
        alone[*at] = fields[*at];
        read(&alone).is_err()
    })?;
    let (name, made_of) = FIELDS[fields.len() - 1 - wrong];
    let field = crate::shown(fields[wrong]);
    Some(format!("the {name} `{field}` cannot be read; it is made of {made_of}"))
}

/// What is wrong with an expression of which the parser passes something over.
pub(super) fn passed_over(expression: &str) -> Option<String> {
    empty_place(expression).or_else(|| last_of_week(expression))
}

/// A day of the week that is `L` alone: the parser takes it for no day. Quartz means Saturday, and
/// where weeks begin on Monday it would be Sunday.
fn last_of_week(expression: &str) -> Option<String> {
    let day = expression.split_whitespace().next_back()?;
    let (name, made_of) = FIELDS[0];
    day.split(',').any(|part| part.eq_ignore_ascii_case("L")).then(|| {
        format!(
            "the {name} `{}` names no day with its `L`; it is made of {made_of}, and `FRIL` is the month's last Friday",
            crate::shown(day)
        )
    })
}

/// What is wrong with a list that has an empty place.
fn empty_place(expression: &str) -> Option<String> {
    let mut fields = expression.split_whitespace().rev().zip(FIELDS).collect::<Vec<_>>();
    fields.reverse();
    let is_empty = |field: &str| field.contains(',') && field.split(',').any(str::is_empty);
    fields.into_iter().find(|(field, _)| is_empty(field)).map(|(field, (name, _))| {
        format!("the {name} `{}` has nothing before or after a comma", crate::shown(field))
    })
}

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// What is wrong with a month or day that is not called by three letters: the parser reads the
/// first three as a number and tells of the rest.
fn long_name(fields: &[&str]) -> Option<String> {
    let (&month, &day) = (fields.get(fields.len().checked_sub(2)?)?, fields.last()?);
    let wrong = |field: &str, names: &'static [&'static str]| {
        let words = field.split(|c: char| !c.is_ascii_alphabetic()).map(str::to_ascii_uppercase);
        // `FRIL` is the last Friday.
        let is_wrong = |word: &String| {
            word.len() > 3
                && names.iter().any(|name| word.strip_prefix(name).is_some_and(|rest| rest != "L"))
        };
        words
            .into_iter()
            .find(is_wrong)
            .map(|word| format!("`{word}` is no name; names are {}", names.join(", ")))
    };
    wrong(month, &MONTHS).or_else(|| wrong(day, &DAYS))
}

/// The first instant after the times that clocks leave out, of which `shown` is one.
fn end_of_gap(zone: Tz, shown: NaiveDateTime) -> DateTime<Tz> {
    let before = zone.offset_from_utc_datetime(&(shown - TimeDelta::days(2))).fix();
    let after = zone.from_utc_datetime(&(shown - before));
    change_between(&(after - TimeDelta::days(1)), &after)
}

/// The first instant at which clocks are another time off than at `from`; they are so at `to`.
fn change_between(from: &DateTime<Tz>, to: &DateTime<Tz>) -> DateTime<Tz> {
    let offset = from.offset().fix();
    let (mut before, mut after) = (from.timestamp(), to.timestamp());
    let at = |seconds: i64| {
        DateTime::from_timestamp(seconds, 0).unwrap_or_default().with_timezone(&from.timezone())
    };
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if at(middle).offset().fix() == offset { before = middle } else { after = middle }
    }
    at(after)
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use super::*;

    /// What fires after `from`, as the zone's clocks and UTC show it.
    fn firings(expression: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
        let cron = CronTimes::parse(expression).expect(expression);
        let zone = Tz::from_str(zone).expect(zone);
        let mut now = DateTime::parse_from_rfc3339(from).expect(from).with_timezone(&zone);
        let mut all = Vec::new();
        for _ in 0..count {
            now = cron.next_after(&now).expect("fires");
            all.push(now.format("%d %H:%M%:::z").to_string());
        }
        all
    }

    /// Clocks in Berlin left out 2 to 3 on 2026-03-29.
    #[test]
    fn a_time_that_clocks_leave_out_fires_once_right_after() {
        for (expression, expected) in [
            ("30 2 * * *", ["28 02:30+01", "29 03:00+02", "30 02:30+02"]),
            ("15,45 2 * * *", ["28 02:15+01", "28 02:45+01", "29 03:00+02"]),
            ("0 30 2 * * *", ["28 02:30+01", "29 03:00+02", "30 02:30+02"]),
            ("0 2-3 * * *", ["28 02:00+01", "28 03:00+01", "29 03:00+02"]),
            ("0 2,4 * * *", ["28 02:00+01", "28 04:00+01", "29 03:00+02"]),
            ("20 2-23/12 * * *", ["28 02:20+01", "28 14:20+01", "29 03:00+02"]),
        ] {
            assert_eq!(
                firings(expression, "Europe/Berlin", "2026-03-28T00:10:00+01:00", 3),
                expected,
                "{expression}"
            );
        }
        assert_eq!(
            firings("0 2-3 * * *", "Europe/Berlin", "2026-03-29T01:10:00+01:00", 2),
            ["29 03:00+02", "30 02:00+02"]
        );
        // A change of half an hour.
        assert_eq!(
            firings("10 2 * * *", "Australia/Lord_Howe", "2026-10-03T03:00:00+10:30", 2),
            ["04 02:30+11", "05 02:10+11"]
        );
    }

    /// Clocks in Berlin showed 2 to 3 twice on 2026-10-25.
    #[test]
    fn a_time_that_clocks_show_twice_fires_at_the_first() {
        for (expression, expected) in [
            ("30 2 * * *", ["25 02:30+02", "26 02:30+01", "27 02:30+01"]),
            ("15,45 2 * * *", ["25 02:15+02", "25 02:45+02", "26 02:15+01"]),
            ("0 2-3 * * *", ["25 02:00+02", "25 03:00+01", "26 02:00+01"]),
            ("0 2-23/12 * * *", ["25 02:00+02", "25 14:00+01", "26 02:00+01"]),
        ] {
            assert_eq!(
                firings(expression, "Europe/Berlin", "2026-10-25T00:10:00+02:00", 3),
                expected,
                "{expression}"
            );
        }
        assert_eq!(
            firings("30 2 * * *", "Europe/Berlin", "2026-10-25T02:10:00+01:00", 1),
            ["26 02:30+01"]
        );
    }

    #[test]
    fn wildcards_follow_real_time() {
        assert_eq!(
            firings("0 * * * *", "Europe/Berlin", "2026-03-29T00:30:00+01:00", 3),
            ["29 01:00+01", "29 03:00+02", "29 04:00+02"]
        );
        assert_eq!(
            firings("@hourly", "Europe/Berlin", "2026-10-25T01:30:00+02:00", 3),
            ["25 02:00+02", "25 02:00+01", "25 03:00+01"]
        );
        assert_eq!(
            firings("*/30 2 * * *", "Europe/Berlin", "2026-03-28T01:30:00+01:00", 3),
            ["28 02:00+01", "28 02:30+01", "30 02:00+02"]
        );
        let twice = ["25 02:00+02", "25 02:30+02", "25 02:00+01", "25 02:30+01", "26 02:00+01"];
        assert_eq!(firings("*/30 2 * * *", "Europe/Berlin", "2026-10-25T01:30:00+02:00", 5), twice);
        // The only day of the year, in the midst of the hour that is shown twice.
        assert_eq!(
            firings("*/30 2 25 10 *", "Europe/Berlin", "2026-10-25T02:40:00+02:00", 3),
            ["25 02:00+01", "25 02:30+01", "25 02:00+02"]
        );
    }

    #[test]
    fn days_of_both_fields_fire_where_one_begins_with_a_star() {
        // March 2026 began on a Sunday.
        for (expression, expected) in [
            ("0 9 */2 * 1", ["09", "23", "13"]),
            ("0 9 1 * */2", ["01", "01", "01"]),
            ("0 9 */2 * */2", ["01", "03", "05"]),
            ("0 0 9 */10 * 1-5", ["11", "31", "01"]),
            ("0 9 1,15 * 1", ["01", "02", "09"]),
            ("0 9 1-31/2 * 1", ["01", "02", "03"]),
            ("0 9 * * 1", ["02", "09", "16"]),
            ("0 9 15 * *", ["15", "15", "15"]),
        ] {
            let days: Vec<String> = firings(expression, "UTC", "2026-02-28T10:00:00Z", 3)
                .into_iter()
                .map(|at| at[..2].to_owned())
                .collect();
            assert_eq!(days, expected, "{expression}");
        }
    }

    #[test]
    fn words_stand_for_their_fields() {
        for (word, expected) in [
            ("@midnight", "02 00:00+00"),
            ("@daily", "02 00:00+00"),
            ("@hourly", "01 11:00+00"),
            ("@weekly", "08 00:00+00"),
            ("@monthly", "01 00:00+00"),
            ("@annually", "01 00:00+00"),
            (" @Yearly ", "01 00:00+00"),
        ] {
            assert_eq!(firings(word, "UTC", "2026-03-01T10:20:00Z", 1), [expected], "{word}");
        }
        let long = format!("{} * * * *", ["*/5"; 250].join(","));
        assert!(CronTimes::parse(&long).is_err_and(|why| why.contains("1000 characters")));
        let all = |of: std::ops::Range<u8>| of.map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        let listed = [all(0..60), all(0..60), all(0..24), all(1..32), all(1..13), all(0..7)];
        assert!(CronTimes::parse(&listed.join(" ")).is_ok());
        for last in ["0 9 * * L", "0 0 9 * * MON,l"] {
            let why = passed_over(last).expect(last);
            assert!(why.contains("`FRIL` is the month's last Friday"), "{why}");
        }
        assert_eq!(passed_over("0 9 L * FRIL"), None);
        assert_eq!(firings("0 9 * * FRIL", "UTC", "2026-03-01T10:20:00Z", 1), ["27 09:00+00"]);
        assert!(CronTimes::parse("@reboot").is_err_and(|why| why.contains("@midnight")));
    }
}
