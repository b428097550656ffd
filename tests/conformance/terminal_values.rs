//! Values of props that are typed on a terminal.

use millrace_tests::cli::Shell;
use millrace_tests::terminal::{DOWN, ENTER, Terminal};
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

/// Pages that a method counts have no context; the list ends with the page that has nothing new.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_choice_has_the_options_of_further_pages_and_sends_its_label() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    let code = "const page_of = (name, page) => [1, 2].map((n) => ({ label: `${name} ${page}.${n}`, value: `${name}${page}${n}` }));
        export default { name: 'Pages', version: '1', props: {
          few: { type: 'string', label: 'Of few', withLabel: true, async options({ page }) { return page < 2 ? page_of('few', page) : []; } },
          many: { type: 'string', label: 'Of many', async options({ page }) { return page_of('many', page); } } },
        run() { return [this.few, this.many]; } };";
    shell.write(&[("pages.mjs", code)]);
    let mut terminal = Terminal::start(shell.command(&["deploy", "pages.mjs"]));
    terminal.until("Of few");
    terminal.until("few 1.2");
    terminal.types(&format!("{DOWN}{DOWN}{DOWN}{ENTER}"));
    terminal.until("these are the first 10 options; there may be more");
    terminal.until("(another value)");
    let to_last = DOWN.repeat(10);
    terminal.types(&format!("{to_last}{ENTER}"));
    terminal.types(&format!("typed{ENTER}"));
    terminal.until("name_slug: pages");
    assert_eq!(terminal.ends().0, 0);
    let source = server.get("/users/me/sources").await.json["data"][0].clone();
    let returned = server.run_now(&source, json!({})).await["return_value"].clone();
    assert_eq!(returned, json!([{ "label": "few 1.2", "value": "few12" }, "typed"]));
}
