//! Timers whose stored schedule names no time: damaged by hand, or of a time zone that an upgrade
//! no longer knows. Their owners are shown why, and the timers of others fire.

use millrace_tests::cluster::cluster;
use millrace_tests::{Server, id};
use serde_json::{Value, json};

const TICKS: &str = "export default { name: 'ticks', version: '1', props: { timer: { type: '$.interface.timer' } }, run() { this.$emit({}); } };";
/// As many as the server looks at in one round, and more.
const MANY: usize = 120;

async fn ticking(server: &Server, timer: Value) -> Value {
    server.source(TICKS, json!({ "timer": timer })).await
}

/// Schedules that are read and name no time, and what is said of each.
fn spoiled() -> [(Value, &'static str); 3] {
    let cron =
        |cron: &str, timezone: &str| json!({ "cron": { "cron": cron, "timezone": timezone } });
    [
        (cron("0 0 30 2 *", "UTC"), "the cron expression `0 0 30 2 *` never fires"),
        (cron("0 9 * * *", "Mars/Base"), "`Mars/Base` is not a time zone"),
        (cron("every day", "UTC"), "`every day` is not a cron expression"),
    ]
}

#[tokio::test]
async fn a_timer_that_cannot_fire_tells_its_owner_and_holds_up_no_other() {
    let Some(cluster) = cluster() else { return };
    let database = cluster.database().await;
    let mut server = Server::start_with(&["--database-url", &database.url()]).await;
    let mut bad = Vec::new();
    for _ in 0..3 {
        bad.push(ticking(&server, json!({ "intervalSeconds": 3600 })).await);
    }
    let step = json!([{ "namespace": "s", "code": "export default { run() {} };" }]);
    let timed = json!({ "triggers": [{ "type": "timer", "interval_seconds": 3600 }], "steps": step, "settings": { "name": "timed", "error_notification": false } });
    let timed = server.post("/workflows", &timed).await.data();
    let other = server.another_organization("other").await;
    let well = other.source(TICKS, json!({ "timer": { "intervalSeconds": 1 } })).await;
    assert_eq!(server.terminate(), Some(0));
    let sql = database.client().await;
    let spoil = |owner: &str, schedule: &Value| {
        format!(
            "UPDATE timers SET next_at = 1, schedule = '{schedule}' WHERE owner_id = '{owner}';"
        )
    };
    let mut damage: String = bad
        .iter()
        .zip(spoiled())
        .map(|(source, (schedule, _))| spoil(id(source), &schedule))
        .collect();
    damage += &spoil(id(&timed), &spoiled()[1].0);
    // Others of the same owner, and of an owner that is gone.
    for (owner, name) in [(id(&bad[1]), "b"), ("dc_gone", "g")] {
        damage += &format!(
            "INSERT INTO timers SELECT 'ti_copy_{name}' || n, org_id, '{owner}', n, schedule, next_at, active FROM timers, generate_series(1, {MANY}) n WHERE owner_id = '{}' AND id NOT LIKE 'ti\\_copy%';",
            id(&bad[1])
        );
    }
    sql.batch_execute(&damage).await.expect("damages");
    // The clock is looked at for the ticks that lie ahead as well.
    sql.batch_execute("UPDATE timers SET next_at = 9000000000000 WHERE id = 'ti_copy_b1'")
        .await
        .expect("damages");
    server.launch().await;
    other
        .until("the well one ticks", &format!("/sources/{}/runs", id(&well)), |l| {
            l["page_info"]["total_count"].as_u64() >= Some(2)
        })
        .await;
    for (owner, why) in bad
        .iter()
        .map(|s| format!("/sources/{}", id(s)))
        .zip(spoiled().map(|(_, why)| why))
        .chain([(format!("/workflows/{}", id(&timed)), spoiled()[1].1)])
    {
        let runs = server
            .until("a failed run", &format!("{owner}/runs?status=failed"), |l| {
                l["page_info"]["count"] != 0
            })
            .await;
        let message = runs["data"][0]["error"]["message"].as_str().expect("a message");
        assert!(message.contains(why) && message.contains("save another schedule"), "{message}");
    }
    // Each is tried again later, none is due any more.
    let due = "SELECT count(*) FROM timers WHERE active AND next_at <= 1";
    while sql.query_one(due, &[]).await.expect("counts").get::<_, i64>(0) > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let log = server.log();
    assert_eq!(log.matches("a timer cannot fire").count(), 4 + MANY - 1, "one line each");
    assert!(!log.contains("could not fire timers") && !log.contains("could not follow"), "{log}");
    // A schedule that fires takes the place of the other.
    let mended = json!({ "configured_props": { "timer": { "intervalSeconds": 1 } } });
    server.put(&format!("/sources/{}", id(&bad[2])), &mended).await.data();
    server
        .until("it ticks", &format!("/sources/{}/runs?status=succeeded", id(&bad[2])), |l| {
            l["page_info"]["count"] != 0
        })
        .await;
}

#[tokio::test]
async fn no_schedule_that_never_fires_is_taken() {
    let server = Server::shared().await;
    for cron in ["0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6,9,11 *", "0 0 0 30 2 *"] {
        let says = format!("the cron expression `{cron}` never fires");
        let source =
            json!({ "component_code": TICKS, "configured_props": { "timer": { "cron": cron } } });
        let step = json!([{ "namespace": "s", "code": "export default { run() {} };" }]);
        let workflow = json!({ "triggers": [{ "type": "timer", "cron": cron }], "steps": step });
        for (path, body) in [("/sources", source), ("/workflows", workflow)] {
            let refused = server.post(path, &body).await;
            assert_eq!(refused.status, 422, "{path}: {}", refused.text);
            assert!(refused.text.contains(&says), "{path}: {}", refused.text);
        }
    }
}
