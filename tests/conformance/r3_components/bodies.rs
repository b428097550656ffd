//! Bodies and headers of requests to endpoints (reference 3) that are no plain UTF-8: encoded ones,
//! bytes that are no text, other charsets, repeated lines.

use async_compression::tokio::bufread::{
    BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use millrace_tests::{Client, Server, answer, endpoint, id};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::io::AsyncReadExt as _;

const CODINGS: [&str; 5] = ["gzip", "deflate", "raw deflate", "br", "zstd"];

/// Bytes in a coding; `deflate` may lack its frame.
async fn encoded(coding: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let read = match coding {
        "gzip" => GzipEncoder::new(bytes).read_to_end(&mut out).await,
        "deflate" => ZlibEncoder::new(bytes).read_to_end(&mut out).await,
        "raw deflate" => DeflateEncoder::new(bytes).read_to_end(&mut out).await,
        "br" => BrotliEncoder::new(bytes).read_to_end(&mut out).await,
        _ => ZstdEncoder::new(bytes).read_to_end(&mut out).await,
    };
    read.expect("encodes");
    out
}

/// The endpoint of a source that answers with its event.
async fn mirror(server: &Client) -> String {
    let code = "export default { name: 'mirror', version: '1', props: { http: { type: '$.interface.http', customResponse: true } }, run(event) {
      this.http.respond({ status: 200, body: { ...event, headers: { ...event.headers } } }); } };";
    endpoint(&server.source(code, json!({})).await)
}

/// What code makes of a body, whatever it is, as the documentation says.
const WHOLE: &str = "export default defineComponent({ run({ steps }) { const { bodyRaw, body, bodyEncoding } = steps.trigger.event;
  return Buffer.from(bodyRaw ?? body ?? '', bodyEncoding ?? 'utf8').toString('hex'); } });";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of files and formats that are no text.
fn no_texts() -> [(&'static str, Vec<u8>); 6] {
    [
        ("image/png", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0xff, 0, 0xfe]].concat()),
        ("application/x-protobuf", vec![0x08, 0x96, 0x01, 0x12, 0x03, 0xe2, 0x28, 0xa1]),
        ("application/octet-stream", (0..=255).collect()),
        ("application/pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec()),
        ("text/plain; charset=utf-8", b"caf\xe9".to_vec()),
        ("", vec![0xc0, 0x80, 0xed, 0xa0, 0x80]),
    ]
}

#[tokio::test]
async fn r3_an_encoded_body_is_decoded_for_code() {
    let server = Server::shared().await;
    let url = mirror(&server).await;
    let body = json!({ "text": "Grüße ".repeat(100) }).to_string();
    for coding in CODINGS {
        let name = coding.trim_start_matches("raw ");
        let request = server
            .raw(Method::POST, &url)
            .header("content-type", "application/json")
            .header("content-encoding", name);
        let seen = answer(request.body(encoded(coding, body.as_bytes()).await)).await;
        assert_eq!(
            (seen.status, seen.json["bodyRaw"].as_str()),
            (200, Some(&*body)),
            "{coding}: {}",
            seen.text
        );
        assert_eq!(
            (&seen.json["body"]["text"], &seen.json["headers"]["content-encoding"]),
            (&json!("Grüße ".repeat(100)), &json!(name))
        );
    }
    // Over one another, in one line or several.
    let twice = encoded("gzip", &encoded("zstd", b"inner").await).await;
    for lines in [&["zstd, gzip"][..], &["zstd", "GZip"]] {
        let request = lines.iter().fold(server.raw(Method::POST, &url), |request, line| {
            request.header("content-encoding", *line)
        });
        assert_eq!(answer(request.body(twice.clone())).await.json["body"], "inner");
    }
    // What has no coding that is known is as it came, and a request without a body needs none.
    let other =
        answer(server.raw(Method::POST, &url).header("content-encoding", "utf-8").body("plain"))
            .await;
    assert_eq!((other.status, &other.json["body"]), (200, &json!("plain")));
    let empty = answer(server.raw(Method::GET, &url).header("content-encoding", "gzip")).await;
    assert_eq!((empty.status, empty.json.get("body")), (200, None));
    // A form, and a body that is kept as a file.
    let form = encoded("br", b"a=1&b=%C3%A9").await;
    let kind = "application/x-www-form-urlencoded";
    let request = server
        .raw(Method::POST, &url)
        .header("content-type", kind)
        .header("content-encoding", "br")
        .body(form);
    assert_eq!(answer(request).await.json["body"], json!({ "a": "1", "b": "é" }));
    let large = encoded("zstd", &vec![7; 3 << 20]).await;
    let kept = answer(
        server
            .raw(Method::POST, &url)
            .header("x-pd-upload-body", "1")
            .header("content-encoding", "zstd")
            .body(large),
    )
    .await;
    let file = server
        .raw(Method::GET, kept.json["body"]["raw_body_url"].as_str().expect("an address"))
        .send()
        .await
        .expect("an answer");
    assert_eq!(file.bytes().await.expect("a body").len(), 3 << 20);
}

#[tokio::test]
async fn r3_an_encoded_body_that_is_broken_or_decodes_to_too_much_is_refused() {
    let server =
        Server::start_with(&["--http-body-max-bytes", "100000", "--upload-max-bytes", "200000"])
            .await;
    let url = mirror(&server).await;
    for coding in CODINGS {
        let name = coding.trim_start_matches("raw ");
        let send = async |body: Vec<u8>| {
            answer(server.raw(Method::POST, &url).header("content-encoding", name).body(body)).await
        };
        let bomb = send(encoded(coding, &vec![0; 20 << 20]).await).await;
        assert_eq!(
            (bomb.refusal(), bomb.text.contains("--http-body-max-bytes")),
            ((413, "too_large"), true),
            "{coding}: {}",
            bomb.text
        );
        let whole = encoded(coding, b"a text that is long enough to be cut in two").await;
        for broken in [whole[..whole.len() / 2].to_vec(), b"{\"no\": \"such thing\"}".to_vec()] {
            let refused = send(broken).await;
            assert_eq!(
                (refused.refusal(), refused.text.contains(name)),
                ((422, "malformed_encoding"), true),
                "{coding}: {}",
                refused.text
            );
        }
        let bomb = server
            .raw(Method::POST, &url)
            .header("content-encoding", name)
            .header("x-pd-upload-body", "1");
        assert_eq!(
            answer(bomb.body(encoded(coding, &vec![0; 20 << 20]).await)).await.refusal(),
            (413, "too_large"),
            "{coding}"
        );
    }
    let bomb = encoded("gzip", &encoded("gzip", &vec![0; 20 << 20]).await).await;
    assert_eq!(
        answer(server.raw(Method::POST, &url).header("content-encoding", "gzip, gzip").body(bomb))
            .await
            .status,
        413
    );
    let deep = answer(
        server.raw(Method::POST, &url).header("content-encoding", "br,br,br,br,br").body("x"),
    )
    .await;
    assert_eq!(deep.refusal(), (422, "malformed_encoding"));
    // It goes on as before.
    assert_eq!(answer(server.raw(Method::POST, &url).body("after")).await.json["body"], "after");
}

#[tokio::test]
async fn r3_a_signature_of_an_encoded_body_may_be_of_either_form() {
    let server = Server::shared().await;
    let triggers = json!([{ "type": "http", "props": { "auth": { "type": "signature", "secret": "It's a Secret", "header": "x-signature" } } }]);
    let made = server
        .post(
            "/workflows",
            &json!({ "triggers": triggers, "steps": [{ "namespace": "a", "code": WHOLE }] }),
        )
        .await
        .data();
    let packed = encoded("gzip", b"Hello, World!").await;
    for (signed, status) in [(&b"Hello, World!"[..], 200), (&packed, 200), (b"Hello, world!", 401)]
    {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"It's a Secret").expect("a key");
        mac.update(signed);
        let request = server
            .raw(Method::POST, &endpoint(&made))
            .header("content-encoding", "gzip")
            .header("x-signature", hex(&mac.finalize().into_bytes()));
        assert_eq!(answer(request.body(packed.clone())).await.status, status);
    }
}

#[tokio::test]
async fn r3_a_body_that_is_no_text_reaches_code_whole_and_again_in_replays_and_exports() {
    let server = Server::shared().await;
    let url = mirror(&server).await;
    let workflow = server.workflow("whole", json!([{ "type": "http" }]), &[("a", WHOLE)]).await;
    let runs = format!("/workflows/{}/runs?status=succeeded&limit=100", id(&workflow));
    let send = async |url: &str, kind: &str, body: &[u8]| {
        let request = server.raw(Method::POST, url).body(body.to_vec());
        answer(if kind.is_empty() { request } else { request.header("content-type", kind) }).await
    };
    for (n, (kind, bytes)) in no_texts().into_iter().enumerate() {
        let seen = send(&url, kind, &bytes).await.json;
        assert_eq!(
            (&seen["bodyEncoding"], &seen["bodyRaw"]),
            (&json!("base64"), &json!(STANDARD.encode(&bytes))),
            "{kind}"
        );
        assert_eq!(send(&endpoint(&workflow), kind, &bytes).await.status, 200);
        let list = server
            .until("the run", &runs, |list| {
                list["data"].as_array().is_some_and(|runs| runs.len() == 2 * n + 1)
            })
            .await;
        let run = &list["data"][0];
        assert_eq!(run["steps"][0]["exports"]["$return_value"], hex(&bytes), "{kind}");
        let again = server.post(&format!("/runs/{}/replay", id(run)), &json!({})).await.data();
        let list = server
            .until("the replay", &runs, |list| {
                list["data"].as_array().is_some_and(|runs| runs.len() == 2 * n + 2)
            })
            .await;
        assert_eq!(
            (&list["data"][0]["id"], &list["data"][0]["steps"][0]["exports"]["$return_value"]),
            (&again["id"], &json!(hex(&bytes))),
            "{kind}"
        );
        let whole = server.get(&format!("/runs/{}", id(run))).await.data();
        assert_eq!(whole["event"]["bodyRaw"], STANDARD.encode(&bytes), "the inspector");
    }
    let exported = answer(
        server
            .raw(Method::GET, &format!("/v1/export?owner_id={}", id(&workflow)))
            .bearer_auth(&server.api_key),
    )
    .await
    .text;
    for (kind, bytes) in no_texts() {
        assert!(exported.contains(&STANDARD.encode(&bytes)), "{kind}");
    }
    // Text is as before, whatever its type: the same code reads it.
    assert_eq!(
        send(&endpoint(&workflow), "application/octet-stream", "Grüße".as_bytes()).await.status,
        200
    );
    let list = server
        .until("the run", &runs, |list| {
            list["data"].as_array().is_some_and(|runs| runs.len() == 13)
        })
        .await;
    assert_eq!(list["data"][0]["steps"][0]["exports"]["$return_value"], hex("Grüße".as_bytes()));
    assert!(
        server.get(&format!("/runs/{}", id(&list["data"][0]))).await.data()["event"]
            .get("bodyEncoding")
            .is_none()
    );
}

#[tokio::test]
async fn r3_forms_are_in_the_charset_that_they_name() {
    let server = Server::shared().await;
    let url = mirror(&server).await;
    let send = async |kind: &str, body: &[u8]| {
        answer(server.raw(Method::POST, &url).header("content-type", kind).body(body.to_vec()))
            .await
            .json
    };
    let kind = "application/x-www-form-urlencoded";
    for (kind, body, expected) in [
        (
            &*format!("{kind}; charset=iso-8859-1"),
            &b"a=%E9&b=\xfc"[..],
            json!({ "a": "é", "b": "ü" }),
        ),
        (&format!("{kind};charset=\"Shift_JIS\""), b"a=%83e%83X%83g", json!({ "a": "テスト" })),
        (kind, b"a=%D4%C5&_charset_=koi8-r", json!({ "a": "те", "_charset_": "koi8-r" })),
        (kind, b"a=%C3%A9+%2B", json!({ "a": "é +" })),
    ] {
        let seen = send(kind, body).await;
        assert_eq!((&seen["body"], seen.get("bodyEncoding")), (&expected, None), "{kind}");
    }
    let part = |head: &str, body: &[u8]| {
        [
            b"--b\r\ncontent-disposition: form-data; ".as_slice(),
            head.as_bytes(),
            b"\r\n\r\n",
            body,
            b"\r\n",
        ]
        .concat()
    };
    let form = |parts: &[Vec<u8>]| [parts.concat(), b"--b--\r\n".to_vec()].concat();
    let kind = "multipart/form-data; boundary=b";
    // The field that names the charset may come last; a part's own counts more.
    let body = form(&[
        part("name=\"a\"", b"caf\xe9"),
        part("name=\"b\"\r\ncontent-type: text/plain; charset=utf-8", "é".as_bytes()),
        part("name=\"_charset_\"", b"iso-8859-1"),
    ]);
    assert_eq!(
        send(kind, &body).await["body"],
        json!({ "a": "café", "b": "é", "_charset_": "iso-8859-1" })
    );
    assert_eq!(
        send(
            kind,
            &form(&[part("name=\"a\"\r\ncontent-type: text/plain; charset=utf-16be", b"\0h\0i")])
        )
        .await["body"],
        json!({ "a": "hi" })
    );
    // A part that is no text, though it has no name of a file, is whole all the same.
    let seen =
        send(kind, &form(&[part("name=\"raw\"\r\ncontent-type: image/png", b"\x89PNG\xff")])).await
            ["body"]["raw"]
            .clone();
    assert_eq!((&seen["filename"], &seen["mimetype"]), (&json!("raw"), &json!("image/png")));
    let file = server
        .raw(Method::GET, seen["url"].as_str().expect("an address"))
        .send()
        .await
        .expect("an answer");
    assert_eq!(&file.bytes().await.expect("a body")[..], b"\x89PNG\xff");
}

#[tokio::test]
async fn r3_repeated_header_lines_are_as_node_has_them() {
    let server = Server::shared().await;
    let url = mirror(&server).await;
    let lines = [
        ("x-own", "1"),
        ("x-own", "2"),
        ("cookie", "a=1"),
        ("cookie", "b=2"),
        ("accept", "a/b"),
        ("accept", "c/d"),
        ("user-agent", "first"),
        ("user-agent", "second"),
    ];
    let more = [
        ("content-type", "application/json"),
        ("content-type", "text/plain"),
        ("referer", "https://a.test/"),
        ("referer", "https://b.test/"),
        ("set-cookie", "c=3"),
    ];
    let request =
        lines.iter().chain(&more).fold(server.raw(Method::POST, &url), |request, (name, value)| {
            request.header(*name, *value)
        });
    let seen = answer(request.body("{\"n\":1}")).await.json;
    let expected = [
        ("x-own", json!("1, 2")),
        ("cookie", json!("a=1; b=2")),
        ("accept", json!("a/b, c/d")),
        ("user-agent", json!("first")),
        ("content-type", json!("application/json")),
        ("referer", json!("https://a.test/")),
        ("set-cookie", json!(["c=3"])),
    ];
    for (name, value) in expected {
        assert_eq!(seen["headers"][name], value, "{name}");
    }
    assert_eq!(seen["body"], json!({ "n": 1 }), "the first type counts");
    let latin = reqwest::header::HeaderValue::from_bytes(b"caf\xe9").expect("a value");
    let utf8 = reqwest::header::HeaderValue::from_bytes("café".as_bytes()).expect("a value");
    for value in [latin, utf8] {
        assert_eq!(
            answer(server.raw(Method::GET, &url).header("x-name", value)).await.json["headers"]["x-name"],
            Value::from("café")
        );
    }
}

#[tokio::test]
async fn r3_a_body_is_in_the_charset_of_its_mark_its_type_or_its_declaration() {
    let server = Server::shared().await;
    let url = mirror(&server).await;
    let send = async |kind: &str, body: &[u8]| {
        answer(server.raw(Method::POST, &url).header("content-type", kind).body(body.to_vec()))
            .await
            .json
    };
    let little = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    let latin = |text: &str| {
        text.chars().map(|c| u8::try_from(u32::from(c)).expect("Latin-1")).collect::<Vec<u8>>()
    };
    let (json_text, xml) =
        ("{\"a\":\"é\"}", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>é</a>");
    for (kind, body, read) in [
        ("application/json", little(&format!("\u{feff}{json_text}")), json!({ "a": "é" })),
        ("application/json", big(&format!("\u{feff}{json_text}")), json!({ "a": "é" })),
        ("application/json", little(json_text), json!({ "a": "é" })),
        ("application/json", big(json_text), json!({ "a": "é" })),
        ("application/json; charset=utf-16", little(json_text), json!({ "a": "é" })),
        ("application/json; charset=UTF-16BE", big(json_text), json!({ "a": "é" })),
        ("application/json; charset=latin-1", latin(json_text), json!({ "a": "é" })),
        ("text/plain", little("\u{feff}é"), json!("é")),
        ("text/plain; charset='utf8'", "é".into(), json!("é")),
        ("text/csv; charset=Cp1252", latin("a;é"), json!("a;é")),
        ("application/xml", latin(xml), json!(xml)),
        ("text/xml", latin(xml), json!(xml)),
        ("application/soap+xml", latin(xml), json!(xml)),
        ("text/xml; charset=utf-8", xml.into(), json!(xml)),
        (
            "application/xml",
            little("<?xml version='1.0' encoding='UTF-16'?><a>é</a>"),
            json!("<?xml version='1.0' encoding='UTF-16'?><a>é</a>"),
        ),
    ] {
        let seen = send(kind, &body).await;
        // What code gets raw is the same text: it is not base64 where the body is read.
        assert_eq!((&seen["body"], seen.get("bodyEncoding")), (&read, None), "{kind} {body:?}");
        assert!(seen["bodyRaw"].as_str().is_some_and(|raw| raw.contains('é')), "{kind}: {seen}");
    }
    // A charset of single bytes makes no text of a picture.
    let png = no_texts()[0].1.clone();
    let seen = send("image/png; charset=ISO-8859-1", &png).await;
    assert_eq!(
        (&seen["bodyRaw"], &seen["bodyEncoding"], seen.get("body")),
        (&json!(STANDARD.encode(&png)), &json!("base64"), None)
    );
    // Parts of a form likewise; the form's own charset is for those that name none.
    let part = |head: &str, body: &[u8]| {
        [
            b"--b\r\ncontent-disposition: form-data; ".as_slice(),
            head.as_bytes(),
            b"\r\n\r\n",
            body,
            b"\r\n",
        ]
        .concat()
    };
    let form = [
        part("name=\"a\"", &latin("é")),
        part("name=\"x\"\r\nContent-Type: Text/XML", &latin(xml)),
        part(
            "name=\"j\"\r\ncontent-type: application/json",
            &little(&format!("\u{feff}{json_text}")),
        ),
        part("name=\"u\"\r\ncontent-type: text/plain; charset=utf-8", "é".as_bytes()),
        b"--b--\r\n".to_vec(),
    ];
    let seen = send("multipart/form-data; charset=ISO-8859-1; boundary=b", &form.concat()).await;
    assert_eq!(seen["body"], json!({ "a": "é", "x": xml, "j": json_text, "u": "é" }), "{seen}");
}

/// Whatever its last byte is: what was cut anywhere is refused, and never taken for the whole.
#[tokio::test]
async fn r3_an_encoded_body_that_was_cut_anywhere_is_refused() {
    let server = Server::shared().await;
    let url = mirror(&server).await;
    for coding in CODINGS {
        let name = coding.trim_start_matches("raw ");
        let whole = encoded(coding, b"{\"a\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}").await;
        for length in 1..whole.len() {
            let refused = answer(
                server
                    .raw(Method::POST, &url)
                    .header("content-encoding", name)
                    .body(whole[..length].to_vec()),
            )
            .await;
            assert_eq!(
                refused.refusal(),
                (422, "malformed_encoding"),
                "{coding}: {length} of {}",
                whole.len()
            );
        }
        // Named twice, in one line or two, and applied once.
        let refused = answer(
            server
                .raw(Method::POST, &url)
                .header("content-encoding", format!("{name}, {name}"))
                .body(whole.clone()),
        )
        .await;
        assert_eq!(refused.refusal(), (422, "malformed_encoding"), "{coding}: {}", refused.text);
    }
}
