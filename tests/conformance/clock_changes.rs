//! Ticks of timers where clocks change (spec 2.7.2), on a server whose clock stands still until the
//! test moves it.

use millrace_tests::Server;
use serde_json::json;

/// Epoch milliseconds of a time of UTC in 2026, as `MM-DD hh:mm`.
fn utc(text: &str) -> i64 {
    const JANUARY_2026: i64 = 1_767_225_600_000;
    const DAYS: [i64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let part = |from: usize| text[from..from + 2].parse::<i64>().expect("a number");
    let (month, day, hour, minute) = (part(0), part(3), part(6), part(9));
    let days: i64 = DAYS.iter().take(usize::try_from(month - 1).expect("a month")).sum();
    JANUARY_2026 + ((((days + day - 1) * 24) + hour) * 60 + minute) * 60_000
}

/// Zone, now, expression, and what fires next.
type Case = (&'static str, &'static str, &'static str, &'static [&'static str]);

/// Berlin: 02:00 to 03:00 is left out at 03-29 01:00 UTC, and shown twice at 10-25 01:00 UTC.
const BERLIN: &[Case] = &[
    // A time that is left out fires once, right after.
    ("Europe/Berlin", "03-27 23:10", "30 2 * * *", &["03-28 01:30", "03-29 01:00", "03-30 00:30"]),
    (
        "Europe/Berlin",
        "03-27 23:10",
        "15,45 2 * * *",
        &["03-28 01:15", "03-28 01:45", "03-29 01:00", "03-30 00:15"],
    ),
    ("Europe/Berlin", "03-28 23:10", "0 2-3 * * *", &["03-29 01:00", "03-30 00:00", "03-30 01:00"]),
    ("Europe/Berlin", "03-29 00:59", "30 2 * * *", &["03-29 01:00", "03-30 00:30"]),
    ("Europe/Berlin", "03-29 01:00", "30 2 * * *", &["03-30 00:30", "03-31 00:30"]),
    // A time that is shown twice fires at the first.
    ("Europe/Berlin", "10-24 22:10", "30 2 * * *", &["10-25 00:30", "10-26 01:30", "10-27 01:30"]),
    (
        "Europe/Berlin",
        "10-24 22:10",
        "15,45 2 * * *",
        &["10-25 00:15", "10-25 00:45", "10-26 01:15"],
    ),
    ("Europe/Berlin", "10-25 01:10", "30 2 * * *", &["10-26 01:30", "10-27 01:30"]),
    // Wildcards follow real time: nothing fires in the gap, and each half hour of the hour shown
    // twice does.
    ("Europe/Berlin", "03-28 23:30", "0 * * * *", &["03-29 00:00", "03-29 01:00", "03-29 02:00"]),
    (
        "Europe/Berlin",
        "03-28 00:30",
        "*/30 2 * * *",
        &["03-28 01:00", "03-28 01:30", "03-30 00:00", "03-30 00:30"],
    ),
    (
        "Europe/Berlin",
        "10-24 23:30",
        "*/30 2 * * *",
        &["10-25 00:00", "10-25 00:30", "10-25 01:00", "10-25 01:30", "10-26 01:00"],
    ),
    ("Europe/Berlin", "10-24 23:30", "@hourly", &["10-25 00:00", "10-25 01:00", "10-25 02:00"]),
    // Midnight is days of 23 and of 25 hours apart.
    ("Europe/Berlin", "03-28 12:00", "@midnight", &["03-28 23:00", "03-29 22:00", "03-30 22:00"]),
    ("Europe/Berlin", "10-24 12:00", "@midnight", &["10-24 22:00", "10-25 23:00", "10-26 23:00"]),
];

/// Lord Howe's clocks change by half an hour: 02:00 to 02:30 is left out at 10-03 15:30 UTC, 01:30
/// to 02:00 shown twice at 04-04 15:00 UTC. In Beirut midnight itself is left out at 03-28 22:00
/// UTC.
const ELSEWHERE: &[Case] = &[
    ("Australia/Lord_Howe", "10-02 16:30", "10 2 * * *", &["10-03 15:30", "10-04 15:10"]),
    (
        "Australia/Lord_Howe",
        "10-03 14:50",
        "*/15 * * * *",
        &["10-03 15:00", "10-03 15:15", "10-03 15:30", "10-03 15:45"],
    ),
    (
        "Australia/Lord_Howe",
        "04-04 03:00",
        "45 1 * * *",
        &["04-04 14:45", "04-05 15:15", "04-06 15:15"],
    ),
    (
        "Australia/Lord_Howe",
        "04-04 14:20",
        "*/30 * * * *",
        &["04-04 14:30", "04-04 15:00", "04-04 15:30", "04-04 16:00"],
    ),
    ("Asia/Beirut", "03-28 12:00", "@midnight", &["03-28 22:00", "03-29 21:00", "03-30 21:00"]),
    ("Asia/Beirut", "10-23 22:00", "0 23 * * *", &["10-24 20:00", "10-25 21:00"]),
    ("UTC", "03-29 00:30", "30 2 * * *", &["03-29 02:30", "03-30 02:30"]),
];

#[tokio::test]
async fn s2_7_2_schedules_are_told_where_clocks_leave_times_out_and_show_them_twice() {
    let server = Server::start_at(utc("01-01 12:00"), &[]).await;
    for (zone, now, expression, expected) in BERLIN.iter().chain(ELSEWHERE) {
        server.set_clock(utc(now));
        let query = reqwest::Url::parse_with_params(
            "http://x/schedules/next",
            [("cron", *expression), ("timezone", *zone)],
        )
        .expect("an address");
        let told =
            server.get(&format!("/schedules/next?{}", query.query().expect("a query"))).await;
        let next = told.data()["next_ms"].clone();
        let next = next.as_array().expect("times");
        assert_eq!(next.len(), 5);
        let expected: Vec<_> = expected.iter().map(|at| json!(utc(at))).collect();
        assert_eq!(next[..expected.len()], expected, "{zone}, {now}: `{expression}`");
    }
}

#[tokio::test]
async fn s2_7_2_the_next_times_of_an_interval_go_on_from_the_last_tick_of_its_timer() {
    let server = Server::start_at(utc("01-01 12:00"), &[]).await;
    let code =
        "export default { name: 't', version: '1', props: { timer: { type: '$.interface.timer',
      default: { intervalSeconds: 3600 } } }, run() {} };";
    let source = server.source(code, json!({})).await;
    let id = millrace_tests::id(&source).to_owned();
    server.set_clock(utc("01-01 12:20"));
    let first = async |query: &str| {
        let path = format!("/schedules/next?interval_seconds={query}");
        let times = server.get(&path).await.data()["next_ms"].clone();
        let times: Vec<i64> = serde_json::from_value(times).expect("times");
        assert!(times.len() == 5 && times.is_sorted(), "{times:?}");
        times[0]
    };
    let of_source = format!("&owner_id={id}");
    assert_eq!(first(&format!("3600{of_source}")).await, utc("01-01 13:00"));
    // Another interval, and one that is nobody's, begin now.
    assert_eq!(first("3600").await, utc("01-01 13:20"));
    assert_eq!(first(&format!("7200{of_source}")).await, utc("01-01 14:20"));
    server.put(&format!("/sources/{id}"), &json!({ "active": false })).await.data();
    assert_eq!(first(&format!("3600{of_source}")).await, utc("01-01 13:20"));
    let unknown = server.get("/schedules/next?interval_seconds=60&owner_id=dc_none").await;
    assert_eq!(unknown.refusal(), (404, "not_found"));
}

/// What fires is what was told.
#[tokio::test]
async fn s2_7_2_a_source_fires_at_a_time_that_clocks_leave_out_once_and_right_after() {
    let server = Server::start_at(utc("03-29 00:59"), &[]).await;
    let code = "export default { name: 't', version: '1', props: { timer: { type: '$.interface.timer',
      default: { cron: '30 2 * * *', timezone: 'Europe/Berlin' } } }, run(e) { this.$emit({ at: e.timestamp }); } };";
    let source = server.source(code, json!({})).await;
    let emitted = format!("/sources/{}/event_summaries", millrace_tests::id(&source));
    server.set_clock(utc("03-29 01:00"));
    server.until("it fires", &emitted, |l| l["page_info"]["total_count"] == 1).await;
    server.set_clock(utc("03-30 00:29"));
    // A run that is asked for comes behind all that was due before.
    server.run_now(&source, json!({ "timestamp": 0 })).await;
    let list = server.until("both", &emitted, |l| l["page_info"]["total_count"] != 1).await;
    assert_eq!(list["page_info"]["total_count"], 2, "{list}");
    server.set_clock(utc("03-30 00:30"));
    server.until("it fires again", &emitted, |l| l["page_info"]["total_count"] == 3).await;
    let events = server.emitted(&source).await;
    let at = |n: usize| events[n]["at"].as_i64().expect("a time") * 1000;
    assert_eq!((at(0), at(2)), (utc("03-29 01:00"), utc("03-30 00:30")), "{events:?}");
}
