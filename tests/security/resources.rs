//! Memory, files, output, disk: what is used up is one's own.

use crate::support::Field;

#[tokio::test]
async fn memory_is_bounded_in_the_heap_and_beside_it() {
    let field = Field::start().await;
    let error = field.fails("const all = []; for (;;) all.push(new Array(100000).fill(1.5));").await;
    assert_eq!(error["code"], "OutOfMemory", "{error}");
    field.refused("const all = []; for (;;) all.push(Buffer.alloc(16 << 20, 1));", &["RangeError"]).await;
}

#[tokio::test]
async fn descriptors_are_bounded() {
    let field = Field::start().await;
    field.refused("const all = []; for (;;) all.push(fs.openSync('/dev/null'));", &["EMFILE"]).await;
}

#[tokio::test]
async fn one_file_cannot_fill_the_disk() {
    let field = Field::start().await;
    // Sparse: the limit is met without two gigabytes being written.
    field.refused("const f = fs.openSync('/tmp/big', 'w'); fs.writeSync(f, 'x', 2 ** 31 + 10); return 'written';", &["EFBIG"]).await;
}

#[tokio::test]
async fn results_and_output_are_bounded() {
    let field = Field::start().await;
    let error = field.fails("for (;;) { console.log('x'.repeat(60000)); await new Promise(setImmediate); }").await;
    assert_eq!(error["code"], "PayloadTooLarge", "{error}");
    assert!(error["message"].as_str().is_some_and(|m| m.contains("bytes of output")), "{error}");
}

#[tokio::test]
async fn output_faster_than_it_can_be_sent_costs_only_the_one_who_writes_it() {
    let field = Field::start().await;
    let error = field.fails("for (;;) console.log('x'.repeat(60000));").await;
    // It is kept in the host until it is sent: whichever limit is met first.
    let message = error["message"].as_str().unwrap_or("");
    assert!(message.contains("memory") || message.contains("bytes of output"), "{error}");
}

#[tokio::test]
async fn a_busy_loop_leaves_others_alone_until_its_time_is_over() {
    let field = Field::start().await;
    let source = field.deploy("while (true) {}").await;
    let sent = tokio::time::timeout(std::time::Duration::from_secs(2), field.send(&source)).await;
    assert!(sent.is_err(), "a loop without an end answered");
    for _ in 0..5 {
        field.healthy().await;
    }
}
