//! Values of props that are typed on a terminal.

use millrace_tests::cli::Shell;
use millrace_tests::terminal::{ENTER, Terminal};
use millrace_tests::{Server, id};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_schedule_is_typed_as_seconds_or_a_cron_expression() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let code = "export default { name: 'Ticks', version: '1', props: { each: { type: '$.interface.timer', label: 'How often' }, daily: { type: '$.interface.timer', label: 'When' }, never: { type: '$.interface.timer', optional: true } }, run() {} };";
    shell.write(&[("ticks.mjs", code)]);
    let mut terminal = Terminal::start(shell.command(&["deploy", "ticks.mjs"]));
    terminal.until("How often [seconds");
    terminal.types(&format!("soon{ENTER}"));
    terminal.until("the timer `each` cannot be set");
    terminal.types(&format!("3600{ENTER}"));
    terminal.until("When");
    terminal.types(&format!("0 9 * * 1-5{ENTER}"));
    terminal.until("name_slug: ticks");
    assert_eq!(terminal.ends().0, 0);
    let listed = server.get("/users/me/sources").await.json["data"][0].clone();
    let source = server.get(&format!("/sources/{}", id(&listed))).await.data();
    let props = &source["configured_props"];
    assert_eq!(
        (&props["each"]["interval_seconds"], &props["daily"]["cron"], &props["never"]),
        (&json!(3600), &json!("0 9 * * 1-5"), &Value::Null)
    );
    assert_eq!(source["interfaces"].as_array().map(Vec::len), Some(2), "{source}");
    server.delete(&format!("/sources/{}", id(&source))).await.data();
}
