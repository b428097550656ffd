//! Slips at the command line that change nothing and say what to do.

use millrace_tests::Server;
use millrace_tests::cli::Shell;
use serde_json::json;

#[tokio::test]
async fn an_empty_path_deletes_no_file_store() {
    let server = Server::shared().await;
    let shell = Shell::new(&server);
    shell.write(&[("june.csv", "a,b")]);
    let file = shell.path("june.csv");
    shell.run(&["files", "put", "reports", &file.to_string_lossy()]).ok();
    shell.run(&["files", "delete", "reports", ""]).fails(2);
    let refused = server.delete("/file_stores/reports/files?path=").await;
    assert_eq!((refused.status, &refused.json["details"]["field"]), (422, &json!("path")));
    assert!(shell.run(&["files", "list", "reports"]).ok().contains("june.csv"));
    shell.run(&["files", "delete", "reports"]).ok();
    assert_eq!(server.get("/file_stores").await.data(), json!([]));
}
