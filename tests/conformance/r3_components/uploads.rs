//! Files in requests to endpoints (reference 3): kept for half an hour at an address that only the
//! code knows.

use millrace_tests::{Client, Server, answer, endpoint};
use reqwest::Method;
use reqwest::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use serde_json::{Value, json};

const BOUNDARY: &str = "aBoundary";

/// A form of text fields and files `(name, file name, media type, bytes)`.
fn form(fields: &[(&str, &str)], files: &[(&str, &str, &str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, text) in fields {
        body.extend(
            format!(
                "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n"
            )
            .bytes(),
        );
    }
    for (name, file, kind, bytes) in files {
        let head = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"; filename=\"{file}\"\r\ncontent-type: {kind}\r\n\r\n"
        );
        body.extend([head.as_bytes(), bytes, b"\r\n"].concat());
    }
    body.extend(format!("--{BOUNDARY}--\r\n").bytes());
    body
}

pub(super) async fn send(server: &Client, url: &str, body: Vec<u8>) -> u16 {
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    answer(server.raw(Method::POST, url).header("content-type", kind).body(body)).await.status
}

pub(super) async fn workflow(server: &Client) -> (String, String) {
    // The code fetches what it was sent.
    let step = "export default defineComponent({ async run({ steps }) { const { body } = steps.trigger.event; const url = body?.doc?.url ?? body?.raw_body_url;
      const fetched = url && await fetch(url); return { body, got: fetched ? [fetched.status, fetched.headers.get('content-type'), (await fetched.arrayBuffer()).byteLength] : null }; } });";
    let made = server.workflow("files", json!([{ "type": "http" }]), &[("look", step)]).await;
    (
        endpoint(&made),
        format!("/workflows/{}/runs?status=succeeded", made["id"].as_str().expect("an id")),
    )
}

pub(super) async fn seen(server: &Client, runs: &str, count: usize) -> Value {
    let runs = server
        .until("the run", runs, |list| list["data"].as_array().map(Vec::len) == Some(count))
        .await;
    runs["data"][0]["steps"][0]["exports"]["$return_value"].clone()
}

#[tokio::test]
async fn r3_files_of_a_form_are_addresses_that_the_code_fetches() {
    let server = Server::shared().await;
    let (url, runs) = workflow(&server).await;
    let png: Vec<u8> = (0..=255).collect();
    let body = form(
        &[("title", "Grüße"), ("tag", "a"), ("tag", "b")],
        &[("doc", "a \"b\".png", "image/png", &png)],
    );
    assert_eq!(send(&server, &url, body).await, 200);
    let seen = seen(&server, &runs, 1).await;
    assert_eq!(
        (&seen["body"]["title"], &seen["body"]["tag"]),
        (&json!("Grüße"), &json!(["a", "b"]))
    );
    assert_eq!(seen["body"]["doc"]["mimetype"], "image/png");
    assert_eq!(seen["got"], json!([200, "image/png", 256]));
    // A browser keeps it as a file: it was sent by a stranger.
    let address = seen["body"]["doc"]["url"].as_str().expect("an address").to_owned();
    let response = server.raw(Method::GET, &address).send().await.expect("an answer");
    let header = |name| {
        response
            .headers()
            .get(name)
            .map(|v| v.to_str().expect("text").to_owned())
            .unwrap_or_default()
    };
    assert_eq!(header(CONTENT_TYPE), "image/png");
    assert!(
        header(CONTENT_DISPOSITION).starts_with("attachment")
            && header(CONTENT_SECURITY_POLICY).starts_with("sandbox")
    );
    assert_eq!(response.bytes().await.expect("a body"), png);
    // Nobody makes such an address up.
    let (start, end) = address.split_at(address.len() - 2);
    let flipped = format!("{}{}", if end.starts_with('A') { 'B' } else { 'A' }, &end[1..]);
    for guessed in
        [format!("{start}{flipped}"), start.to_owned(), format!("{start}--"), format!("{address}x")]
    {
        assert_eq!(
            answer(server.raw(Method::GET, &guessed)).await.refusal(),
            (404, "not_found"),
            "{guessed}"
        );
    }
}

#[tokio::test]
async fn r3_a_source_gets_a_small_form_also_as_it_came() {
    let server = Server::shared().await;
    let code = "export default { name: 's', version: '1', props: { http: { type: '$.interface.http', customResponse: true } }, run({ body, bodyRaw }) { this.http.respond({ status: 200, body: { file: body.f.filename, raw: bodyRaw.length } }); } };";
    let source = server.source(code, json!({})).await;
    let body = form(&[], &[("f", "x.txt", "text/plain", b"hello")]);
    let length = body.len();
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let told = answer(
        server.raw(Method::POST, &endpoint(&source)).header("content-type", kind).body(body),
    )
    .await;
    assert_eq!(told.json, json!({ "file": "x.txt", "raw": length }));
}

#[tokio::test]
async fn r3_large_files_and_bodies_go_beside_the_event() {
    let server = Server::shared().await;
    let (url, runs) = workflow(&server).await;
    // Larger than a body may be, and than a part of a file is.
    let large = vec![7; 3 << 20];
    assert_eq!(
        send(
            &server,
            &url,
            form(&[("n", "1")], &[("doc", "x.bin", "application/x-large", &large)])
        )
        .await,
        200
    );
    assert_eq!(seen(&server, &runs, 1).await["got"], json!([200, "application/x-large", 3 << 20]));
    for asked in [format!("{url}?pipedream_upload_body=1"), format!("{url}?x-pd-upload-body=1")] {
        assert_eq!(
            answer(
                server
                    .raw(Method::PUT, &asked)
                    .header("content-type", "video/mp4")
                    .body(large.clone())
            )
            .await
            .status,
            200
        );
    }
    assert_eq!(
        answer(server.raw(Method::POST, &url).header("x-pd-upload-body", "1").body(large.clone()))
            .await
            .status,
        200
    );
    let seen = seen(&server, &runs, 4).await;
    assert_eq!(seen["got"], json!([200, "application/octet-stream", 3 << 20]));
    assert_eq!(
        seen["body"].as_object().expect("an object").keys().collect::<Vec<_>>(),
        ["raw_body_url"]
    );
}

#[tokio::test]
async fn r3_what_is_no_form_or_too_large_is_refused_and_starts_nothing() {
    let server = Server::start_with(&["--upload-max-bytes", "100000"]).await;
    let (url, runs) = workflow(&server).await;
    assert_eq!(send(&server, &url, form(&[], &[("doc", "x", "a/b", &[0; 100_001])])).await, 413);
    assert_eq!(send(&server, &url, form(&[("text", &"x".repeat(600_000))], &[])).await, 413);
    assert_eq!(send(&server, &url, b"no form".to_vec()).await, 422);
    assert_eq!(
        send(&server, &url, form(&[], &[("doc", "x", "a/b", b"1")])[..60].to_vec()).await,
        422
    );
    assert_eq!(send(&server, "/e/ennothing", form(&[], &[("doc", "x", "a/b", b"1")])).await, 404);
    let too_large = answer(
        server.raw(Method::POST, &url).header("x-pd-upload-body", "1").body(vec![0; 100_001]),
    )
    .await;
    assert_eq!(too_large.refusal(), (413, "too_large"));
    assert!(too_large.text.contains("--upload-max-bytes"));
    // Without a boundary it is text.
    assert_eq!(
        answer(
            server
                .raw(Method::POST, &url)
                .header("content-type", "multipart/form-data")
                .body("a=b")
        )
        .await
        .status,
        200
    );
    assert_eq!(seen(&server, &runs, 1).await["body"], "a=b");
}

#[tokio::test]
async fn r3_heads_names_and_types_of_parts_have_bounds() {
    let server = Server::shared().await;
    let (url, runs) = workflow(&server).await;
    let refused = async |what: &str, body: Vec<u8>| {
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        let answered =
            answer(server.raw(Method::POST, &url).header("content-type", kind).body(body)).await;
        assert_eq!(answered.refusal(), (413, "too_large"), "{what}");
        answered.text
    };
    let long = "n".repeat(1 << 20);
    let head = |rest: &str| {
        [
            format!("--{BOUNDARY}\r\ncontent-disposition: form-data; {rest}").into_bytes(),
            vec![b' '; 1 << 20],
        ]
        .concat()
    };
    for (what, body) in [
        ("a head without an end", head("name=\"a\"")),
        ("a name", form(&[(&long, "a")], &[])),
        ("the name of a file", form(&[], &[("doc", &long, "a/b", b"1")])),
        ("a type", form(&[], &[("doc", "x", &format!("a/{long}"), b"1")])),
        (
            "what stands before the first part",
            [vec![b'x'; 1 << 20], form(&[("a", "1")], &[])].concat(),
        ),
    ] {
        assert!(refused(what, body).await.contains("head of a part"), "{what}");
    }
    // Files may have as much together; a text reaches the event and may not, alone or as many.
    let text = "x".repeat(90 << 20);
    assert!(
        refused("a text", form(&[("text", &text)], &[])).await.contains("--http-body-max-bytes")
    );
    let texts: Vec<_> = (0..900).map(|_| ("text", &text[..100 << 10])).collect();
    assert!(refused("texts", form(&texts, &[])).await.contains("--http-body-max-bytes"));
    // Each is short enough, all are not: they reach the event like the values of fields.
    let name = "n".repeat(10_000);
    let files: Vec<_> = (0..60).map(|_| ("doc", name.as_str(), "a/b", b"1".as_slice())).collect();
    assert!(refused("names", form(&[], &files)).await.contains("--http-body-max-bytes"));
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let answered = answer(
        server.raw(Method::POST, &url).header("content-type", kind).body(form(&[], &files[..2])),
    )
    .await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    assert_eq!(seen(&server, &runs, 1).await["body"]["doc"][1]["filename"], name);
}

#[tokio::test]
async fn r3_the_name_of_a_file_may_be_extended() {
    let server = Server::shared().await;
    let (url, runs) = workflow(&server).await;
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    for (at, (disposition, expected)) in [
        ("name=\"f\"; filename*=UTF-8''%e2%82%ac%20a.txt", json!("€ a.txt")),
        ("name=f; filename=\"plain.txt\"; FILENAME* = iso-8859-1'en'%e9.txt", json!("é.txt")),
        ("filename*=utf-8''a%3Bb.txt; name=\"f\"", json!("a;b.txt")),
        ("name=\"f\"; filename=\"a; filename*=UTF-8''b\"", json!("a; filename*=UTF-8''b")),
        ("name=\"f\"; filename=\"a.txt\"; filename*=no-such-charset''b", json!("a.txt")),
        ("name=\"f\"; filename=\"a.txt\"; filename*=b", json!("a.txt")),
        // No name at all: a field.
        ("name=\"f\"; filename*=b", json!(null)),
    ]
    .into_iter()
    .enumerate()
    {
        let body = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; {disposition}\r\n\r\nhi\r\n--{BOUNDARY}--\r\n"
        );
        let answered =
            answer(server.raw(Method::POST, &url).header("content-type", &kind).body(body)).await;
        assert_eq!(answered.status, 200, "{disposition}: {}", answered.text);
        assert_eq!(
            seen(&server, &runs, at + 1).await["body"]["f"]["filename"],
            expected,
            "{disposition}"
        );
    }
}

#[tokio::test]
async fn r3_a_file_is_there_for_thirty_minutes_and_then_gone_for_good() {
    let start = 1_767_225_600_000;
    let server = Server::start_at(start, &[]).await;
    let (url, runs) = workflow(&server).await;
    assert_eq!(
        send(&server, &url, form(&[], &[("doc", "a.txt", "text/plain", b"hello")])).await,
        200
    );
    let address = seen(&server, &runs, 1).await["body"]["doc"]["url"]
        .as_str()
        .expect("an address")
        .to_owned();
    let fetch = async || answer(server.raw(Method::GET, &address)).await;
    server.set_clock(start + 30 * 60_000 - 1);
    assert_eq!((fetch().await.status, fetch().await.text), (200, "hello".to_owned()));
    server.set_clock(start + 30 * 60_000);
    let gone = fetch().await;
    assert_eq!(
        (gone.refusal(), gone.text.contains("30 minutes")),
        ((410, "gone"), true),
        "{}",
        gone.text
    );
    // Where the clock goes back, what was cleared away stays away; what was not is there.
    server.set_clock(start);
    let back = fetch().await;
    assert!(matches!(back.status, 200 | 410), "{}", back.text);
}

#[tokio::test]
async fn r3_files_of_an_organization_have_a_share_of_the_disk() {
    let start = 1_767_225_600_000;
    let server = Server::start_at(start, &["--uploads-kept-mb", "1"]).await;
    let (url, runs) = workflow(&server).await;
    let file = form(&[], &[("doc", "x.bin", "a/b", &[7; 600_000])]);
    assert_eq!(send(&server, &url, file.clone()).await, 200);
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let full =
        answer(server.raw(Method::POST, &url).header("content-type", &kind).body(file.clone()))
            .await;
    assert_eq!(
        (full.refusal(), full.text.contains("--uploads-kept-mb")),
        ((429, "files_full"), true),
        "{}",
        full.text
    );
    assert!(
        full.json["details"]["retry_after"]
            .as_u64()
            .is_some_and(|secs| (1_800..=1_860).contains(&secs)),
        "{}",
        full.text
    );
    // What has no files is not held up.
    assert_eq!(answer(server.raw(Method::POST, &url).body("no file")).await.status, 200);
    server.set_clock(start + 31 * 60_000);
    assert_eq!(send(&server, &url, file).await, 200);
    seen(&server, &runs, 3).await;
}

#[tokio::test]
async fn r3_of_a_sender_that_does_not_prove_itself_no_file_is_kept() {
    let server = Server::start().await;
    for auth in [
        json!({ "type": "bearer", "token": "s3cret" }),
        json!({ "type": "signature", "secret": "It's a Secret", "header": "x-signature" }),
    ] {
        let triggers = json!([{ "type": "http", "props": { "auth": auth } }]);
        let steps = json!([{ "namespace": "a", "code": "export default defineComponent({ run({ steps }) { return steps.trigger.event.body; } });" }]);
        let made = server
            .post(
                "/workflows",
                &json!({ "triggers": triggers, "steps": steps, "settings": { "name": "guarded" } }),
            )
            .await
            .data();
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        let body = form(&[("n", "1")], &[("doc", "x.bin", "a/b", b"from nobody that is known")]);
        for wrong in ["", "Bearer wrong"] {
            let request = server
                .raw(Method::POST, &endpoint(&made))
                .header("authorization", wrong)
                .header("x-signature", wrong);
            assert_eq!(
                answer(request.header("content-type", &kind).body(body.clone())).await.status,
                401,
                "{auth}"
            );
            let whole = server
                .raw(Method::POST, &endpoint(&made))
                .header("authorization", wrong)
                .header("x-signature", wrong)
                .header("x-pd-upload-body", "1");
            assert_eq!(answer(whole.body(body.clone())).await.status, 401, "{auth}");
        }
        assert!(!holds(&server, b"from nobody that is known"), "{auth}");
        assert_eq!(
            server.get(&format!("/workflows/{}/runs", millrace_tests::id(&made))).await.json["page_info"]
                ["total_count"],
            0
        );
        if auth["type"] == "bearer" {
            let body =
                form(&[("n", "1")], &[("doc", "x.bin", "a/b", b"from one who knows the token")]);
            assert_eq!(
                answer(
                    server
                        .raw(Method::POST, &endpoint(&made))
                        .header("content-type", &kind)
                        .bearer_auth("s3cret")
                        .body(body)
                )
                .await
                .status,
                200
            );
            assert!(holds(&server, b"from one who knows the token"));
        }
    }
}

/// Whether a file of the server holds these bytes.
fn holds(server: &Server, bytes: &[u8]) -> bool {
    let files = std::fs::read_dir(server.data_dir())
        .expect("a folder")
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_file());
    files.into_iter().any(|entry| {
        std::fs::read(entry.path()).expect("reads").windows(bytes.len()).any(|part| part == bytes)
    })
}

#[tokio::test]
async fn r3_a_source_gets_a_small_form_as_it_came_however_it_is_sent() {
    let server = Server::shared().await;
    let code = "export default { name: 's', version: '1', props: { http: { type: '$.interface.http', customResponse: true } }, run({ body, bodyRaw, bodyEncoding }) {
      const raw = bodyRaw === undefined ? null : Buffer.from(bodyRaw, bodyEncoding ?? 'utf8').toString('latin1'); this.http.respond({ body: { title: body.title, raw } }); } };";
    let url = endpoint(&server.source(code, json!({})).await);
    let packed = |body: &[u8]| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut packed, body).expect("packs");
        packed.finish().expect("packs")
    };
    let chunks = |body: Vec<u8>| {
        reqwest::Body::wrap_stream(futures::stream::iter(
            body.chunks(1000).map(|c| Ok::<_, std::io::Error>(c.to_vec())).collect::<Vec<_>>(),
        ))
    };
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let bytes: Vec<u8> = (0..=255).collect();
    // A body may have 512 KiB: of a larger form a source gets what it holds.
    for (size, is_small) in [(0, true), (60_000, true), (900_000, false)] {
        let file = bytes.iter().copied().cycle().take(size).collect::<Vec<u8>>();
        let body = form(&[("title", "t")], &[("doc", "a.bin", "application/octet-stream", &file)]);
        let expected: String = body.iter().copied().map(char::from).collect();
        let post = || server.raw(Method::POST, &url).header("content-type", &kind);
        for (how, request) in [
            ("whole", post().body(body.clone())),
            ("chunks", post().body(chunks(body.clone()))),
            ("gzip", post().header("content-encoding", "gzip").body(packed(&body))),
            (
                "gzip in chunks",
                post().header("content-encoding", "gzip").body(chunks(packed(&body))),
            ),
        ] {
            let answered = answer(request).await;
            assert_eq!(
                (answered.status, &answered.json["title"]),
                (200, &json!("t")),
                "{how}, {size}: {}",
                answered.text.chars().take(300).collect::<String>()
            );
            let raw = answered.json["raw"].as_str().unwrap_or_default();
            assert!(
                if is_small { raw == expected } else { raw.is_empty() },
                "{how}, {size}: {} bytes",
                raw.len()
            );
        }
    }
}
