//! Forms as libraries of all kinds write them.

use millrace_tests::{Server, answer};
use reqwest::Method;
use serde_json::json;

use super::uploads::{seen, send, workflow};

#[tokio::test]
async fn r3_forms_arrive_as_libraries_write_them() {
    let server = Server::shared().await;
    let (url, runs) = workflow(&server).await;
    // Neither quotes around a boundary that needs them, a folded head, parts encoded for mail, and
    // names in the charset of the form, in any order.
    let boundary = "===1700/3,a:b===";
    let mut body = Vec::new();
    for (head, content) in [
        (b"Content-Disposition: form-data;\r\n name=\"note\"".as_slice(), b"plain".as_slice()),
        (b"content-disposition: form-data; NAME=mail\r\nContent-Transfer-Encoding: base64", b"aGVs\r\nbG8="),
        (b"Content-Disposition: form-data; name=\"\x83e\x83X\x83g; filename=z\"", b"\x83e"),
        (
            b"Content-Type: text/csv\r\nContent-Disposition: form-data; filename=\"\x83e.csv\"; name=\"doc\"\r\nContent-Transfer-Encoding: quoted-printable",
            b"a=3Bb",
        ),
    ] {
        let parts: [&[u8]; 6] =
            [b"--", boundary.as_bytes(), b"\r\n", head, b"\r\n\r\n", content];
        body.extend(parts.concat());
        body.extend_from_slice(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").bytes());
    let kind = format!("multipart/form-data; charset=Shift_JIS; boundary={boundary}");
    let sent = server.raw(Method::POST, &url).header("content-type", kind).body(body);
    assert_eq!(answer(sent).await.status, 200);
    let seen = seen(&server, &runs, 1).await;
    let body = &seen["body"];
    assert_eq!((&body["note"], &body["テスト; filename=z"]), (&json!("plain"), &json!("テ")));
    assert_eq!(body["doc"]["filename"], "テ.csv");
    assert_eq!(seen["got"], json!([200, "text/csv", "a;b".len()]));
    assert_eq!(body["mail"], "hello");
    // A body without a byte is absent, whatever it calls itself.
    assert_eq!(send(&server, &url, Vec::new()).await, 200);
}
