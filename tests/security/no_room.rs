//! Machine without memory for another process: idle processes are ended for calls that wait.

use futures::future::join_all;
use millrace_tests::{answer, endpoint};
use reqwest::Method;
use serde_json::json;

use crate::support::Field;

/// Components, each with a process of its own.
const SOURCES: usize = 24;
/// Descriptors of the server: not enough for so many processes.
const DESCRIPTORS: u64 = 160;

/// Asks all of them at once.
async fn all_serve(field: &Field, urls: &[String]) {
    let answers = join_all(
        urls.iter().map(|url| answer(field.server.raw(Method::POST, url).json(&json!({})))),
    )
    .await;
    let others: Vec<_> = answers
        .into_iter()
        .filter(|answer| (answer.status, answer.text.as_str()) != (200, "open: served"))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

/// Where nothing but idle processes holds the descriptors that another one needs, these would end
/// by their age only, minutes after the client went away.
#[tokio::test]
async fn idle_processes_make_room_for_others_where_descriptors_are_used_up() {
    let mut field = Field::at_rest(&[]);
    field.server.set_descriptors_max(DESCRIPTORS);
    field.launch().await;
    let mut urls = Vec::new();
    for _ in 0..SOURCES {
        urls.push(endpoint(&field.deploy("return 'served';").await));
    }
    for _ in 0..3 {
        for few in urls.chunks(SOURCES / 3) {
            all_serve(&field, few).await;
        }
    }
    assert!(field.server.log().contains("no room for another process"), "there was room for all");
    field.healthy().await;
}
